// What panes contain: bars, cards, chips, sentences with a sign, lists of lines, findings.

import { type ComponentProps, Fragment, type ReactNode } from "react";
import type { AskRow, FindingRow } from "../generated/models";
import { useAnyChannel, useAnyTrait } from "../view/model";
import { keyed } from "../view/text";
import { Button, classes, Icon, type IconName } from "./button";

// A bar of parts that each have a pattern of their own (`data-part`).
export interface Part {
  readonly key: string;
  /** Which pattern it has. */
  readonly part: string;
  readonly size: number;
  readonly title?: string;
  readonly inside?: ReactNode;
  /** A colour in place of that of its pattern, and the colour of text on it. */
  readonly colour?: string;
  readonly ink?: string;
}

export function Bar({ parts, title }: { parts: readonly Part[]; title?: string }) {
  return (
    <span className="dra-bar-of-parts" title={title}>
      {parts.map(({ key, part, size, title: words, inside, colour, ink }) =>
        size ? (
          <span key={key} data-part={part} style={{ flexGrow: size, background: colour, color: ink }} title={words}>
            {inside}
          </span>
        ) : null,
      )}
    </span>
  );
}

/** `width` is the share of its place that the whole track takes, in percent. */
export function Meter({ value, of, width = 100 }: { value: number; of: number; width?: number }) {
  return (
    <span className="dra-meter" style={{ width: `${width}%` }}>
      <span style={{ width: `${(100 * value) / Math.max(1, of)}%` }} />
    </span>
  );
}

// A framed part of a pane with its heading.
interface CardProps extends ComponentProps<"section"> {
  title: string;
  /** What stands at the end of the line of the heading. */
  tools?: ReactNode;
}

export function Card({ title, tools, className, children, ...others }: CardProps) {
  return (
    <section className={classes("dra-card", className)} aria-label={title} {...others}>
      {tools ? (
        <div className="dra-row">
          <h3>{title}</h3>
          <span className="dra-gap" />
          {tools}
        </div>
      ) : (
        <h3>{title}</h3>
      )}
      {children}
    </section>
  );
}

// A short text in a round frame; with `onRemove` it can be taken away.
interface ChipProps extends ComponentProps<"span"> {
  /** What its cross does, in words. */
  removal?: string;
  onRemove?: (() => void) | undefined;
}

export function Chip({ removal, onRemove, className, children, ...others }: ChipProps) {
  return (
    <span className={classes("dra-chip", className)} {...others}>
      {children}
      {onRemove && <Button kind="quiet" icon="cross" label={removal} onClick={onRemove} />}
    </span>
  );
}

// A sentence with its sign: that something is well, or wrong, or to be decided.
export type Tone = "ok" | "plain" | "warn" | "error";
const SIGNS: Readonly<Record<Tone, IconName>> = { ok: "check", plain: "note", warn: "warning", error: "error" };

interface CalloutProps extends ComponentProps<"div"> {
  tone?: Tone;
  icon?: IconName | undefined;
  text?: ReactNode;
  /** Hides it; undefined where it stays. */
  onHide?: (() => void) | undefined;
}

export function Callout({ tone = "plain", icon = SIGNS[tone], text, onHide, ...others }: CalloutProps) {
  const { className, children, ...more } = others;
  return (
    <div className={classes("dra-callout", className)} data-tone={tone} {...more}>
      <Icon name={icon} />
      {text && <span>{text}</span>}
      {children}
      {onHide && <Button kind="quiet" icon="cross" label="Hide this message" data-key="hide" onClick={onHide} />}
    </div>
  );
}

/** `words` end in dots unless they are a sentence of their own. */
export function Working({ words, children }: { words: string; children?: ReactNode }) {
  return (
    <span className="dra-row">
      <span className="dra-spinner" aria-hidden="true" />
      <span>{words} ...</span>
      {children}
    </span>
  );
}

// Sentences below each other: paragraphs, or the points of a list.
export function Lines({ lines }: { lines: readonly string[] | undefined }) {
  return keyed(lines ?? []).map(([key, line]) => line && <p key={key}>{line}</p>);
}

