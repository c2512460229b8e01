// What is wrong with a pane, as a line that can be hidden.
import { Icon } from "./icon";

export function PaneProblem({ text, onHide }: { text: string; onHide(): void }) {
  return (
    <div className="dra-pane-problem" role="alert">
      {text && (
        <>
          <Icon name="error" />
          <span>{text}</span>
          <button type="button" className="dra-quiet" aria-label="Hide this message" data-key="hide" onClick={onHide}>
            <Icon name="cross" />
          </button>
        </>
      )}
    </div>
  );
}
