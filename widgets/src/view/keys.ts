// Keys in lists and fields.
import type { KeyboardEvent } from "react";

/** How far a key goes in a list: a row, a page, or to its ends; undefined for other keys. */
export function stepOf(key: string, page = 10): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowDown: 1,
    ArrowLeft: -1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  };
  return steps[key];
}

/** Where such a step ends in a list of a length. */
export const stepped = (from: number, step: number, length: number): number =>
  Math.max(0, Math.min(length - 1, from + step));

/** Do on Enter in a text field what its button does: a form would depend on what the page around does with Enter. */
export const onEnter = (act: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
  event.preventDefault();
  act();
};

/** Let the arrows, Home and End move the focus among the elements that `selector` finds. */
export const onArrows = (selector: string) => (event: KeyboardEvent<HTMLElement>) => {
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(selector)];
  const here = all.indexOf(document.activeElement as HTMLElement);
  const step = event.key.startsWith("Page") ? undefined : stepOf(event.key);
  if (step === undefined || here < 0) return;
  event.preventDefault();
  all[stepped(here, step, all.length)]?.focus();
};