export function Points({ lines, className }: { lines: readonly string[] | undefined; className?: string }) {
  if (!lines?.length) return null;
  return (
    <ul className="dra-points">
      {keyed(lines).map(([key, line]) => (
        <li key={key} className={className}>
          {line}
        </li>
      ))}
    </ul>
  );
}

/** A question to the person, with a button for each answer. */
export function Question({ className }: { className: string }) {
  const { text, options = [] } = useAnyTrait("ask") as AskRow;
  if (!text) return null;
  return (
    <Callout tone="warn" className={className} role="alert" text={text}>
      {options.map(([id, label]) => (
        <Button key={id} send={{ type: "answer", id }}>
          {label}
        </Button>
      ))}
    </Callout>
  );
}

/** What is wrong with a pane, as a line that can be hidden: what Python says, else what this page found. */
export function PaneProblem({ own = "", onHide }: { own?: string; onHide?(): void }) {
  const channel = useAnyChannel();
  const text = String(useAnyTrait("problem") || own);
  const hide = () => {
    channel.send({ type: "dismiss-problem" });
    onHide?.();
  };
  return (
    <div className="dra-pane-problem dra-ruled" role="alert">
      {text && <Callout tone="error" text={text} onHide={hide} />}
    </div>
  );
}

/** What the patterns of a picture mean, by the value of their attribute. */
export function Legend({ of = "data-part", parts, children }: LegendProps) {
  return (
    <p className="dra-row dra-legend" aria-hidden="true">
      {children}
      {parts.map(([value, words]) => (
        <span key={value}>
          <span className="dra-swatch" {...{ [of]: value }} />
          {words}
        </span>
      ))}
    </p>
  );
}
interface LegendProps {
  of?: string;
  parts: readonly (readonly [string, string])[];
  children?: ReactNode;
}

// Findings as a list: severity as sign and word, its subject, the message, what to do next, and the entry of its rule.
const TONES: Readonly<Record<string, Tone>> = { error: "error", warning: "warn" };

export function FindingsList({ findings, nothing }: { findings: readonly FindingRow[]; nothing: string }) {
  if (!findings.length) return <p className="dra-nothing">{nothing}</p>;
  return (
    <ul>
      {keyed(findings, (row) => `${row.rule} ${row.subject} ${row.message}`).map(
        ([key, { rule = "", help, ...row }]) => (
          <Finding key={key} tone={TONES[row.severity]} head={row.severity} {...row}>
            <RuleHelp rule={rule} help={help ?? []} />
          </Finding>
        ),
      )}
    </ul>
  );
}

interface FindingProps {
  tone?: Tone | undefined;
  icon?: IconName;
  head?: string;
  subject?: string | undefined;
  message?: string;
  advice?: string | undefined;
  origin?: string | undefined;
  children?: ReactNode;
}

/** Something that is wrong, or that would help, with what else is said of it. */
export function Finding({ tone = "plain", icon, head, subject, message, advice, origin, children }: FindingProps) {
  return (
    <li className="dra-finding">
      <Callout tone={tone} icon={icon} />
      <div>
        {head && (
          <b className="dra-toned" data-tone={tone}>
            {head}{" "}
          </b>
        )}
        {subject && <code>{subject}</code>}
        {message && <p>{message}</p>}
        {advice && <p className="dra-dim">{advice}</p>}
        {origin && <p className="dra-hint">{origin}</p>}
        {children}
      </div>
    </li>
  );
}

const LABELS = ["Meaning", "Cause", "Remedy", "Page"] as const;

function RuleHelp({ rule, help }: { rule: string; help: readonly string[] }) {
  if (!help.length) return null;
  return (
    <details className="dra-rule-help">
      <summary>
        Explain <code>{rule}</code>
      </summary>
      <dl className="dra-terms">
        {help.map((text, index) => (
          <Fragment key={LABELS[index]}>
            <dt>{LABELS[index]}</dt>
            <dd>{text.replaceAll("`", "")}</dd>
          </Fragment>
        ))}
      </dl>
    </details>
  );
}
