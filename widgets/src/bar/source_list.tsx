// The clusters that can be chosen, in groups: one tab stop, arrows move, Enter takes.
import { type KeyboardEvent, type RefObject, useMemo } from "react";
import { classes } from "../components/classes";
import type { SourceRow } from "../generated/models";
import { onArrows } from "../view/keys";
import { useTrait } from "./model";
import { recentClusters } from "./recent";

/** A context of EKS or GKE is named by a whole path: there is no room to say it twice. */
const isLong = (source: SourceRow) => source.label.length > 24 && source.value.endsWith(source.label);
const onOptionArrows = onArrows('[role="option"]');

export function SourceList({
  list,
  opened,
  onTake,
}: {
  list: RefObject<HTMLUListElement | null>;
  /** How often the list was opened. */
  opened: number;
  onTake(value: string): void;
}) {
  const [known, now] = [useTrait("sources"), useTrait("source")];
  // biome-ignore lint/correctness/useExhaustiveDependencies: other clusters were opened since the list was
  const sources = useMemo(() => withRecent(known), [known, opened]);
  const first = sources.find((source) => source.value === now) ?? sources[0];
  const onKeyDown = (event: KeyboardEvent<HTMLUListElement>) => {
    if (event.key !== "Enter" && event.key !== " ") return onOptionArrows(event);
    event.preventDefault();
    const value = document.activeElement?.getAttribute("data-value");
    if (value) onTake(value);
  };
  const rows = useMemo(
    () =>
      sources.flatMap((source, i) => {
        const isHead = source.group && source.group !== sources[i - 1]?.group;
        const head = isHead ? [<Group key={`group ${source.group}`} name={source.group ?? ""} />] : [];
        const isTabStop = source === first;
        return [...head, <Option key={source.value} {...{ source, now, isTabStop, onTake }} />];
      }),
    [sources, now, first, onTake],
  );
  return (
    <ul ref={list} className="dra-options" role="listbox" aria-label="Clusters" tabIndex={-1} onKeyDown={onKeyDown}>
      {rows}
    </ul>
  );
}

/** Put the clusters that were opened last after the present one, without those that the list has anyway. */
function withRecent(sources: readonly SourceRow[]): readonly SourceRow[] {
  const listed = new Set(sources.map((source) => source.value));
  const recent = recentClusters().filter((value) => !listed.has(value));
  const rows = recent.map((value) => ({ value, label: value, group: "Recent clusters" }));
  const at = sources.filter((source) => source.group === "Open now").length;
  return [...sources.slice(0, at), ...rows, ...sources.slice(at)];
}

function Group({ name }: { name: string }) {
  return (
    <li className="dra-group dra-hint" role="presentation">
      {name}
    </li>
  );
}

interface OptionProps {
  source: SourceRow;
  now: string;
  isTabStop: boolean;
  onTake(value: string): void;
}

function Option({ source, now, isTabStop, onTake }: OptionProps) {
  return (
    <li
      className={classes("dra-option", source.example && "is-example")}
      role="option"
      tabIndex={isTabStop ? 0 : -1}
      aria-selected={source.value === now}
      data-value={source.value}
      data-key={source.value}
      onClick={() => onTake(source.value)}
    >
      <b>{source.example ? `Example: ${source.label}` : source.label}</b>
      <code>{source.value === source.label || source.example || isLong(source) ? "" : source.value}</code>
      {source.detail && <small>{source.detail}</small>}
    </li>
  );
}
