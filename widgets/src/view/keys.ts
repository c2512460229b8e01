import type { KeyboardEvent } from "react";

/** Do on Enter in a text field what its button does: a form would depend on what the page around does with Enter. */
export const onEnter = (act: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
  event.preventDefault();
  act();
};

const STEPS: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  Home: -Infinity,
  End: Infinity,
};

/** Let the arrows, Home and End move the focus among the elements that `selector` finds. */
export const onArrows = (selector: string) => (event: KeyboardEvent<HTMLElement>) => {
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const here = all.indexOf(document.activeElement as HTMLElement);
  const step = STEPS[event.key];
  if (step === undefined || here < 0) return;
  event.preventDefault();
  all[Math.max(0, Math.min(all.length - 1, here + step))]?.focus();
};
