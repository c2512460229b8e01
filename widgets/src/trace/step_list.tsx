// The steps of the search as rows.

import { Fragment, useLayoutEffect, useRef } from "react";
import { Button } from "../components/button";
import type { Tone } from "../components/content";
import type { TraceRow } from "../generated/models";
import { useChannel, useTrait } from "../hardware/model";

// The steps up to the present one: attempts that ended are folded and can be opened.
const MARKS: Readonly<Record<string, string>> = {
  rejected: "✕",
  allocated: "✓",
  "given-back": "↩",
  alternative: "→",
  "left-out": "…",
  end: "■",
};
const TONES: Readonly<Record<string, Tone>> = { allocated: "ok", "given-back": "warn" };
const span = (row: { first: number; last: number }) =>
  row.first === row.last
    ? row.first.toLocaleString("en")
    : `${row.first.toLocaleString("en")}–${row.last.toLocaleString("en")}`;

export function StepList() {
  const { total = 0 } = useTrait("trace");
  const { rows = [], step = 0, earlier = 0 } = useTrait("trace_now");
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the present step comes into sight when it changes
  useLayoutEffect(() => {
    const present = list.current?.querySelector<HTMLElement>('[aria-current="step"]');
    const box = list.current;
    if (box && present) box.scrollTop = present.offsetTop - box.clientHeight / 2;
  }, [step]);
  return (
    <section className="dra-trace-steps dra-column" aria-label="Steps">
      <h3>What kube-scheduler did</h3>
      <div ref={list} className="dra-pane">
        <table className="dra-table">
          <thead>
            <tr>
              {["step", "request", "device", "result", "test"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {earlier > 0 && <Line words={`${earlier.toLocaleString("en")} earlier rows are not listed`} />}
            {rows.map((row) => (
              <Row key={row.key} row={row} depth={row.depth ?? 0} now={step} />
            ))}
            {step < total && <Line words={`${span({ first: step + 1, last: total })} not shown yet`} />}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ row, depth, now }: { row: TraceRow; depth: number; now: number }) {
  const channel = useChannel();
  const opened = useTrait("trace_inside");
  const inside = opened[row.key];
  const isPresent = row.last === now && !row.opens;
  return (
    <Fragment>
      <tr data-kind={row.kind} aria-current={isPresent ? "step" : undefined}>
        <td>
          <Button
            kind="link"
            data-key={row.key}
            title={`Show step ${row.last}`}
            onClick={() => channel.set({ trace_step: row.last })}
          >
            {span(row)}
          </Button>
        </td>
        <td style={{ paddingLeft: `${6 + 12 * depth}px` }}>{row.position}</td>
        <td>{row.devices}</td>
        <td className="dra-toned" data-tone={TONES[row.kind]}>
          <span aria-hidden="true">{MARKS[row.kind]}</span> {row.result}
          {row.opens && !inside && (
            <Button
              kind="link"
              icon="down"
              className="dra-trace-open"
              label={`Show steps ${span(row)}`}
              title="Show the steps inside"
              send={{ type: "open-trace-row", first: row.first, last: row.last }}
            />
          )}
        </td>
        <td>{row.why}</td>
      </tr>
      {inside?.map((one) => (
        <Row key={one.key} row={one} depth={depth + 1} now={now} />
      ))}
    </Fragment>
  );
}

function Line({ words }: { words: string }) {
  return (
    <tr>
      <td colSpan={5} className="dra-dim">
        {words}
      </td>
    </tr>
  );
}
