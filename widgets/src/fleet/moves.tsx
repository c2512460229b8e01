// The moves of running pods: their picture with arrows, the steps, and which pods may move.

import { useEffect, useRef, useState } from "react";
import { Button, CopyButton } from "../components/button";
import { Card, Lines } from "../components/content";
import { Form } from "../components/form";
import { Choice, optionsOf, Ticks } from "../components/inputs";
import type { MovableRow, MoveRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { useSize } from "../view/grid";
import { keyed, saveText, selectAll } from "../view/text";
import { SvgPicture } from "./card";

/** The least and the greatest width of the picture in pixels. */
const LEAST = 480;
const MOST = 1000;

export function Moves() {
  const channel = useChannel();
  const { sentence = "", svg = "", kinds = [], steps = [], first = "", fix = 0, movable, seeking } = useTrait("moves");
  const kind = useTrait("moves_kind") || kinds[0]?.[0] || "";
  const place = useRef<HTMLDivElement>(null);
  const told = useRef(0);
  // The text of a picture is never scaled, so Python draws it as wide as its place.
  useSize(place, ({ clientWidth }) => {
    const width = Math.min(MOST, Math.floor(clientWidth / 10) * 10);
    if (width < LEAST || width === told.current) return;
    told.current = width;
    channel.set({ moves_width: width });
  });
  return (
    <section className="dra-stack dra-moves" aria-label="Moves" aria-busy={seeking || undefined}>
      <div className="dra-row">
        <h3 className="dra-fill">Moves</h3>
        {kinds.length > 1 && (
          <Choice
            label="Devices"
            options={optionsOf(kinds)}
            value={kind}
            onChoose={(value) => channel.set({ moves_kind: value })}
          />
        )}
      </div>
      <p role="status">{sentence}</p>
      <div ref={place}>{svg && <SvgPicture svg={svg} />}</div>
      <div className="dra-grid">
        {steps.length > 0 && (
          <Card title="Moves in order" tools={fix ? <Apply fix={fix} /> : undefined}>
            {first && <p className="dra-dim">{first}</p>}
            <Steps steps={steps} />
          </Card>
        )}
        {movable && <Movable row={movable} />}
      </div>
    </section>
  );
}

const Apply = ({ fix }: { fix: number }) => (
  <Button kind="primary" send={{ type: "apply-suggestion", number: fix }}>
    Apply as what-if
  </Button>
);

/** The pods in the order in which they move; those that go nowhere come first. */
function Steps({ steps }: { steps: readonly MoveRow[] }) {
  const { markdown = "" } = useTrait("moves");
  const list = useRef<HTMLUListElement>(null);
  return (
    <>
      <ul ref={list} className="dra-stack dra-move-steps" tabIndex={-1}>
        {keyed(steps, (one) => one.pod).map(([key, { pod, words, number = 0, lines }]) => (
          <li key={key} data-lost={number ? undefined : ""}>
            <b className="dra-move-number">{number || "✕"}</b>
            <div>
              <p>
                <b>{pod}</b>: {words}
              </p>
              <div className="dra-dim">
                <Lines lines={lines} />
              </div>
            </div>
          </li>
        ))}
      </ul>
      <p className="dra-dim">Nothing is executed. The steps are kubectl lines with a dry run.</p>
      <div className="dra-row">
        <CopyButton text={() => markdown} select={() => list.current && selectAll(list.current)}>
          Copy steps
        </CopyButton>
        <Button onClick={() => saveText("moves.md", markdown)}>Save as Markdown</Button>
      </div>
    </>
  );
}

/** The namespaces and labels of the pods that may move; all namespaces are the same as none. */
function Movable({ row: { namespaces = [], labels = "", lines = [] } }: { row: MovableRow }) {
  const channel = useChannel();
  // A click counts at once; the answer to it comes later.
  const [clicked, setClicked] = useState<readonly string[] | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what Python says replaces what was clicked
  useEffect(() => setClicked(null), [namespaces]);
  const chosen = clicked ?? namespaces.flatMap(([name, isOn]) => (isOn ? [name] : []));
  const send = (names: readonly string[], text: string) => {
    setClicked(names);
    channel.send({ type: "set-movable", namespaces: names.length === namespaces.length ? [] : names, labels: text });
  };
  return (
    <Card title="Which pods may move">
      <fieldset className="dra-row">
        <legend className="dra-label">Namespaces</legend>
        <Ticks
          rows={namespaces.map(([name]) => {
            const isOff = chosen.length === 1 && chosen.includes(name);
            const title = isOff ? "One namespace has to stay chosen" : undefined;
            return { name, chosen: chosen.includes(name), isOff, title };
          })}
          onSet={(names) => send(names, labels)}
        />
      </fieldset>
      <Form
        fields={[
          {
            label: "Labels",
            kind: "text",
            value: labels,
            placeholder: "any; for example tier=spot",
            name: "Labels of pods that may move",
            onSet: (text) => send(chosen, text),
          },
        ]}
      />
      <Lines lines={lines} />
    </Card>
  );
}
