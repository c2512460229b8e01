// The buttons under the board: the claim and its card, what changes the drawing, and the panel of keys.

import { Button } from "../components/button";
import type { IconName } from "../view/icon";
import { CANVAS_KEYS } from "../view/key_table";
import { KeysList } from "../view/keys_list";
import { claimsOf } from "./claims";
import { useCanvas } from "./editor";

interface Tool {
  label: string;
  act(): void;
  icon: IconName;
  isOff?: boolean;
}

interface Props {
  onFit(): void;
  onTidy(): void;
  onClear(): void;
  onClaim(): void;
  onGang(): void;
  onKeys(): void;
  keysShown: boolean;
  /** Open or close the card of the whole claim. */
  onWhole(): void;
  isWhole: boolean;
}

export function Toolbar(props: Props) {
  const { onFit, onTidy, onClear, onClaim, onGang, onKeys, keysShown, onWhole, isWhole } = props;
  const { history, undo, redo, sketch, readOnly } = useCanvas();
  const empty = !sketch.requests?.length && !sketch.links?.length && !sketch.claims?.length;
  const edits: readonly Tool[] = [
    { label: "Undo (Ctrl+Z)", icon: "undo", act: undo, isOff: !history.canUndo },
    { label: "Redo (Ctrl+Shift+Z)", icon: "redo", act: redo, isOff: !history.canRedo },
    { label: "Tidy up", icon: "tidy", act: onTidy, isOff: empty },
  ];
  const fit: Tool = { label: "Zoom to fit", icon: "fit", act: onFit, isOff: empty };
  const wholes: readonly Tool[] = [
    { label: "Add a claim to the pod (Shift+N)", icon: "frames", act: onClaim },
    { label: "Keep several such pods in one rack… (G)", icon: "rack", act: onGang, isOff: empty },
    { label: "Clear the drawing", icon: "clear", act: onClear, isOff: empty },
  ];
  const tools = readOnly ? [fit] : [...edits, fit, ...wholes];
  const [whole, name] = [claimsOf(sketch).length ? "Pod" : "Claim", sketch.name ?? "claim"];
  return (
    <div className="dra-tools" role="toolbar" aria-label="Drawing" data-home=".dra-board">
      <Button
        className="dra-cut"
        label={`${whole} ${name}: name, requests and links`}
        aria-expanded={isWhole}
        onClick={onWhole}
      >
        {whole} <b>{name}</b>
      </Button>
      <span className="dra-gap" />
      {tools.map(({ label, icon, act, isOff }) => (
        <Button key={label} kind="quiet" icon={icon} label={label} title={label} disabled={isOff} onClick={act} />
      ))}
      <Button kind="quiet" label="Keys (?)" title="Keys (?)" pressed={keysShown} onClick={onKeys}>
        <b aria-hidden="true">?</b>
      </Button>
    </div>
  );
}

export function KeysPanel({ onClose }: { onClose(): void }) {
  return (
    <div className="dra-keys" role="region" aria-label="Keys">
      <Button kind="quiet" icon="cross" className="dra-close" label="Close the list of keys" onClick={onClose} />
      <h3>Keys</h3>
      <KeysList rows={CANVAS_KEYS} />
      <p className="dra-hint">
        Mouse: drag a device in; drag from a dot of one box to another box to link them; Ctrl + wheel zooms.
      </p>
    </div>
  );
}
