// Text of a lesson: paragraphs with bold words between ** and names between backquotes, and nothing else.
import { keyed } from "../view/keyed";

const PARTS = /(\*\*[^*]+\*\*|`[^`]+`)/;

/** One line with bold words and names. */
export function Line({ text }: { text: string }) {
  return keyed(text.split(PARTS)).map(([key, part]) => {
    if (part.startsWith("**") && part.length > 4) return <b key={key}>{part.slice(2, -2)}</b>;
    if (part.startsWith("`") && part.length > 2) return <code key={key}>{part.slice(1, -1)}</code>;
    return part;
  });
}

/** Paragraphs, which a blank line separates. */
export function Paragraphs({ text }: { text: string }) {
  return keyed(text.split(/\n\s*\n/).filter((part) => part.trim())).map(([key, part]) => (
    <p key={key}>
      <Line text={part.trim()} />
    </p>
  ));
}
