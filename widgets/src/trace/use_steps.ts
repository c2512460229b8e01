// Going through the steps of a trace: by key, by button, and by itself.
import { type KeyboardEvent, useEffect, useState } from "react";

/** Milliseconds for which a step is shown while the trace plays. */
const PACE = 800;

interface Asked {
  step: number;
  total: number;
  /** Whether no later step may be shown. */
  isLocked: boolean;
  /** What further keys do. */
  more: Readonly<Record<string, () => void>>;
  set(step: number): void;
}

export function useSteps({ step, total, isLocked, more, set }: Asked) {
  const [wantsPlay, setPlay] = useState(false);
  const isPlaying = wantsPlay && step < total && !isLocked;
  const go = (to: number) => set(Math.max(0, Math.min(total, to)));
  const play = () => {
    if (isLocked || !total) return;
    if (!isPlaying && step >= total) go(0);
    setPlay(!isPlaying);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a step is shown for its time, whoever renders meanwhile
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => set(step + 1), PACE);
    return () => clearTimeout(timer);
  }, [isPlaying, step]);
  const back = { ArrowLeft: () => go(step - 1), Home: () => go(0), ...more };
  const keys: Record<string, () => void> = isLocked
    ? back
    : { ...back, ArrowRight: () => go(step + 1), End: () => go(total), " ": play };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (event.key === " " && target.closest("button, input, summary")) return;
    if (target.closest('input[type="radio"]')) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return { isPlaying, go, play, onKeyDown };
}
