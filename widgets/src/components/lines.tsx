// Sentences below each other: paragraphs, or the points of a list.
import { keyed } from "../view/keyed";

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
