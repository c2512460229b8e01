// A form from a table of its fields: each row has a name, a kind, the field of the API that it writes, and a value.
import type { ReactNode } from "react";
import { Choice, type Option } from "./choice";
import { Field, Group, Wrong } from "./field";
import { Input, Select } from "./inputs";
import { Stepper } from "./stepper";
import { useDraft } from "./use_draft";

export interface FieldRow {
  readonly label: string;
  /** `text` counts when it is done, `live` with every stroke. */
  readonly kind: "text" | "live" | "number" | "select" | "choice" | "count";
  readonly value: string;
  onSet(value: string): void;
  /** What can be chosen; for a text, what is offered. */
  readonly options?: readonly Option<string>[];
  readonly api?: string | undefined;
  readonly note?: ReactNode;
  readonly placeholder?: string;
  /** Says what is wrong with a text; "" for nothing. */
  check?(value: string): string;
  readonly isMono?: boolean;
  /** The name of the control where the label says too little. */
  readonly name?: string;
  readonly least?: number;
}

interface Props {
  /** What is false is left out. */
  fields: readonly (FieldRow | false | undefined)[];
  readOnly?: boolean;
  children?: ReactNode;
}

export function Form({ fields, readOnly = false, children }: Props) {
  return (
    <div className="dra-stack dra-form">
      <Fields fields={fields} readOnly={readOnly} />
      {children}
    </div>
  );
}

/** The fields alone, for a form that has other parts between them. */
export function Fields({ fields, readOnly = false }: Props) {
  return fields.map((row) => row && <FormField key={row.label} row={row} readOnly={readOnly} />);
}

function FormField({ row, readOnly }: { row: FieldRow; readOnly: boolean }) {
  const { label, kind, value, options = [], api, note, onSet } = row;
  if (kind === "text") return <TextField row={row} readOnly={readOnly} />;
  if (kind === "choice")
    return (
      <Group label={label} api={api} note={note}>
        <Choice label={label} options={options} value={value} onChoose={onSet} disabled={readOnly} />
      </Group>
    );
  if (kind === "count")
    return (
      <Group label={label} api={api} note={note}>
        <Stepper
          label={row.name ?? label}
          value={Number(value)}
          least={row.least}
          readOnly={readOnly}
          onChange={(number) => onSet(String(number))}
        />
      </Group>
    );
  if (kind === "select")
    return (
      <Field label={label} api={api} note={note}>
        <Select label={row.name} value={value} options={options} disabled={readOnly} onChoose={onSet} />
      </Field>
    );
  return (
    <Field label={label} api={api} note={note}>
      <Input
        {...(kind === "number" ? { type: "number", min: "0", step: "any" } : {})}
        value={value}
        offers={options.map((one) => one.value)}
        aria-label={row.name}
        placeholder={row.placeholder}
        onChange={(event) => onSet(event.currentTarget.value)}
      />
    </Field>
  );
}

function TextField({ row, readOnly }: { row: FieldRow; readOnly: boolean }) {
  const { label, value, options = [], api, note, placeholder, check, isMono, onSet } = row;
  const { wrong, input } = useDraft({ value, onDone: onSet, check });
  return (
    <Field label={label} api={api} note={wrong ? <Wrong>{wrong}</Wrong> : note}>
      <Input
        className={isMono ? "is-mono" : undefined}
        offers={options.map((one) => one.value)}
        aria-label={row.name}
        placeholder={placeholder}
        readOnly={readOnly}
        {...input}
      />
    </Field>
  );
}
