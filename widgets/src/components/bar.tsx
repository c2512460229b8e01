// A bar of parts that each have a pattern of their own (`data-part`).
import type { ReactNode } from "react";

export interface Part {
  readonly key: string;
  /** Which pattern it has. */
  readonly part: string;
  readonly size: number;
  readonly title?: string;
  readonly inside?: ReactNode;
}

export function Bar({ parts, title }: { parts: readonly Part[]; title?: string }) {
  return (
    <span className="dra-bar-of-parts" title={title}>
      {parts.map(({ key, part, size, title: words, inside }) =>
        size ? (
          <span key={key} data-part={part} style={{ flexGrow: size }} title={words}>
            {inside}
          </span>
        ) : null,
      )}
    </span>
  );
}
