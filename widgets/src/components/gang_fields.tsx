// The fields of a gang, on the canvas and in Fleet: its size, its level, and what all its pods have the same of.

import type { GangRow, LevelRow } from "../generated/models";
import { Chip } from "./content";
import type { FieldRow } from "./form";
import { Select } from "./inputs";

/** What the answer chose, and how a manifest says it. */
const NOTE = "A constraint of Kubernetes is within one claim, so the export writes the chosen values as selectors.";

/** The row of a form: an attribute can be removed, and others added. */
export function sameField(gang: GangRow, onSet: (same: string[]) => void, readOnly = false): FieldRow {
  const { same = [], sames = [], values = "" } = gang;
  const rows = new Map(sames.map((row) => [row.name, row]));
  const others = sames.filter((row) => !same.includes(row.name));
  return {
    kind: "none",
    label: "Same in all pods",
    note: [values && `The plan uses the ${values}.`, same.length > 0 && NOTE].filter(Boolean).join(" "),
    more: (
      <>
        {same.map((name) => (
          <Chip
            key={name}
            title={rows.get(name)?.reason}
            removal={`Allow other values of ${name}`}
            onRemove={readOnly ? undefined : () => onSet(same.filter((one) => one !== name))}
          >
            {rows.get(name)?.label ?? name}
          </Chip>
        ))}
        {!readOnly && others.length > 0 && (
          <Select
            label="Attribute with the same values in all pods"
            value=""
            options={[
              { value: "", label: same.length ? "And …" : "nothing", isOff: same.length > 0 },
              ...others.map(({ name, label, reason }) => ({
                value: name,
                label: reason ? `${label} (${reason})` : label,
                isOff: Boolean(reason),
              })),
            ]}
            onChoose={(name) => name && onSet([...same, name])}
          />
        )}
      </>
    ),
  };
}

type Change = (by: Partial<GangRow>) => void;

/** How many pods start together; `of` names the workload where there are several. */
export function sizeFields({ size = 1, min = 0 }: GangRow, change: Change, of = ""): readonly FieldRow[] {
  const named = of && ` of ${of}`;
  return [
    {
      kind: "count",
      label: of ? "Pods of one gang" : "Pods",
      group: "Pods that start together",
      name: of ? `pods of one gang${named}` : "Pods",
      value: String(size),
      least: 1,
      onSet: (value) => change({ size: Number(value) }),
    },
    {
      kind: "count",
      label: "At least",
      group: "Pods that a gang needs",
      name: of ? `pods that ${of} needs to start` : "At least",
      note: of ? undefined : "The gang starts with these pods or not at all.",
      value: String(min || size),
      least: 1,
      onSet: (value) => change({ min: Math.min(size, Number(value)) }),
    },
  ];
}

export const keyOf = (row: LevelRow) => `${row.hierarchy ?? ""}/${row.level ?? ""}`;

/** The level that a gang has now. */
export const levelOf = ({ levels = [], level = "", hierarchy = "" }: GangRow): LevelRow | undefined =>
  levels.find((row) => row.level === level && (!level || !row.hierarchy || row.hierarchy === hierarchy));

/** What changes with another level: one of another hierarchy has no preferred level of the one before. */
export function toLevel({ hierarchy = "", prefer = "" }: GangRow, row: LevelRow | undefined): Partial<GangRow> {
  const keeps = !row?.hierarchy || row.hierarchy === hierarchy;
  const own = row?.hierarchy || (prefer ? hierarchy : "");
  return { level: row?.level ?? "", hierarchy: own, prefer: keeps ? prefer : "" };
}

/** A gang as it is sent, with what is changed of it. */
export function changedGang(gang: GangRow, by: Partial<GangRow>) {
  const { size = 1, min = 0, level = "", hierarchy = "", prefer = "", queue = "", same = [] } = { ...gang, ...by };
  return { size, min: min >= size ? 0 : min, level, hierarchy, preferLevel: prefer, queue, same };
}
