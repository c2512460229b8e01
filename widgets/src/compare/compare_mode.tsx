// Compare mode: up to four kept plans as columns, what differs, a small picture of each, and the diff of their YAML.

import { useId, useState } from "react";
import { Button, CopyButton } from "../components/button";
import { Bar, PaneProblem, Working } from "../components/content";
import { EditableName, Ticks } from "../components/inputs";
import { Term } from "../components/popover";
import { DiffLines } from "../export/sheet";
import type { ChipRow, ComparedPlan, CompareRow, ComparisonRow, PlaceRow } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { keyed, saveText } from "../view/text";

// A small picture of a kept plan's node: its PCIe roots with GPUs and NICs, and which of them the plan takes.
function Places({ plan }: { plan: ComparedPlan }) {
  const places = plan.places ?? [];
  if (plan.bars?.length) return <FleetBars bars={plan.bars} />;
  if (!places.length)
    return (
      <span className="dra-dim">
        {plan.node
          ? plan.elsewhere
            ? "Kept from another snapshot, which is not loaded."
            : "This node is not loaded."
          : "Does not fit."}
      </span>
    );
  const nodes = new Map<string, PlaceRow[]>();
  for (const place of places) nodes.set(place.numa, [...(nodes.get(place.numa) ?? []), place]);
  return (
    <div className="dra-stack" role="img" aria-label={inWords(plan)}>
      {[...nodes].map(([numa, roots]) => (
        <div key={numa} className="dra-card dra-place-numa">
          <b>{numa ? `NUMA node ${numa}` : "NUMA node not known"}</b>
          <div className="dra-grid dra-place-roots">
            {roots.map((place) => (
              <div key={place.root} className="dra-place-root">
                <span className="dra-dim">{place.root || "root not known"}</span>
                <div className="dra-row">
                  {keyed(place.chips, (chip) => chip.name).map(([key, chip]) => (
                    <Device key={key} chip={chip} />
                  ))}
                </div>
              </div>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}

const PARTS = ["used", "planned", "free", "stranded", "blocked"] as const;
const WORDS = ["in use", "planned", "free", "stranded", "not available"] as const;

/** The devices of a kept fleet, a bar for each kind. */
function FleetBars({ bars }: { bars: NonNullable<ComparedPlan["bars"]> }) {
  return (
    <div className="dra-stack">
      {bars.map(([kind, ...values]) => {
        const said = values.flatMap((value, at) => (value ? [`${value.toLocaleString("en")} ${WORDS[at]}`] : []));
        return (
          <div key={kind}>
            <b>{kind}</b> <span className="dra-dim">{said.join(", ")}</span>
            <Bar parts={PARTS.map((part, at) => ({ key: part, part, size: values[at] ?? 0 }))} />
          </div>
        );
      })}
    </div>
  );
}

const COLOUR = /^#[0-9a-f]{3,8}$/i;

function Device({ chip }: { chip: ChipRow }) {
  const { letter = "", colour = "", textColour = "" } = chip;
  const isTaken = letter !== "" && COLOUR.test(colour) && COLOUR.test(textColour);
  return (
    <span
      className="dra-device"
      data-kind={chip.kind}
      data-state={isTaken ? "allocated" : chip.state}
      style={isTaken ? { background: colour, color: textColour } : undefined}
      title={`${chip.name}: ${isTaken ? `allocated for ${letter}` : chip.state}`}
    >
      {isTaken && <b>{letter} </b>}
      {chip.name}
    </span>
  );
}

function inWords(plan: ComparedPlan): string {
  const taken = (plan.places ?? []).flatMap((place) => place.chips.filter((chip) => chip.letter));
  const words = taken.map((chip) => `${chip.letter} ${chip.name}`).join(", ");
  return `Devices of ${plan.name} on ${plan.node ?? ""}: ${words || "none"}`;
}

/** What chips and bars mean: pattern and frame tell the states apart, not their colour alone. */
function PlacesLegend({ plans }: { plans: readonly ComparedPlan[] }) {
  const [hasBars, hasChips] = [plans.some((plan) => plan.bars?.length), plans.some((plan) => plan.places?.length)];
  return (
    <ul className="dra-stack dra-legend">
      {hasChips &&
        LEGEND.map(([state, words, letter]) => (
          <li key={state}>
            <span className="dra-device" data-state={state}>
              <b>{letter}</b>
            </span>
            {words}
          </li>
        ))}
      {hasBars &&
        PARTS.map((part, at) => (
          <li key={part}>
            <span className="dra-swatch dra-fleet-swatch" data-part={part} />
            {WORDS[at]}
          </li>
        ))}
    </ul>
  );
}

const LEGEND = [
  ["allocated", "allocated", "A"],
  ["free", "free", ""],
  ["in use", "in use", ""],
  ["not eligible", "does not match", ""],
] as const;

// The head of a kept plan's column: its name, which can be changed, and the button that removes it.
const NOTES = { now: "what the screen shows", baseline: "without the what-if changes" };

function ColumnHead({ plan }: { plan: ComparedPlan }) {
  const channel = useChannel();
  if (plan.kind && plan.kind !== "kept")
    return (
      <th scope="col" title={plan.sentence}>
        {plan.kind} <span className="dra-dim">{NOTES[plan.kind]}</span>
      </th>
    );
  return (
    <th scope="col">
      <div className="dra-row is-tight">
        <EditableName
          name={plan.name}
          title={plan.sentence}
          onRename={(to) => channel.send({ type: "rename-kept", name: plan.name, to })}
        />
        <Button
          kind="quiet"
          icon="cross"
          label={`Remove ${plan.name}`}
          send={{ type: "remove-kept", name: plan.name }}
        />
      </div>
      {plan.drawn && <span className="dra-dim">the drawing now</span>}
    </th>
  );
}

/** Whether a row is said once above the columns: what was asked, if it is the same for all. */
const isAbove = (line: ComparisonRow): boolean => ASKED.includes(line.key) && !line.differs;
const ASKED = ["cluster", "release", "node"];

export function CompareMode() {
  const row = useTrait("compare");
  const plans = row.plans ?? [];
  const asked = (row.lines ?? []).filter((line) => isAbove(line));
  return (
    <section className="dra-mode-pane dra-compare dra-column" aria-label="Compare">
      <header className="dra-row dra-head">
        <div>
          <p className="dra-dim">
            {plans.length > 1 && `${plans.length} plans. ≠ marks a row that differs, ★ the best value of a row.`}
            {asked.map((line) => ` ${line.label}: ${line.cells[0]?.text}.`)}
          </p>
          <h2 role="status">{row.sentence}</h2>
        </div>
        {row.stage && <Working words={row.stage} />}
        {plans.length > 0 && (
          <>
            <CopyButton text={() => row.markdown ?? ""}>Copy as Markdown</CopyButton>
            <CopyButton text={() => row.csv ?? ""}>Copy as CSV</CopyButton>
            <Button onClick={() => saveText("comparison.csv", row.csv ?? "")}>Download CSV</Button>
          </>
        )}
        <Button kind="primary" data-key="keep" send={{ type: "keep-for-compare" }}>
          Keep this plan
        </Button>
      </header>
      <PaneProblem />
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
      <Ticks
        rows={every.map((name) => {
          const chosen = shown.includes(name);
          return { name, chosen, isOff: chosen ? shown.length === 1 : isFull };
        })}
        onSet={(names) => channel.send({ type: "choose-kept", names })}
      />
    </fieldset>
  );
}

function Columns({ row, plans }: { row: CompareRow; plans: readonly ComparedPlan[] }) {
  const [shown, setShown] = useState("");
  const id = useId();
  const diff = plans.find((plan) => plan.name === shown)?.diff ?? [];
  return (
    <div className="dra-pane" role="region" aria-label="Kept plans" tabIndex={0}>
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
                  <Term title={line.label} text={row.meanings?.[line.key] ?? ""} />
                  {line.differs && <span className="dra-sr"> (differs)</span>}
                </th>
                {line.cells.map((cell, at) => {
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
                          aria-controls={isOpen ? id : undefined}
                          label={`Diff of ${plan.name}`}
                          onClick={() => setShown(isOpen ? "" : plan.name)}
                        >
                          diff
                        </Button>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          <tr>
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
                  <Button send={{ type: "restore-kept", name: plan.name }}>Make this the drawing</Button>
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
          <div className="dra-diff dra-pane">
            <DiffLines lines={diff} />
          </div>
        </section>
      )}
    </div>
  );
}
