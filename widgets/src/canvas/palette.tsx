// What this cluster offers, to be dragged onto the board or added with Enter.

import { type KeyboardEvent, useRef, useState } from "react";
import { Button } from "../components/button";
import { classes } from "../components/classes";
import type { PaletteRow } from "../generated/models";
import { KindIcon } from "../view/icon";
import { stepOf, stepped } from "../view/keys";
import { useCanvas } from "./editor";

export const DRAGGED = "application/x-dra-lab-palette";

/** Chips that are shown at first; the others are one click away. */
const SHOWN = 6;

interface Props {
  onAdd(row: PaletteRow): void;
  onLeave(): void;
}

export function Palette({ onAdd, onLeave }: Props) {
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
