// What this cluster offers, to be dragged onto the board or added with Enter.
import { type KeyboardEvent, useRef, useState } from "react";
import type { PaletteRow } from "../generated/models";
import { KindIcon } from "../view/icon";
import { useCanvas } from "./editor";

export const DRAGGED = "application/x-dra-lab-palette";

interface Props {
  onAdd(row: PaletteRow): void;
  onLeave(): void;
}

export function Palette({ onAdd, onLeave }: Props) {
  const { palette, readOnly, status } = useCanvas();
  const list = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const at = Math.min(current, Math.max(0, palette.length - 1));
  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: palette.length - 1,
    };
    const to = moves[event.key];
    if (event.key === "Escape") onLeave();
    else if (to !== undefined) {
      const next = Math.min(Math.max(to, 0), palette.length - 1);
      setCurrent(next);
      list.current?.querySelectorAll<HTMLElement>("button")[next]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <aside className="dra-palette" aria-label="Devices">
      <h3 id="dra-palette-title">Devices</h3>
      {palette.length === 0 && (
        <p className="dra-hint">
          {status.counting ? "Counting the devices …" : "No devices here: load a cluster, or try a sample."}
        </p>
      )}
      <div
        ref={list}
        className="dra-chips"
        role="toolbar"
        aria-orientation="vertical"
        aria-label="Devices to add"
        onKeyDown={onKeyDown}
      >
        {palette.map((row, index) => (
          <button
            key={row.key}
            type="button"
            className={`dra-chip${row.inCluster === false ? " is-absent" : ""}`}
            data-key={row.key}
            tabIndex={index === at ? 0 : -1}
            disabled={readOnly}
            draggable={!readOnly}
            title={[row.deviceClass, row.note].filter(Boolean).join("\n")}
            onFocus={() => setCurrent(index)}
            onClick={() => onAdd(row)}
            onDragStart={(event) => {
              event.dataTransfer.setData(DRAGGED, row.key);
              event.dataTransfer.effectAllowed = "copy";
            }}
          >
            <KindIcon kind={row.kind ?? "other"} />
            <span>
              <b>{row.label}</b>
              <small>{row.use}</small>
            </span>
          </button>
        ))}
      </div>
    </aside>
  );
}
