// What a person types or chooses in.
import { type ComponentProps, type ReactNode, useId } from "react";
import type { Option } from "./choice";
import { classes } from "./classes";
import { type DraftProps, useDraft } from "./use_draft";

interface InputProps extends Omit<ComponentProps<"input">, "list"> {
  /** Texts that are offered. */
  offers?: readonly string[] | undefined;
}

/** A field whose every stroke counts. */
export function Input({ offers = [], className, ...others }: InputProps) {
  const id = useId();
  return (
    <>
      <input
        type="text"
        className={classes("dra-input", className)}
        spellCheck={false}
        autoComplete="off"
        list={offers.length ? id : undefined}
        {...others}
      />
      {offers.length > 0 && (
        <datalist id={id}>
          {offers.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </>
  );
}

type TextProps = DraftProps & Omit<InputProps, "value" | "onChange">;

/** A field whose text counts when it is done. */
export function TextInput({ value, onDone, check, pause, ...others }: TextProps) {
  const { wrong, input } = useDraft({ value, onDone, check, pause });
  return <Input title={wrong || undefined} {...others} {...input} />;
}

interface SelectProps extends Omit<ComponentProps<"select">, "onChange" | "value"> {
  label?: string;
  value: string;
  options: readonly Option<string>[];
  onChoose(value: string): void;
}

export function Select({ label, value, options, onChoose, className, ...others }: SelectProps) {
  return (
    <select
      className={classes("dra-button", className)}
      aria-label={label}
      value={value}
      onChange={(event) => onChoose(event.currentTarget.value)}
      {...others}
    >
      {options.map((one) => (
        <option key={one.value} value={one.value} title={one.title} disabled={one.isOff}>
          {one.label}
        </option>
      ))}
    </select>
  );
}

interface CheckProps extends Omit<ComponentProps<"input">, "onChange"> {
  onTurn(isOn: boolean): void;
  children: ReactNode;
}

/** A box to tick. */
export function Check({ onTurn, children, ...others }: CheckProps) {
  return (
    <label className="dra-check">
      <input type="checkbox" onChange={(event) => onTurn(event.currentTarget.checked)} {...others} />
      <span>{children}</span>
    </label>
  );
}

/** What is on or off at once. */
export function Switch({ checked, children, ...others }: CheckProps) {
  return (
    <Check role="switch" aria-checked={checked} checked={checked} {...others}>
      {children}
    </Check>
  );
}

interface SearchProps {
  label: string;
  value: string;
  onChange(value: string): void;
}

/** A field that filters what is below it. */
export function Search({ label, value, onChange }: SearchProps) {
  return (
    <Input
      type="search"
      placeholder={label}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** What a button has done, in a word. */
export const Told = ({ children }: { children: ReactNode }) => (
  <span className="dra-told" role="status">
    {children}
  </span>
);
