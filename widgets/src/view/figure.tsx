// A figure, or a word in a table, that a click explains.
import { type ReactNode, useRef } from "react";
import type { Tile } from "../generated/models";
import { keyed } from "./keyed";
import { usePopover } from "./use_popover";

/** A number with its caption; the popover says what it counts. */
export function Figure({ row }: { row: Tile }) {
  const { value, caption, tone = "plain", title = caption, lines = [] } = row;
  return (
    <Explained
      className="dra-tile-figure"
      title={title}
      lines={lines}
      tone={tone}
      name={`tile ${caption}`}
      head={
        <p className="dra-explained-figure">
          <b>{value}</b> {caption}
        </p>
      }
    >
      <b>{value}</b>
      <span>{caption}</span>
    </Explained>
  );
}

/** A word of which the popover says what it means. */
export function Term({ title, text }: { title: string; text: string }) {
  return (
    <Explained className="dra-term" title={title} lines={[text]} name={`term ${title}`}>
      {title}
    </Explained>
  );
}

interface Props {
  className: string;
  title: string;
  lines: readonly string[];
  name: string;
  tone?: string;
  head?: ReactNode;
  children: ReactNode;
}

function Explained({ className, title, lines, name, tone, head, children }: Props) {
  const close = useRef<HTMLButtonElement>(null);
  const over = usePopover({ first: () => close.current });
  return (
    <>
      <button {...over.button} className={className} data-tone={tone} data-key={name} title={`What is this? ${title}`}>
        {children}
      </button>
      <div {...over.panel} role="dialog" className="dra-popover dra-explained" aria-label={title}>
        <h3>{title}</h3>
        {head}
        {keyed(lines).map(([key, line]) => (
          <p key={key}>{line}</p>
        ))}
        <button ref={close} type="button" className="dra-button" onClick={over.close}>
          Close
        </button>
      </div>
    </>
  );
}
