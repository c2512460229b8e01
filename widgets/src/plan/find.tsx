// Find a node or a device by its name: "/" opens it, Enter looks at what is chosen.
import { type KeyboardEvent, type RefObject, useId, useMemo, useRef, useState } from "react";
import { stepOf, stepped } from "../view/keys";
import { useChannel, useTrait } from "./model";

const MOST = 12;

interface Found {
  readonly id: string;
  readonly words: string;
  readonly node: string;
  readonly device: string;
}

/** `field` gets the focus when the panel opens; `onDone` closes it. */
export function Find({ field, onDone }: { field: RefObject<HTMLInputElement | null>; onDone(): void }) {
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
        ref={field}
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
      <ul ref={list} id={`${id}-list`} className="dra-options dra-found" role="listbox" aria-label="Nodes and devices">
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
