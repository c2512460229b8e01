// The head of a kept plan's column: its name, which can be changed, and the button that removes it.

import { type KeyboardEvent, useState } from "react";
import { Button } from "../components/button";
import type { ComparedPlan } from "../generated/models";
import { useChannel } from "../plan/model";

const NOTES = { now: "what the screen shows", baseline: "without the what-if changes" };

export function ColumnHead({ plan }: { plan: ComparedPlan }) {
  const channel = useChannel();
  const [isEdited, setEdited] = useState(false);
  const rename = (to: string) => {
    setEdited(false);
    if (to.trim() !== plan.name) channel.send({ type: "rename-kept", name: plan.name, to: to.trim() });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter") rename(event.currentTarget.value);
    else if (event.key === "Escape") setEdited(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (plan.kind && plan.kind !== "kept")
    return (
      <th scope="col" title={plan.sentence}>
        {plan.kind} <span className="dra-dim">{NOTES[plan.kind]}</span>
      </th>
    );
  return (
    <th scope="col">
      <div className="dra-row">
        {isEdited ? (
          <input
            className="dra-input"
            aria-label={`New name of ${plan.name}`}
            defaultValue={plan.name}
            // biome-ignore lint/a11y/noAutofocus: a person has just asked to type here
            autoFocus
            onBlur={(event) => rename(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        ) : (
          <Button
            kind="bare"
            className="dra-compare-name"
            title={`${plan.sentence} Click to rename.`}
            onClick={() => setEdited(true)}
          >
            {plan.name}
            <span className="dra-sr"> (rename)</span>
          </Button>
        )}
        <Button
          kind="quiet"
          icon="cross"
          label={`Remove ${plan.name}`}
          onClick={() => channel.send({ type: "remove-kept", name: plan.name })}
        />
      </div>
      {plan.drawn && <span className="dra-dim dra-now">the drawing now</span>}
    </th>
  );
}
