// Which allocation the picture shows.
import { Choice } from "../components/choice";
import { useChannel, useTrait } from "./model";

const SHOWN = [
  { value: "best", label: "Best", title: "The best allocation" },
  { value: "scheduler", label: "Scheduler", title: "What kube-scheduler allocates with this manifest" },
  {
    value: "plain",
    label: "Scheduler, no links",
    title: "What kube-scheduler allocates with counts and selectors only",
  },
  { value: "both", label: "Difference", title: "The best allocation and kube-scheduler's over each other" },
] as const;

export function ShowToggle() {
  const channel = useChannel();
  return (
    <Choice
      label="Shown on the picture"
      options={SHOWN}
      value={useTrait("show")}
      onChoose={(show) => channel.set({ show })}
    />
  );
}
