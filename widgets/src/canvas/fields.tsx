// Fields of the form: what is typed is kept here until it is done (Enter, leaving the field, or a pause), then sent
// once.
import { Fragment, type KeyboardEvent, type ReactNode, useCallback, useEffect, useId, useRef, useState } from "react";
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

interface FieldProps {
  label: string;
  children: ReactNode;
  /** The field of the API that it writes. */
  api?: string;
  note?: ReactNode;
}

/** A row of a card: what it is, its control, and the field of the API that it writes. */
export function Field({ label, children, api, note }: FieldProps) {
  return (
    <div className="dra-field">
      <label>
        <span className="dra-label">{label}</span>
        <span className="dra-control">{children}</span>
      </label>
      <Api field={api} />
      {note && <div className="dra-note">{note}</div>}
    </div>
  );
}

/** A row of a card that holds several controls. */
export function Group({ label, children, api, note, name = label }: FieldProps & { name?: string }) {
  return (
    <div className="dra-field" role="group" aria-label={name}>
      <span className="dra-label" aria-hidden="true">
        {label}
      </span>
      <div className="dra-control dra-row">{children}</div>
      <Api field={api} />
      {note && <div className="dra-note">{note}</div>}
    </div>
  );
}

const Api = ({ field }: { field?: string | undefined }) =>
  field ? (
    <code className="dra-api" title={`Writes ${field}`}>
      {field.split(".").map((part, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a path never move
        <Fragment key={i}>
          {i > 0 && (
            <>
              .<wbr />
            </>
          )}
          {part}
        </Fragment>
      ))}
    </code>
  ) : null;

type TextProps = Omit<DraftProps, "value"> & {
  label: string;
  value: string;
  list?: readonly string[];
  mono?: boolean;
  api?: string;
  note?: ReactNode;
  placeholder?: string;
};

export function TextField({ label, value, onDone, check, list, mono = false, api, note, placeholder }: TextProps) {
  const { readOnly } = useCanvas();
  const id = useId();
  const { wrong, input } = useDraft({ value, onDone, check });
  return (
    <Field label={label} {...(api ? { api } : {})} note={wrong ? <Wrong>{wrong}</Wrong> : note}>
      <input
        type="text"
        className={mono ? "is-mono" : undefined}
        spellCheck={false}
        list={list ? id : undefined}
        placeholder={placeholder}
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

/** A text without a row of its own, beside other controls. */
export function PlainText({ label, value, onDone, check, mono = false, placeholder }: TextProps) {
  const { readOnly } = useCanvas();
  const { wrong, input } = useDraft({ value, onDone, check });
  return (
    <input
      type="text"
      className={mono ? "is-mono" : undefined}
      aria-label={label}
      title={wrong || undefined}
      spellCheck={false}
      readOnly={readOnly}
      placeholder={placeholder}
      {...input}
    />
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

/** A few words side by side, one of them chosen; what cannot be chosen is struck through, with the reason. */
export function Choice<T extends string>({ label, value, options, onChoose }: ChoiceProps<T>) {
  const { readOnly } = useCanvas();
  const name = useId();
  return (
    <fieldset className="dra-choice" disabled={readOnly}>
      <legend className="dra-sr">{label}</legend>
      {options.map((option) => (
        <label key={option.value} title={option.reason} className={option.disabled ? "is-impossible" : undefined}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            disabled={option.disabled}
            onChange={() => onChoose(option.value)}
          />
          <span>{option.label}</span>
          {option.disabled && option.reason && <span className="dra-sr">, not possible: {option.reason}</span>}
        </label>
      ))}
    </fieldset>
  );
}
