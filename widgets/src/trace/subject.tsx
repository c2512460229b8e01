// Whether the gang is traced or one of its pods; nothing for a drawing that is no gang.
import { useId } from "react";
import { useChannel, useTrait } from "../hardware/model";

export function Subject() {
  const channel = useChannel();
  const [{ name }, isGang, group] = [useTrait("gang_trace"), useTrait("gang_trace_shown"), useId()];
  if (!name) return null;
  const choices: readonly (readonly [boolean, string, string])[] = [
    [true, "Gang", "The domains and nodes that a scheduler chooses for the gang"],
    [false, "One pod", "kube-scheduler's search for the devices of one pod"],
  ];
  return (
    <fieldset className="dra-toggle dra-trace-subject">
      <legend className="dra-sr">What is traced</legend>
      {choices.map(([value, label, title]) => (
        <label key={label} title={title}>
          <input
            type="radio"
            name={group}
            value={label}
            checked={value === isGang}
            onChange={() => channel.set({ gang_trace_shown: value })}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
