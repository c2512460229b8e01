// A button that opens a small form; Enter does what its button does.
import { type ReactNode, useId, useState } from "react";
import { useTrait } from "../plan/model";
import { onEnter } from "../view/keys";
import { usePopover } from "../view/use_popover";

interface Props {
  label: string;
  title: string;
  action: string;
  isReady: boolean;
  onDone(): void;
  children: ReactNode;
}

export function FormButton({ label, title, action, isReady, onDone, children }: Props) {
  const over = usePopover({
    first: () => document.activeElement?.closest(".dra-fleet-mode")?.querySelector<HTMLElement>(":popover-open input"),
  });
  const done = () => {
    if (!isReady) return;
    over.close();
    onDone();
  };
  return (
    <>
      <button {...over.button} className="dra-button">
        {label}
      </button>
      <div {...over.panel} role="dialog" className="dra-popover dra-fleet-form" aria-label={title}>
        <h3>{title}</h3>
        <div className="dra-fleet-fields" onKeyDown={onEnter(done)}>
          {children}
        </div>
        <button type="button" className="dra-button dra-primary" disabled={!isReady} onClick={done}>
          {action}
        </button>
      </div>
    </>
  );
}

interface FieldProps {
  label: string;
  value: string;
  placeholder?: string;
  onChange(value: string): void;
}

export function TextField({ label, value, placeholder, onChange }: FieldProps) {
  return (
    <label className="dra-fleet-field">
      <span>{label}</span>
      <input
        className="dra-field"
        value={value}
        placeholder={placeholder}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** The name of a node; a small cluster offers its names. */
export function NodeField({ label, value, onChange }: FieldProps) {
  const { names = [] } = useTrait("fleet_bars");
  const id = useId();
  return (
    <label className="dra-fleet-field">
      <span>{label}</span>
      <input
        className="dra-field"
        value={value}
        list={id}
        placeholder="name of a node"
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={id}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

interface StepperProps {
  label: string;
  value: number;
  least?: number;
  onChange(value: number): void;
}

/** A number with a button on each side; what is typed counts on Enter, or when the field is left. */
export function Stepper({ label, value, least = 0, onChange }: StepperProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const take = () => {
    const number = Number((typed ?? "").replaceAll(",", "").trim());
    setTyped(null);
    if (typed !== null && typed.trim() !== "" && Number.isInteger(number) && number >= least && number !== value)
      onChange(number);
  };
  return (
    <span className="dra-fleet-stepper">
      <button type="button" aria-label={`Fewer ${label}`} disabled={value <= least} onClick={() => onChange(value - 1)}>
        −
      </button>
      <input
        aria-label={label}
        inputMode="numeric"
        value={typed ?? value.toLocaleString("en")}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
          else if (event.key === "Escape") setTyped(null);
          else if (event.key === "ArrowUp") onChange(value + 1);
          else if (event.key === "ArrowDown" && value > least) onChange(value - 1);
          else return;
          event.preventDefault();
        }}
      />
      <button type="button" aria-label={`More ${label}`} onClick={() => onChange(value + 1)}>
        +
      </button>
    </span>
  );
}

interface TypedProps extends FieldProps {
  name: string;
  /** What is offered. */
  list?: readonly string[];
  onDone(value: string): void;
}

/** A text that counts on Enter, or when the field is left. */
export function TypedField({ label, name, value, placeholder, list = [], onDone }: Omit<TypedProps, "onChange">) {
  const [typed, setTyped] = useState<string | null>(null);
  const id = useId();
  const take = () => {
    setTyped(null);
    if (typed !== null && typed.trim() !== value) onDone(typed.trim());
  };
  return (
    <label className="dra-fleet-typed">
      <span>{label}</span>
      <input
        className="dra-field"
        aria-label={name}
        value={typed ?? value}
        list={id}
        placeholder={placeholder}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
          else if (event.key === "Escape") setTyped(null);
        }}
      />
      <datalist id={id}>
        {list.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}
