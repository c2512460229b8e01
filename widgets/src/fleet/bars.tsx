// The nodes as bars, or groups of them: what is in use, planned, free and stranded of one kind of device.
import { useMemo, useState } from "react";
import type { PlanViewModel } from "../generated/models";
import { useChannel, useTrait } from "../plan/model";
import { Icon } from "../view/icon";
import { BarList, type BarRow, number, PARTS } from "./bar_list";
import { Choice } from "./choice";

const ORDERS: Readonly<Record<string, string>> = { name: "by name", worst: "worst first", free: "most free first" };
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
  if (order === "worst") return [...kept].sort((a, b) => b[7] - a[7] || b[6] - a[6]);
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
    <section className="dra-fleet-bars" aria-label={`${label} by ${place}`}>
      <div className="dra-fleet-head">
        <h3>
          {label} by {one}
        </h3>
        <Choice name="Devices" values={kinds} now={kind} onChoose={(value) => channel.set({ fleet_kind: value })} />
        <Choice
          name="Rows"
          values={groupings}
          now={by}
          onChoose={(value) => channel.set({ fleet_by: value, fleet_chosen: "" } as Partial<PlanViewModel>)}
        />
      </div>
      <div className="dra-fleet-filters">
        <input
          className="dra-field"
          type="search"
          placeholder={`Find ${place}`}
          aria-label={`Find ${place}`}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        {FILTERS.map(([key, text]) => (
          <button
            key={key}
            type="button"
            className={`dra-button${only.has(key) ? " is-on" : ""}`}
            aria-pressed={only.has(key)}
            onClick={() => turn(key)}
          >
            {text}
          </button>
        ))}
        {filters.map(({ name, values = [] }) => (
          <FilterChoice
            key={name}
            name={name}
            values={values}
            onChoose={(value) => filterBy([...chosenFilters, `${name}:${value}`])}
          />
        ))}
        <select
          className="dra-button"
          aria-label="Order"
          value={order}
          onChange={(event) => setOrder(event.currentTarget.value)}
        >
          {Object.entries(ORDERS).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </select>
        <span className="dra-dim" role="status">
          {shown.length === rows.length ? "" : `${number(shown.length)} of ${number(rows.length)} rows`}
        </span>
      </div>
      {chosenFilters.length > 0 && (
        <ul className="dra-fleet-chips" aria-label="Filters">
          {chosenFilters.map((text) => (
            <li key={text}>
              <span>{text.replace(":", ": ")}</span>
              <button
                type="button"
                className="dra-quiet"
                aria-label={`Remove the filter ${text.replace(":", ": ")}`}
                onClick={() => filterBy(chosenFilters.filter((other) => other !== text))}
              >
                <Icon name="cross" />
              </button>
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

/** A filter with its values; choosing one adds it to the chips. */
function FilterChoice({
  name,
  values,
  onChoose,
}: {
  name: string;
  values: readonly (readonly [string, number])[];
  onChoose(value: string): void;
}) {
  return (
    <select
      className="dra-button dra-fleet-filter"
      aria-label={`Filter by ${name}`}
      value=""
      onChange={(event) => event.currentTarget.value && onChoose(event.currentTarget.value)}
    >
      <option value="">{name}</option>
      {values.map(([value, nodes]) => (
        <option key={value} value={value}>{`${value} (${number(nodes)})`}</option>
      ))}
    </select>
  );
}

/** What the columns of the bars are; each bar says it in words as well. */
function Heads({ isGrouped, place, label }: { isGrouped: boolean; place: string; label: string }) {
  return (
    <div className={`dra-fleet-columns${isGrouped ? " is-grouped" : ""}`} aria-hidden="true">
      <div className="dra-fleet-heads">
        <span>{place}</span>
        {isGrouped && <span>state</span>}
        {isGrouped && <span className="dra-fleet-number">nodes</span>}
        <span>{label}</span>
        {isGrouped ? <span className="dra-fleet-number">stranded</span> : <span>pods</span>}
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
    <p className="dra-fleet-legend" aria-hidden="true">
      {PARTS.slice(0, 4).map(([key, text]) => (
        <span key={key}>
          <span className="dra-fleet-swatch" data-part={key} />
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
