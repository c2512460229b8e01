// What is going on, with a turning sign.
import type { ReactNode } from "react";

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
