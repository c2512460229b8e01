// The nodes as bars, or groups of them: what is in use, planned, free and stranded of one kind of device.

import { useMemo, useState } from "react";
import { Button } from "../components/button";
import { Chip } from "../components/chip";
import { Choice, optionsOf } from "../components/choice";
import { classes } from "../components/classes";
import { Search, Select } from "../components/inputs";
import type { PlanViewModel } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { BarList, type BarRow, number, PARTS } from "./bar_list";

const ORDERS = optionsOf([
  ["name", "by name"],
  ["worst", "worst first"],
  ["free", "most free first"],
]);
const FILTERS = [
  ["stranded", "stranded > 0", 7],
  ["free", "free > 0", 6],
  ["planned", "with pods", 5],
] as const;

/** Return the rows of a filter, in an order; the order of Python is by name for nodes, and worst first for groups. */
export function arranged(
  rows: readonly BarRow[],
  words: string,
  only: ReadonlySet<string>,
  order: string,
): readonly BarRow[] {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = rows.filter(
    (row) =>
      asked.every((word) => `${row[1]}\n${row[2]}\n${row[9]}`.toLowerCase().includes(word)) &&
      FILTERS.every(([key, , at]) => !only.has(key) || row[at] > 0),
  );
  if (order === "worst") return [...kept].sort((a, b) => b[7] - a[7] || a[6] - b[6]);
  if (order === "free") return [...kept].sort((a, b) => b[6] + b[7] - a[6] - a[7]);
  if (order === "name") {
    const collator = new Intl.Collator("en", { numeric: true });
    return [...kept].sort((a, b) => collator.compare(a[1], b[1]));
  }
  return kept;
}

export function Bars() {
  const channel = useChannel();
  const {
    kind = "",
    by = "nodes",
    kinds = [],
    groupings = [],
    rows = [],
    filters = [],
    note = "",
    many = false,
  } = useTrait("fleet_bars");
  const chosenFilters = useTrait("fleet_filters");
  const [words, setWords] = useState("");
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set());
  const [chosenOrder, setOrder] = useState("");
  const order = chosenOrder || (by === "nodes" && !many ? "name" : "worst");
  const shown = useMemo(() => arranged(rows, words, only, order), [rows, words, only, order]);
  const label = kinds.find(([key]) => key === kind)?.[1] ?? "Devices";
  const place = groupings.find(([key]) => key === by)?.[1] ?? "";
  const one = place.replace(/(?<=ch)es$|s$/, "");
  const filterBy = (found: readonly string[]) => channel.set({ fleet_filters: [...new Set(found)] });
  const turn = (key: string) =>
    setOnly((now) => {
      const next = new Set(now);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  if (!kinds.length) return <p className="dra-nothing">{note || "Planning …"}</p>;
  return (
    <section className="dra-stack dra-fleet-bars" aria-label={`${label} by ${place}`}>
      <div className="dra-row dra-heading">
        <h3>
          {label} by {one}
        </h3>
        <Choice
          label="Devices"
          options={optionsOf(kinds)}
          value={kind}
          onChoose={(value) => channel.set({ fleet_kind: value })}
        />
        <Choice
          label="Rows"
          options={optionsOf(groupings)}
          value={by}
          onChoose={(value) => channel.set({ fleet_by: value, fleet_chosen: "" } as Partial<PlanViewModel>)}
        />
      </div>
      <div className="dra-row">
        <Search label={`Find ${place}`} value={words} onChange={setWords} />
        {FILTERS.map(([key, text]) => (
          <Button key={key} pressed={only.has(key)} onClick={() => turn(key)}>
            {text}
          </Button>
        ))}
        {filters.map(({ name, values = [] }) => (
          <Select
            key={name}
            className="dra-fleet-filter"
            label={`Filter by ${name}`}
            value=""
            options={[["", name], ...values.map(([value, nodes]) => [value, `${value} (${number(nodes)})`])].map(
              ([value = "", label]) => ({ value, label }),
            )}
            onChoose={(value) => value && filterBy([...chosenFilters, `${name}:${value}`])}
          />
        ))}
        <Select label="Order" value={order} options={ORDERS} onChoose={setOrder} />
        <span className="dra-dim" role="status">
          {shown.length === rows.length ? "" : `${number(shown.length)} of ${number(rows.length)} rows`}
        </span>
      </div>
      {chosenFilters.length > 0 && (
        <ul className="dra-row" aria-label="Filters">
          {chosenFilters.map((text) => (
            <li key={text}>
              <Chip
                className="is-on"
                removal={`Remove the filter ${text.replace(":", ": ")}`}
                onRemove={() => filterBy(chosenFilters.filter((other) => other !== text))}
              >
                {text.replace(":", ": ")}
              </Chip>
            </li>
          ))}
        </ul>
      )}
      {shown.length ? (
        <>
          <Heads isGrouped={by !== "nodes"} place={one} label={label} />
          <BarList rows={shown} isGrouped={by !== "nodes"} label={`${label} by ${place}`} />
        </>
      ) : (
        <p className="dra-nothing">No {one} passes the filters. Remove one of them.</p>
      )}
      <Total rows={shown} label={label} />
      <Legend />
    </section>
  );
}

/** What the columns of the bars are; each bar says it in words as well. */
function Heads({ isGrouped, place, label }: { isGrouped: boolean; place: string; label: string }) {
  return (
    <div className={classes("dra-fleet-columns", isGrouped && "is-grouped")} aria-hidden="true">
      <div className="dra-fleet-heads dra-dim">
        <span>{place}</span>
        {isGrouped && <span>state</span>}
        {isGrouped && <span className="dra-number">nodes</span>}
        <span>{label}</span>
        {isGrouped ? <span className="dra-number">stranded</span> : <span>pods</span>}
      </div>
    </div>
  );
}

function Total({ rows, label }: { rows: readonly BarRow[]; label: string }) {
  const sums = PARTS.map((_, at) => rows.reduce((sum, row) => sum + (row[at + 4] as number), 0));
  const nodes = rows.reduce((sum, row) => sum + row[3], 0);
  const parts = PARTS.flatMap(([, text], at) =>
    sums[at] ? [`${number(Math.round((sums[at] ?? 0) * 10) / 10)} ${text}`] : [],
  );
  const total = number(Math.round(sums.reduce((sum, value) => sum + value, 0) * 10) / 10);
  return (
    <p className="dra-fleet-total">
      <b>{number(nodes)} nodes:</b> {parts.join(" + ")} = {total} {label}
    </p>
  );
}

function Legend() {
  return (
    <p className="dra-row dra-legend" aria-hidden="true">
      {PARTS.slice(0, 4).map(([key, text]) => (
        <span key={key}>
          <span className="dra-swatch dra-fleet-swatch" data-part={key} />
          {key === "free"
            ? "free and usable"
            : key === "stranded"
              ? "stranded: free, but no pod here can use it"
              : text}
        </span>
      ))}
    </p>
  );
}
