// The few buttons over the board, and the panel of keys.
import type { ReactNode } from "react";
import { Icon } from "../view/icon";
import { useCanvas } from "./editor";
import { KEYS } from "./keyboard";

interface ToolProps {
  label: string;
  onClick(): void;
  disabled?: boolean;
  pressed?: boolean;
  children: ReactNode;
}

function Tool({ label, onClick, disabled = false, pressed, children }: ToolProps) {
  return (
    <button
      type="button"
      className="dra-tool"
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

interface Props {
  onFit(): void;
  onTidy(): void;
  onClear(): void;
  onClaim(): void;
  onGang(): void;
  onKeys(): void;
  keysShown: boolean;
}

export function Toolbar({ onFit, onTidy, onClear, onClaim, onGang, onKeys, keysShown }: Props) {
  const { history, undo, redo, sketch, readOnly } = useCanvas();
  const empty = !sketch.requests?.length && !sketch.links?.length && !sketch.claims?.length;
  return (
    <div className="dra-tools" role="toolbar" aria-label="Drawing" aria-orientation="vertical" data-home=".dra-board">
      {!readOnly && (
        <>
          <Tool label="Undo (Ctrl+Z)" onClick={undo} disabled={!history.canUndo}>
            <Icon name="undo" />
          </Tool>
          <Tool label="Redo (Ctrl+Shift+Z)" onClick={redo} disabled={!history.canRedo}>
            <Icon name="redo" />
          </Tool>
          <Tool label="Tidy up" onClick={onTidy} disabled={empty}>
            <Icon name="tidy" />
          </Tool>
        </>
      )}
      <Tool label="Zoom to fit" onClick={onFit} disabled={empty}>
        <Icon name="fit" />
      </Tool>
      {!readOnly && (
        <Tool label="Add a claim to the pod (Shift+N)" onClick={onClaim}>
          <Icon name="frames" />
        </Tool>
      )}
      {!readOnly && (
        <Tool label="Keep several such pods in one rack… (G)" onClick={onGang} disabled={empty}>
          <Icon name="rack" />
        </Tool>
      )}
      {!readOnly && (
        <Tool label="Clear the drawing" onClick={onClear} disabled={empty}>
          <Icon name="clear" />
        </Tool>
      )}
      <Tool label="Keys (?)" onClick={onKeys} pressed={keysShown}>
        <b aria-hidden="true">?</b>
      </Tool>
    </div>
  );
}

export function KeysPanel({ onClose }: { onClose(): void }) {
  return (
    <div className="dra-keys" role="region" aria-label="Keys">
      <button type="button" className="dra-tool dra-close" aria-label="Close the list of keys" onClick={onClose}>
        <Icon name="cross" />
      </button>
      <h3>Keys</h3>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p className="dra-hint">
        Mouse: drag a device in; drag from a dot of one box to another box to link them; Ctrl + wheel zooms.
      </p>
    </div>
  );
}
