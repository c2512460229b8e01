// What a person types or chooses in.

import {
  type ComponentProps,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Button, classes } from "./button";

// A text while it is typed: kept here until it is done (Enter, leaving the field, or a pause), then sent once.
interface DraftProps {
  value: string;
  onDone(value: string): void;
  /** Says what is wrong with a text that is not sent; "" for nothing. */
  check?(value: string): string;
  /** Milliseconds without typing after which the text is sent; 0 for never. */
  pause?: number;
}

/** A text while it is typed. Returns what to spread on the input, and what is wrong with it. */
export function useDraft({ value, onDone, check, pause = 0 }: DraftProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const latest = useRef({ draft, value, onDone, check });
  latest.current = { draft, value, onDone, check };
  const timer = useRef(0);
  const send = useCallback(() => {
    clearTimeout(timer.current);
    const now = latest.current;
    if (now.draft === null || now.check?.(now.draft)) return;
    if (now.draft !== now.value) now.onDone(now.draft);
    setDraft(null);
  }, []);
  useEffect(() => () => send(), [send]);
  const onChange = (event: { target: { value: string } }) => {
    setDraft(event.target.value);
    clearTimeout(timer.current);
    if (pause) timer.current = window.setTimeout(() => sendKeepingTheDraft(latest.current), pause);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isArea = (event.target as HTMLElement).tagName === "TEXTAREA";
    if (event.key === "Enter" && (!isArea || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && draft !== null) {
      clearTimeout(timer.current);
      setDraft(null);
    } else return;
    event.stopPropagation();
  };
  const wrong = draft === null ? "" : (check?.(draft) ?? "");
  return {
    wrong,
    input: {
      value: draft ?? value,
      onChange,
      onKeyDown,
      onBlur: send,
      "aria-invalid": wrong ? true : undefined,
      "data-draft": draft === null ? undefined : "",
    },
  };
}

/** Send in a pause of typing. An emptied text waits until the field is left: a person may only be rewriting it. */
function sendKeepingTheDraft({
  draft,
  value,
  onDone,
  check,
}: Omit<DraftProps, "pause"> & { draft: string | null }): void {
  if (draft?.trim() && draft !== value && !check?.(draft)) onDone(draft);
}

// One of a few values, as radio buttons beside each other; what cannot be chosen is struck through, with the reason.
export interface Option<T extends string> {
  readonly value: T;
  readonly label: ReactNode;
  /** What it means; of an option that is off, why. */
  readonly title?: string | undefined;
  readonly isOff?: boolean | undefined;
}

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly Option<T>[];
  value: string;
  onChoose(value: T): void;
  className?: string;
  /** Whether the label stands before the options, and is not for screen readers alone. */
  isLabelled?: boolean;
  disabled?: boolean;
}

export function Choice<T extends string>(props: ChoiceProps<T>) {
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

// A number with a button on each side; what is typed counts on Enter, or when the field is left.
interface StepperProps {
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

export function Stepper({ label, value, least = 0, onChange, onStep, names, readOnly = false }: StepperProps) {
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

/** A name that a press turns into a field: Enter or leaving it renames, Esc keeps the name. */
export function EditableName({ name, title, onRename }: { name: string; title?: string; onRename(to: string): void }) {
  const [isEdited, setEdited] = useState(false);
  const end = (to: string) => {
    setEdited(false);
    if (to.trim() !== name) onRename(to.trim());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter") end(event.currentTarget.value);
    else if (event.key === "Escape") setEdited(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (isEdited)
    return (
      <input
        className="dra-input"
        aria-label={`New name of ${name}`}
        defaultValue={name}
        // biome-ignore lint/a11y/noAutofocus: a person has just asked to type here
        autoFocus
        onFocus={(event) => event.currentTarget.select()}
        onBlur={(event) => end(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    );
  return (
    <Button
      kind="bare"
      className="dra-editable"
      data-key={`name ${name}`}
      title={`${title ? `${title} ` : ""}Click to rename.`}
      onClick={() => setEdited(true)}
    >
      {name}
      <span className="dra-sr"> (rename)</span>
    </Button>
  );
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
  children?: ReactNode;
}

/** A box to tick. */
export function Check({ onTurn, children, ...others }: CheckProps) {
  return (
    <label className="dra-check">
      <input type="checkbox" onChange={(event) => onTurn(event.currentTarget.checked)} {...others} />
      {children && <span>{children}</span>}
    </label>
  );
}

export interface Tick {
  readonly name: string;
  readonly words?: ReactNode;
  readonly chosen?: boolean;
  readonly isOff?: boolean;
  readonly title?: string | undefined;
}

/** A box to tick for each row; `onSet` gets the names of those that are chosen. */
export function Ticks({ rows, onSet }: { rows: readonly Tick[]; onSet(names: string[]): void }) {
  const chosen = rows.filter((one) => one.chosen).map((one) => one.name);
  return rows.map(({ name, words = name, chosen: isChosen = false, isOff, title }) => (
    <Check
      key={name}
      checked={isChosen}
      disabled={isOff}
      title={title}
      onTurn={(isOn) => onSet(isOn ? [...chosen, name] : chosen.filter((other) => other !== name))}
    >
      {words}
    </Check>
  ));
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
