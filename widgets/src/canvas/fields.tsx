// Fields of the form: what is typed is kept here until it is done (Enter, leaving the field, or a pause), then sent
// once.
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
import { useCanvas } from "./editor";

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

export function Field({
  label,
  children,
  wide = false,
  note,
}: {
  label: string;
  children: ReactNode;
  wide?: boolean;
  note?: ReactNode;
}) {
  return (
    <div className={`dra-field${wide ? " is-wide" : ""}`}>
      <label>
        <span>{label}</span>
        {children}
      </label>
      {note}
    </div>
  );
}

type TextProps = Omit<DraftProps, "value"> & {
  label: string;
  value: string;
  list?: readonly string[];
  wide?: boolean;
  mono?: boolean;
};

export function TextField({ label, value, onDone, check, list, wide = false, mono = false }: TextProps) {
  const { readOnly } = useCanvas();
  const id = useId();
  const { wrong, input } = useDraft({ value, onDone, check });
  return (
    <Field label={label} wide={wide} note={wrong && <Wrong>{wrong}</Wrong>}>
      <input
        type="text"
        className={mono ? "is-mono" : undefined}
        spellCheck={false}
        list={list ? id : undefined}
        readOnly={readOnly}
        {...input}
      />
      {list && (
        <datalist id={id}>
          {list.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

export function Wrong({ children }: { children: ReactNode }) {
  return <span className="dra-wrong">{children}</span>;
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: ReactNode; disabled?: boolean; reason?: string }[];
  onChoose(value: T): void;
}

/** A few words side by side, one of them chosen. */
export function Choice<T extends string>({ label, value, options, onChoose }: ChoiceProps<T>) {
  const { readOnly } = useCanvas();
  const name = useId();
  return (
    <fieldset className="dra-choice" disabled={readOnly}>
      <legend>{label}</legend>
      <span>
        {options.map((option) => (
          <label key={option.value} title={option.reason}>
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              disabled={option.disabled}
              onChange={() => onChoose(option.value)}
            />
            <span>{option.label}</span>
          </label>
        ))}
      </span>
    </fieldset>
  );
}
