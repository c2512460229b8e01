// A figure, or a word in a table, that a click explains.

import { type ReactNode, useRef } from "react";
import { Button } from "../components/button";
import { Lines } from "../components/lines";
import { Popover } from "../components/popover";
import type { Tile } from "../generated/models";
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
      <Button
        {...over.button}
        kind="bare"
        className={className}
        data-tone={tone}
        data-key={name}
        title={`What is this? ${title}`}
      >
        {children}
      </Button>
      <Popover over={over} title={title} className="dra-explained">
        {head}
        <Lines lines={lines} />
        <Button ref={close} onClick={over.close}>
          Close
        </Button>
      </Popover>
    </>
  );
}
