// Devices and nodes: as tables of the dock, and found by name.

import { type CSSProperties, type KeyboardEvent, useCallback, useId, useMemo, useRef, useState } from "react";
import type { Row } from "../components/table";
import { LongTable } from "../components/table";
import type { BadgeRow } from "../generated/models";
import { stepOf, stepped } from "../view/keys";
import type { Point } from "../view/model";
import { useChannel, useTrait } from "./model";

/** Only a plain colour may go into a style. */
const colour = (text: string): string => (/^#[0-9a-f]{3,8}$/i.test(text) ? text : "currentColor");

/** The colours of a request's letter, as properties of the style sheet. */
export function badgeStyle(badge: BadgeRow | undefined): CSSProperties | undefined {
  if (!badge) return undefined;
  return { "--dra-badge": colour(badge.colour), "--dra-on-badge": colour(badge.textColour) } as CSSProperties;
}

// Every device as a row; those that are chosen carry their request's letter.
export function DevicesPanel({ point }: { point: Point }) {
  const [devices, chosen, badges] = [useTrait("devices"), useTrait("chosen"), useTrait("badges")];
  const columns = useMemo(() => ["chosen for", ...(devices.columns ?? [])], [devices]);
  const rows = useMemo(() => {
    const ids = devices.ids ?? [];
    const all: Row[] = (devices.rows ?? []).map((cells, i) => {
      const id = ids[i] ?? String(i);
      return { id, cells: [chosen[id] ?? "", ...cells] };
    });
    // What is chosen comes first, so that it is seen without a scroll.
    return [...all.filter((row) => row.cells[0]), ...all.filter((row) => !row.cells[0])];
  }, [devices, chosen]);
  const now = useTrait("highlight");
  const lit = useMemo(() => {
    const own = Object.keys(chosen).filter((id) => chosen[id] === now);
    return new Set([now, ...own].filter(Boolean));
  }, [chosen, now]);
  const cell = useCallback(
    (row: Row, column: number) => {
      const name = column === 0 ? row.cells[0] : "";
      if (!name) return undefined;
      return (
        <span>
          <span className="dra-letter" title={`chosen for request ${name}`} style={badgeStyle(badges[name])}>
            {badges[name]?.letter ?? "?"}
          </span>{" "}
          {name}
        </span>
      );
    },
    [badges],
  );
  return (
    <div className="dra-pane">
      <LongTable
        key={columns.join("\n")}
        label="Devices"
        columns={columns}
        rows={rows}
        lit={lit}
        note={<span className="dra-hint">{devices.caption ? `Shown: ${devices.caption}.` : ""}</span>}
        cell={cell}
        onPick={(row) => point(row.id)}
        onPoint={(row) => point(row?.id ?? "")}
      />
    </div>
  );
}

// Every node, or class of identical nodes, as a row: how it serves the drawing. A click asks why not.
const COLUMNS = ["node", "identical nodes", "how it serves the claim", "full name"];
const WIDTHS = [140, 110, 320, 240];

export function NodesPanel() {
  const channel = useChannel();
  const [nodes, asked] = [useTrait("nodes"), useTrait("why_not").node ?? ""];
  const rows = useMemo(
    () => nodes.map((row) => ({ id: row.id, cells: [row.label, String(row.nodes ?? 1), row.detail ?? "", row.id] })),
    [nodes],
  );
  const lit = useMemo(() => new Set([asked].filter(Boolean)), [asked]);
  return (
    <div className="dra-pane">
      <LongTable
        label="Nodes"
        columns={COLUMNS}
        widths={WIDTHS}
        rows={rows}
        lit={lit}
        onPick={(row) => channel.send({ type: "look-at", node: row.id })}
      />
    </div>
  );
}

// Find a node or a device by its name: "/" opens it, Enter looks at what is chosen.
const MOST = 12;

interface Found {
  readonly id: string;
  readonly words: string;
  readonly node: string;
  readonly device: string;
}

/** `onDone` closes its panel. */
export function Find({ onDone }: { onDone(): void }) {
  const channel = useChannel();
  const [nodes, devices] = [useTrait("nodes"), useTrait("devices")];
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [id, list] = [useId(), useRef<HTMLUListElement>(null)];
  const all = useMemo<Found[]>(() => {
    const [nodeAt, publishedAt] = ["node", "published name"].map((name) => (devices.columns ?? []).indexOf(name));
    return [
      ...nodes.map((row) => ({ id: row.id, words: row.id, node: row.id, device: "" })),
      ...(devices.rows ?? []).map((cells, at) => {
        const [device, node] = [devices.ids?.[at] ?? "", cells[nodeAt ?? -1] ?? ""];
        const [name, published] = [cells[0], cells[publishedAt ?? -1]];
        const also = published && published !== name ? `, published as ${published}` : "";
        return { id: device, words: `${name} on ${node}${also}`, node, device };
      }),
    ];
  }, [nodes, devices]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isNamed = (one: Found) => words.every((word) => one.words.toLowerCase().includes(word));
  const found = words.length ? all.filter(isNamed).slice(0, MOST) : [];
  const here = Math.min(chosen, found.length - 1);
  const look = (one: Found | undefined) => {
    if (!one) return;
    channel.send({ type: "look-at", node: one.node, ...(one.device ? { device: one.device } : {}) });
    setText("");
    const planner = list.current?.closest(".dra-lab-grid");
    onDone();
    // The person goes on at what was found: on the picture, where there is one.
    planner?.querySelector<SVGElement>('.dra-hardware [role="treeitem"][tabindex="0"]')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = /^Arrow(Up|Down)$/.test(event.key) ? stepOf(event.key) : undefined;
    if (step !== undefined) {
      event.preventDefault();
      setChosen(stepped(here, step, found.length));
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      look(found[here]);
    }
  };
  return (
    <>
      <label className="dra-hint" htmlFor={id}>
        Find a node or a device
      </label>
      <input
        id={id}
        className="dra-input"
        type="text"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={found[here] ? `${id}-${here}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul ref={list} id={`${id}-list`} className="dra-options" role="listbox" aria-label="Nodes and devices">
        {found.map((one, at) => (
          <li
            key={one.id}
            className="dra-option"
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === here}
            tabIndex={-1}
            onClick={() => look(one)}
          >
            {one.words}
          </li>
        ))}
      </ul>
      {words.length > 0 && !found.length && <p className="dra-hint">No node or device has these words in its name.</p>}
    </>
  );
}
