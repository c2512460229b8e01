// A bar of parts that each have a pattern of their own (`data-part`).
import type { ReactNode } from "react";

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
