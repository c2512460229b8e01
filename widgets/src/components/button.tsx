// Buttons and icons. The kind of a button is how it looks, its label is what a screen reader says in place of its text.
import { type ComponentProps, useEffect, useState } from "react";
import { type AnyMessage, useAnyChannel } from "../view/model";
import { copyText } from "../view/text";

/** The class names that apply, as the value of an attribute. */
export const classes = (...names: readonly (string | false | null | undefined)[]): string =>
  names.filter(Boolean).join(" ");

// The icons of all widgets, on a grid of 16 by 16; strokes take the colour of the text.
const STROKE = { fill: "none", stroke: "currentColor", strokeWidth: 1.6 } as const;

/** Kind is shape (GPU square, NIC pill, CPU circle, other hexagon), on the canvas as in every picture. */
function shape(kind: string) {
  switch (kind) {
    case "gpu":
      return <rect x="2" y="2" width="12" height="12" rx="1.5" {...STROKE} />;
    case "nic":
      return <rect x="0.9" y="4.2" width="14.2" height="7.6" rx="3.8" {...STROKE} />;
    case "cpu":
      return <circle cx="8" cy="8" r="6.2" {...STROKE} />;
    default:
      return <path d="M4.6 2.2h6.8L14.8 8l-3.4 5.8H4.6L1.2 8z" {...STROKE} strokeLinejoin="round" />;
  }
}

export function KindIcon({ kind }: { kind: string }) {
  return (
    <svg className="dra-icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      {shape(kind)}
    </svg>
  );
}

const PATHS = {
  back: "M10 3L5 8l5 5",
  check: "M3 8.5l3.2 3.2L13 4.8",
  clear: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  cross: "M4 4l8 8M12 4l-8 8",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "M4 6l4 4 4-4",
  error: "M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2zM8 4.6v4M8 11.2h.01",
  first: "M4 3v10M12 3L7 8l5 5",
  file: "M4 1.8h5l3.2 3.2v9.2H4zM9 1.8V5h3.2",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  folder: "M1.8 3.4h4.4l1.4 1.8h6.6v7.6H1.8z",
  frames: "M1.8 2.5h12.4v11H1.8zM4.2 5.4h2.9v5.2H4.2zM8.9 5.4h2.9v5.2H8.9z",
  graph: "M8 2.2v4M8 6.2L3.6 10M8 6.2l4.4 3.8M6.6 2.2h2.8M2.2 10h2.8v3.4H2.2zM11 10h2.8v3.4H11z",
  image: "M2 3h12v10H2zM2 10.6l3.4-3.4 3 3 2-2L14 11.6M10.6 6h.01",
  last: "M12 3v10M4 3l5 5-5 5",
  lock: "M4.2 7.4h7.6v5.4H4.2zM5.7 7.2V5.4a2.3 2.3 0 0 1 4.6 0v1.8",
  next: "M6 3l5 5-5 5",
  note: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.4v3.6M8 5h.01",
  pause: "M5 3v10M11 3v10",
  pin: "M8 14s4.4-4.2 4.4-7.6a4.4 4.4 0 1 0-8.8 0C3.6 9.8 8 14 8 14zM8 7.6a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6z",
  play: "M5 3l8 5-8 5z",
  rack: "M3 2h10v12H3zM3 6h10M3 10h10M5.2 4h.01M5.2 8h.01M5.2 12h.01",
  redo: "M10 4l3.2 3.2L10 10.4M13 7.2H6.8a3.6 3.6 0 0 0 0 7.2h2.7",
  tab: "M2 3.5h12v9H2zM2 6.3h12M6 3.5v2.8",
  tidy: "M3 3h4v3H3zM9 10h4v3H9zM5 6v3.5a2 2 0 0 0 2 2h2",
  undo: "M6 4 2.8 7.2 6 10.4M3 7.2h6.2a3.6 3.6 0 0 1 0 7.2H6.5",
  warning: "M8 2l6.5 11.5h-13zM8 6.4v3.4M8 11.8h.01",
} as const;
export type IconName = keyof typeof PATHS;

/** An icon says nothing to a screen reader; the words beside it do. */
export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg className="dra-icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill={filled ? "currentColor" : "none"}
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** Must is a lock, prefer a tilde. */
export function Strength({ must }: { must: boolean }) {
  return must ? (
    <Icon name="lock" filled />
  ) : (
    <span className="dra-tilde" aria-hidden="true">
      ~
    </span>
  );
}

// Every button: its kind is how it looks, its label is what a screen reader says in place of its text.
const KINDS = {
  plain: "dra-button",
  primary: "dra-button is-primary",
  /** Text that acts. */
  link: "dra-bare dra-link",
  /** An icon without a frame. */
  quiet: "dra-bare dra-quiet",
  /** A button that its place draws: a card, a tile, a row. */
  bare: "dra-bare",
} as const;

interface ButtonProps extends ComponentProps<"button"> {
  /** What a press tells Python. */
  send?: AnyMessage;
  kind?: keyof typeof KINDS;
  icon?: IconName | undefined;
  label?: string | undefined;
  pressed?: boolean | undefined;
}

export function Button({ kind = "plain", icon, label, pressed, send, className, children, ...others }: ButtonProps) {
  const channel = useAnyChannel();
  return (
    <button
      type="button"
      className={classes(KINDS[kind], className)}
      aria-label={label}
      aria-pressed={pressed}
      onClick={send && (() => channel.send(send))}
      {...others}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface CopyProps extends ButtonProps {
  text(): string;
  /** Marks the text on the screen where the browser bars the clipboard. */
  select?(): void;
}

/** Milliseconds for which it is said that a text was copied. */
const DONE = 2000;

/** A button that copies a text, and says so for a moment. */
export function CopyButton({ text, select = () => undefined, children = "Copy", ...others }: CopyProps) {
  const [told, setTold] = useState("");
  useEffect(() => {
    const timer = told && setTimeout(() => setTold(""), DONE);
    return () => clearTimeout(timer || undefined);
  }, [told]);
  return (
    <>
      <span className="dra-told" role="status">
        {told}
      </span>
      <Button {...others} onClick={async () => setTold(await copyText(text(), select))}>
        {children}
      </Button>
    </>
  );
}
