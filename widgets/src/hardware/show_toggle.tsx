// Which allocation the picture shows.
import { useId } from "react";
import type { HardwareViewModel } from "../generated/models";
import { useChannel, useTrait } from "./model";

const SHOWN: readonly (readonly [HardwareViewModel["show"], string, string])[] = [
  ["best", "Best", "The best allocation"],
  ["scheduler", "Scheduler", "What kube-scheduler allocates with this manifest"],
  ["plain", "Scheduler, no links", "What kube-scheduler allocates with counts and selectors only"],
  ["both", "Difference", "The best allocation and kube-scheduler's over each other"],
];

/** What is drawn: the arrows choose, as in any group of radio buttons. */
export function ShowToggle() {
  const channel = useChannel();
  const [now, name] = [useTrait("show"), useId()];
  return (
    <fieldset className="dra-toggle">
      <legend className="dra-sr">Shown on the picture</legend>
      {SHOWN.map(([value, label, title]) => (
        <label key={value} title={title}>
          <input
            type="radio"
            name={name}
            value={value}
            checked={value === now}
            onChange={() => channel.set({ show: value })}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
