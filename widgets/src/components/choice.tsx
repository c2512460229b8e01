// One of a few values, as radio buttons beside each other; what cannot be chosen is struck through, with the reason.
import { type ReactNode, useId } from "react";
import { classes } from "./classes";

export interface Option<T extends string> {
  readonly value: T;
  readonly label: ReactNode;
  /** What it means; of an option that is off, why. */
  readonly title?: string | undefined;
  readonly isOff?: boolean | undefined;
}

interface Props<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: string;
  onChoose(value: T): void;
  className?: string;
  /** Whether the label stands before the options, and is not for screen readers alone. */
  isLabelled?: boolean;
  disabled?: boolean;
}

export function Choice<T extends string>(props: Props<T>) {
  const { label, options, value, onChoose, className, isLabelled = false, disabled } = props;
  const name = useId();
  return (
    <fieldset className={classes("dra-choice", className)} disabled={disabled}>
      <legend className={isLabelled ? undefined : "dra-sr"}>{label}</legend>
      {options.map((option) => (
        <label key={option.value} title={option.title}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            disabled={option.isOff}
            onChange={() => onChoose(option.value)}
          />
          <span>{option.label}</span>
          {option.isOff && option.title && <span className="dra-sr">, not possible: {option.title}</span>}
        </label>
      ))}
    </fieldset>
  );
}

/** Values that are their own words, as options. */
export const named = (values: readonly string[] = []): readonly Option<string>[] =>
  values.map((value) => ({ value, label: value }));

/** Pairs of a value and its words as options. */
export const optionsOf = <T extends string>(pairs: readonly (readonly [T, string])[]): readonly Option<T>[] =>
  pairs.map(([value, label]) => ({ value, label }));
