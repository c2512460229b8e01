// A form from a table of its fields: each row has a name, a kind, the field of the API that it writes, and a value.

import { Fragment, type MouseEvent, type ReactNode } from "react";
import { Choice, Input, type Option, Select, Stepper, useDraft } from "./inputs";

// A row of a form: what it is, its control, and the field of the API that it writes.
interface FieldProps {
  label: string;
  children: ReactNode;
  /** The field of the API that it writes. */
  api?: string | undefined;
  note?: ReactNode;
}

function Field({ label, children, api, note, beside }: FieldProps & { beside?: ReactNode }) {
  return (
    <div className="dra-field">
      <label>
        <span className="dra-label">{label}</span>
        <span>{children}</span>
      </label>
      <Api field={api} />
      {beside}
      {note && <div className="dra-note">{note}</div>}
    </div>
  );
}

/** A row that holds several controls. */
function Group({ label, children, api, note, name = label }: FieldProps & { name?: string }) {
  return (
    <div className="dra-field" role="group" aria-label={name}>
      <span className="dra-label" aria-hidden="true">
        {label}
      </span>
      <div className="dra-row">{children}</div>
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

export function Wrong({ children }: { children: ReactNode }) {
  return <span className="dra-wrong">{children}</span>;
}

export interface FieldRow {
  readonly label: string;
  /** `text` and `area` count when they are done, `live` with every stroke; `none` has only what stands in `more`. */
  readonly kind: "text" | "area" | "live" | "number" | "select" | "choice" | "count" | "none";
  readonly value?: string;
  onSet?(value: string): void;
  /** What can be chosen; for a text, what is offered. */
  readonly options?: readonly Option<string>[];
  readonly api?: string | undefined;
  readonly note?: ReactNode;
  readonly placeholder?: string;
  /** Says what is wrong with a text; "" for nothing. */
  check?(value: string): string;
  /** Milliseconds without typing after which an `area` counts. */
  readonly pause?: number;
  readonly isMono?: boolean;
  /** The name of the control where the label says too little. */
  readonly name?: string;
  readonly least?: number;
  /** The names of the buttons of a `count`, and what they do if it is more than a change of the number. */
  readonly names?: readonly [less: string, more: string];
  onStep?(by: 1 | -1, event: MouseEvent): void;
  /** Further controls of the row, and the name of all of them. */
  readonly more?: ReactNode;
  readonly group?: string;
  /** A control of its own beside a field that has no path of the API. */
  readonly beside?: ReactNode;
}

interface FormProps {
  /** What is false is left out. */
  fields: readonly (FieldRow | false | undefined)[];
  readOnly?: boolean;
  children?: ReactNode;
}

export function Form({ fields, readOnly = false, children }: FormProps) {
  return (
    <div className="dra-stack">
      <Fields fields={fields} readOnly={readOnly} />
      {children}
    </div>
  );
}

/** The fields alone, for a form that has other parts between them. */
export function Fields({ fields, readOnly = false }: FormProps) {
  return fields.map((row) => row && <FormRow key={row.group ?? row.label} row={row} readOnly={readOnly} />);
}

interface RowProps {
  row: FieldRow;
  readOnly: boolean;
}

function FormRow({ row, readOnly }: RowProps) {
  if (row.kind === "text" || row.kind === "area") return <TextRow row={row} readOnly={readOnly} />;
  return (
    <Placed row={row} isGroup={row.kind === "choice" || row.kind === "count"}>
      <Control row={row} readOnly={readOnly} />
    </Placed>
  );
}

/** A row with its label: one control, or a group of them. */
function Placed({ row, isGroup = false, children }: { row: FieldRow; isGroup?: boolean; children: ReactNode }) {
  const { label, api, note, more, group = label, beside } = row;
  if (!isGroup && more === undefined)
    return (
      <Field label={label} api={api} note={note} beside={beside}>
        {children}
      </Field>
    );
  return (
    <Group label={label} name={group} api={api} note={note}>
      {children}
      {more}
    </Group>
  );
}

function Control({ row, readOnly }: RowProps) {
  const { label, kind, name, value = "", options = [], onSet = () => undefined } = row;
  switch (kind) {
    case "choice":
      return <Choice label={name ?? label} options={options} value={value} onChoose={onSet} disabled={readOnly} />;
    case "count":
      return (
        <Stepper
          label={name ?? label}
          names={row.names}
          value={Number(value)}
          least={row.least}
          readOnly={readOnly}
          onChange={(number) => onSet(String(number))}
          onStep={row.onStep}
        />
      );
    case "select":
      return <Select label={name} value={value} options={options} disabled={readOnly} onChoose={onSet} />;
    case "none":
      return null;
    default:
      return (
        <Input
          {...(kind === "number" ? { type: "number", min: "0", step: "any" } : {})}
          value={value}
          offers={options.map((one) => one.value)}
          aria-label={name}
          placeholder={row.placeholder}
          onChange={(event) => onSet(event.currentTarget.value)}
        />
      );
  }
}

const MOST_LINES = 6;

function TextRow({ row, readOnly }: RowProps) {
  const { kind, name, value = "", options = [], placeholder, check, pause, isMono, onSet = () => undefined } = row;
  const { wrong, input } = useDraft({ value, onDone: onSet, check, pause });
  const shared = { "aria-label": name, placeholder, readOnly, ...input };
  const lines = Math.min(MOST_LINES, input.value.split("\n").length);
  return (
    <Placed row={wrong ? { ...row, note: <Wrong>{wrong}</Wrong> } : row}>
      {kind === "text" ? (
        <Input className={isMono ? "is-mono" : undefined} offers={options.map((one) => one.value)} {...shared} />
      ) : (
        <textarea className="dra-input is-mono" rows={lines} spellCheck={false} {...shared} />
      )}
    </Placed>
  );
}
