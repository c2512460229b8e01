// A number with a button on each side; what is typed counts on Enter, or when the field is left.
import type { MouseEvent } from "react";
import { Button } from "./button";
import { useDraft } from "./use_draft";

interface Props {
  label: string;
  value: number;
  least?: number;
  onChange(value: number): void;
  /** What the buttons do where they do more than change the number. */
  onStep?(by: 1 | -1, event: MouseEvent): void;
  /** The names of the buttons. */
  names?: readonly [less: string, more: string];
  readOnly?: boolean;
}

const numberOf = (text: string): number => Number(text.replaceAll(",", "").trim() || Number.NaN);

export function Stepper({ label, value, least = 0, onChange, onStep, names, readOnly = false }: Props) {
  const isWrong = (text: string) => !Number.isInteger(numberOf(text)) || numberOf(text) < least;
  const { input, wrong } = useDraft({
    value: value.toLocaleString("en"),
    check: (text) => (isWrong(text) ? `Enter a whole number, ${least} or more.` : ""),
    onDone: (text) => onChange(numberOf(text)),
  });
  const step = (by: 1 | -1) => (event: MouseEvent) => (onStep ? onStep(by, event) : onChange(value + by));
  const [less, more] = names ?? [`Fewer ${label}`, `More ${label}`];
  return (
    <span className="dra-stepper" title={wrong || undefined}>
      <Button kind="bare" label={less} disabled={readOnly || value <= least} onClick={step(-1)}>
        −
      </Button>
      <input
        type="text"
        aria-label={label}
        inputMode="numeric"
        readOnly={readOnly}
        {...input}
        onKeyDown={(event) => {
          const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
          if (by === undefined || readOnly) return input.onKeyDown(event);
          event.preventDefault();
          if (value + by >= least) onChange(value + by);
        }}
      />
      <Button kind="bare" label={more} disabled={readOnly} onClick={step(1)}>
        +
      </Button>
    </span>
  );
}
