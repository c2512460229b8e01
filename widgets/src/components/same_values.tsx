// The attributes of which all pods of a gang use the same values, such as rails: on the canvas and in Fleet.

import type { GangRow } from "../generated/models";
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
