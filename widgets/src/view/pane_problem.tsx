// What is wrong with a pane, as a line that can be hidden.
import { Callout } from "../components/callout";

export function PaneProblem({ text, onHide }: { text: string; onHide(): void }) {
  return (
    <div className="dra-pane-problem" role="alert">
      {text && (
        <Callout tone="error" onHide={onHide}>
          <span>{text}</span>
        </Callout>
      )}
    </div>
  );
}
