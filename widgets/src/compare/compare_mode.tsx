// Compare mode: up to four kept plans as columns, what differs, a small picture of each, and the diff of their YAML.

import { useId, useState } from "react";
import { Button } from "../components/button";
import { Check } from "../components/inputs";
import { Working } from "../components/working";
import { DiffLines } from "../export/files";
import type { ComparedPlan, CompareLine, CompareRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { Term } from "../view/figure";
import { PaneProblem } from "../view/pane_problem";
import { ColumnHead } from "./column_head";
import { Places, PlacesLegend } from "./places";
import { TableTools } from "./table_tools";

/** Whether a row is said once above the columns: what was asked, if it is the same for all. */
const isAbove = (line: CompareLine): boolean => ASKED.includes(line.key) && !line.differs;
const ASKED = ["cluster", "release", "node"];

export function CompareMode() {
  const row = useTrait("compare");
  const problem = useTrait("problem");
  const channel = useChannel();
  const plans = row.plans ?? [];
  const asked = (row.lines ?? []).filter((line) => isAbove(line));
  const keep = (
    <Button kind="primary" data-key="keep" onClick={() => channel.send({ type: "keep-for-compare" })}>
      Keep this plan
    </Button>
  );
  return (
    <section className="dra-mode-pane dra-compare dra-column" aria-label="Compare">
      <header className="dra-row dra-compare-head">
        <div>
          <p className="dra-dim">
            {plans.length > 1 && `${plans.length} plans. ≠ marks a row that differs, ★ the best value of a row.`}
            {asked.map((line) => ` ${line.label}: ${line.cells[0]?.text}.`)}
          </p>
          <h2 role="status">{row.sentence}</h2>
        </div>
        {row.stage && <Working words={row.stage} />}
        {plans.length > 0 && <TableTools markdown={row.markdown ?? ""} csv={row.csv ?? ""} />}
        {keep}
      </header>
      <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
      <Chosen row={row} plans={plans} />
      {plans.length > 0 ? (
        <Columns row={row} plans={plans} />
      ) : (
        <p className="dra-compare-empty">
          Draw a claim in Plan. Its plan, the plans that you keep, and the one without what-if changes stand side by
          side here.
        </p>
      )}
    </section>
  );
}

/** Which of the kept plans stand side by side, if there are more than fit. */
function Chosen({ row, plans }: { row: CompareRow; plans: readonly ComparedPlan[] }) {
  const channel = useChannel();
  const [every, most] = [row.every ?? [], row.most ?? 4];
  if (every.length <= most) return null;
  const shown = plans.map((plan) => plan.name);
  const isFull = shown.length >= most;
  return (
    <fieldset className="dra-row dra-compare-chosen">
      <legend>
        {every.length} plans are kept. Choose up to {most}:
      </legend>
      {every.map((name) => {
        const isShown = shown.includes(name);
        return (
          <Check
            key={name}
            checked={isShown}
            disabled={isShown ? shown.length === 1 : isFull}
            onTurn={() => {
              const names = isShown ? shown.filter((other) => other !== name) : [...shown, name];
              channel.send({ type: "choose-kept", names });
            }}
          >
            {name}
          </Check>
        );
      })}
    </fieldset>
  );
}

function Columns({ row, plans }: { row: CompareRow; plans: readonly ComparedPlan[] }) {
  const channel = useChannel();
  const [shown, setShown] = useState("");
  const id = useId();
  const diff = plans.find((plan) => plan.name === shown)?.diff ?? [];
  return (
    <div className="dra-compare-body" role="region" aria-label="Kept plans" tabIndex={0}>
      <table className="dra-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="dra-sr">Question</span>
            </th>
            {plans.map((plan) => (
              <ColumnHead key={plan.name} plan={plan} />
            ))}
          </tr>
        </thead>
        <tbody>
          {(row.lines ?? [])
            .filter((line) => !isAbove(line))
            .map((line) => (
              <tr key={line.key} data-differs={line.differs ? "" : undefined}>
                <th scope="row">
                  <span className="dra-differs" aria-hidden="true">
                    {line.differs ? "≠" : ""}
                  </span>
                  {line.meaning ? <Term title={line.label} text={line.meaning} /> : line.label}
                  {line.differs && <span className="dra-sr"> (differs)</span>}
                </th>
                <Cells line={line} plans={plans} shown={shown} panel={id} onDiff={setShown} />
              </tr>
            ))}
          <tr className="dra-compare-pictures">
            <th scope="row">
              <span className="dra-differs" />
              <span>Devices</span>
              <PlacesLegend plans={plans} />
            </th>
            {plans.map((plan) => (
              <td key={plan.name}>
                <Places plan={plan} />
              </td>
            ))}
          </tr>
          <tr>
            <th scope="row">
              <span className="dra-sr">Actions</span>
            </th>
            {plans.map((plan) => (
              <td key={plan.name}>
                {plan.drawn ? (
                  <span className="dra-dim">This is what the screen shows.</span>
                ) : plan.kind === "baseline" ? null : (
                  <Button onClick={() => channel.send({ type: "restore-kept", name: plan.name })}>
                    Make this the drawing
                  </Button>
                )}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
      {diff.length > 0 && (
        <section id={id} className="dra-compare-diff" aria-label={`YAML of ${shown} against ${plans[0]?.name ?? ""}`}>
          <div className="dra-row">
            <h3>
              YAML of {shown} against {plans[0]?.name}
            </h3>
            <span className="dra-gap" />
            <Button kind="quiet" icon="cross" label="Close the diff" onClick={() => setShown("")} />
          </div>
          <div className="dra-diff">
            <DiffLines lines={diff} />
          </div>
        </section>
      )}
    </div>
  );
}

interface CellsProps {
  line: CompareLine;
  plans: readonly ComparedPlan[];
  shown: string;
  panel: string;
  onDiff(name: string): void;
}

function Cells({ line, plans, shown, panel, onDiff }: CellsProps) {
  return line.cells.map((cell, at) => {
    const plan = plans[at];
    if (!plan) return null;
    const isOpen = shown === plan.name;
    return (
      <td key={plan.name} data-best={cell.best ? "" : undefined}>
        {cell.best && (
          <>
            <span aria-hidden="true">★ </span>
            <span className="dra-sr">best: </span>
          </>
        )}
        {cell.text}
        {line.key === "yaml" && (plan.diff ?? []).length > 0 && (
          <Button
            kind="link"
            aria-expanded={isOpen}
            aria-controls={isOpen ? panel : undefined}
            label={`Diff of ${plan.name}`}
            onClick={() => onDiff(isOpen ? "" : plan.name)}
          >
            diff
          </Button>
        )}
      </td>
    );
  });
}
