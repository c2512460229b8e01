// The palette above the board, the buttons under it, and the panel of keys.

import { type KeyboardEvent, useRef, useState } from "react";
import { Button, classes, type IconName, KindIcon } from "../components/button";
import type { PaletteRow } from "../generated/models";
import { CANVAS_KEYS, KeysList, stepOf, stepped } from "../view/keys";
import { claimsOf } from "./claims";
import { useCanvas } from "./editor";

// What this cluster offers, to be dragged onto the board or added with Enter.
export const DRAGGED = "application/x-dra-lab-palette";

/** Chips that are shown at first; the others are one click away. */
const SHOWN = 6;

interface PaletteProps {
  onAdd(row: PaletteRow): void;
  onLeave(): void;
}

export function Palette({ onAdd, onLeave }: PaletteProps) {
  const { palette, readOnly, status } = useCanvas();
  const list = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? palette : palette.slice(0, SHOWN);
  const more = palette.length - shown.length;
  const last = Math.max(0, shown.length - (more ? 0 : 1));
  const at = Math.min(current, last);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key.startsWith("Page") ? undefined : stepOf(event.key);
    if (event.key === "Escape") onLeave();
    else if (step !== undefined) {
      const next = stepped(at, step, last + 1);
      setCurrent(next);
      list.current?.querySelectorAll<HTMLElement>("button")[next]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <aside className="dra-palette" aria-label="Devices">
      {palette.length === 0 && (
        <p className="dra-hint">
          {status.counting ? "Counting the devices …" : "No devices here: load a cluster, or try a sample."}
        </p>
      )}
      <div ref={list} className="dra-row dra-chips" role="toolbar" aria-label="Devices to add" onKeyDown={onKeyDown}>
        {shown.map((row, index) => (
          <Button
            kind="bare"
            className={classes("dra-chip", row.inCluster === false && "is-absent")}
            key={row.key}
            data-key={row.key}
            tabIndex={index === at ? 0 : -1}
            disabled={readOnly}
            draggable={!readOnly}
            title={[row.label, row.use, row.deviceClass, row.note, "Click or drag to add"].filter(Boolean).join("\n")}
            onFocus={() => setCurrent(index)}
            onClick={() => onAdd(row)}
            onDragStart={(event) => {
              event.dataTransfer.setData(DRAGGED, row.key);
              event.dataTransfer.effectAllowed = "copy";
            }}
          >
            <span aria-hidden="true">+</span>
            <KindIcon kind={row.kind ?? "other"} />
            <b>{row.label}</b>
            <small className="dra-hint dra-cut">{row.chip || row.use}</small>
          </Button>
        ))}
        {more > 0 && (
          <Button
            kind="bare"
            className="dra-chip is-more"
            tabIndex={at === shown.length ? 0 : -1}
            onFocus={() => setCurrent(shown.length)}
            onClick={() => setWhole(true)}
          >
            {more} more …
          </Button>
        )}
        {isWhole && palette.length > SHOWN && (
          <Button kind="bare" className="dra-chip is-more" tabIndex={-1} onClick={() => setWhole(false)}>
            Fewer
          </Button>
        )}
      </div>
    </aside>
  );
}

// The buttons under the board: the claim and its card, what changes the drawing, and the panel of keys.
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
    <div className="dra-row is-tight dra-ruled dra-tools" role="toolbar" aria-label="Drawing" data-home=".dra-board">
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
    <div className="dra-pane dra-keys" role="region" aria-label="Keys">
      <Button kind="quiet" icon="cross" className="dra-close" label="Close the list of keys" onClick={onClose} />
      <h3>Keys</h3>
      <KeysList rows={CANVAS_KEYS} />
      <p className="dra-hint">
        Mouse: drag a device in; drag from a dot of one box to another box to link them; Ctrl + wheel zooms.
      </p>
    </div>
  );
}
