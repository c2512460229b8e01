// The goals in their order: best, its proof, and kube-scheduler beside it. All but the first two can be moved.
import { type KeyboardEvent, useState } from "react";
import type { GoalRow } from "../generated/models";
import { Icon } from "../view/icon";
import { useChannel, useTrait } from "./model";

const COLUMNS = [
  "Order",
  "Goal",
  "Best",
  "Proof",
  "kube-scheduler with this manifest",
  "kube-scheduler without links",
  "Difference",
] as const;
type Order = (goal: string, step: number) => void;

export function GoalsPanel() {
  const channel = useChannel();
  const [goals, isChanged] = [useTrait("goals"), useTrait("goals_changed")];
  const [told, setTold] = useState("");
  const movable = goals.filter((goal) => goal.movable !== false);
  const order: Order = (goal, step) => {
    const names = movable.map((one) => one.goal);
    const from = names.indexOf(goal);
    const to = from + step;
    if (from < 0 || to < 0 || to >= names.length) return;
    names.splice(to, 0, ...names.splice(from, 1));
    const label = movable[from]?.label ?? goal;
    setTold(`${label}: now ${to + 1} of the ${names.length} goals that can be moved`);
    channel.send({ type: "order-goals", goals: names });
  };
  const reset = () => {
    setTold("The goals are in their usual order");
    channel.send({ type: "order-goals", goals: [] });
  };
  return (
    <div className="dra-scroll" tabIndex={0} role="region" aria-label="Goals">
      <div>
        {goals.length ? (
          <GoalTable goals={goals} movable={movable} onOrder={order} />
        ) : (
          <p className="dra-nothing">Goals are told when the drawing fits.</p>
        )}
        {goals.length > 0 && isChanged && (
          <p>
            This order is yours, and is kept with the drawing.{" "}
            <button type="button" className="dra-button" data-key="reset" onClick={reset}>
              Usual order
            </button>
          </p>
        )}
        <Regret />
      </div>
      <span className="dra-sr" role="status">
        {told}
      </span>
    </div>
  );
}

interface TableProps {
  goals: readonly GoalRow[];
  movable: readonly GoalRow[];
  onOrder: Order;
}

function GoalTable({ goals, movable, onOrder }: TableProps) {
  return (
    <table className="dra-goals">
      <caption className="dra-hint">
        Most important first; lower is better. Each goal is proven with those above it kept.
      </caption>
      <thead>
        <tr>
          {COLUMNS.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {goals.map((goal) => (
          <Goal key={goal.goal} goal={goal} place={movable.indexOf(goal)} count={movable.length} onOrder={onOrder} />
        ))}
      </tbody>
    </table>
  );
}

function Goal({ goal, place, count, onOrder }: { goal: GoalRow; place: number; count: number; onOrder: Order }) {
  const tone = (text: string | undefined) =>
    text && /^\d+$/.test(text) && Number(text) > goal.best ? "warn" : "plain";
  return (
    <tr data-goal={goal.goal}>
      <td className="dra-order">
        {place < 0 ? (
          <span className="dra-hint">fixed</span>
        ) : (
          <>
            <Mover goal={goal} step={-1} isAble={place > 0} onOrder={onOrder} />
            <Mover goal={goal} step={1} isAble={place < count - 1} onOrder={onOrder} />
          </>
        )}
      </td>
      <th scope="row">{goal.label}</th>
      <td className="dra-number">
        <b>{goal.best}</b>
        {Boolean(goal.unknown) && <small> {goal.unknown} of unknown place</small>}
      </td>
      <td>
        <Proof goal={goal} />
      </td>
      <td className="dra-number" data-tone={tone(goal.manifest)}>
        {goal.manifest || "not asked"}
      </td>
      <td className="dra-number" data-tone={tone(goal.plain)}>
        {goal.plain || "not asked"}
      </td>
      <td>{goal.better || "as good"}</td>
    </tr>
  );
}

function Proof({ goal }: { goal: GoalRow }) {
  if (goal.proven) {
    return (
      <span className="dra-proof" data-tone="ok">
        <Icon name="check" />
        proven
      </span>
    );
  }
  const hasBound = goal.bound !== null && goal.bound !== undefined;
  return (
    <span className="dra-proof" data-tone="warn">
      {hasBound ? `not proven, bound ${goal.bound}, gap ${goal.best - (goal.bound ?? 0)}` : "not proven"}
    </span>
  );
}

/** A button that keeps its focus at the ends of the list, where it does nothing. */
function Mover({ goal, step, isAble, onOrder }: { goal: GoalRow; step: number; isAble: boolean; onOrder: Order }) {
  const words = step < 0 ? "up" : "down";
  const onKeyDown = (event: KeyboardEvent) => {
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (way === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onOrder(goal.goal, way);
  };
  return (
    <button
      type="button"
      className="dra-move"
      data-key={`${words}-${goal.goal}`}
      data-way={words}
      aria-disabled={isAble ? undefined : true}
      title={`Move ${words}`}
      aria-label={`Move ${words}: ${goal.label}`}
      onClick={() => onOrder(goal.goal, step)}
      onKeyDown={onKeyDown}
    >
      <Icon name="down" />
    </button>
  );
}

function Regret() {
  const { lines = [], sources = [] } = useTrait("regret");
  if (!lines.length) return null;
  return (
    <section className="dra-regret">
      <h3>Bandwidth from GPUs to NICs</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {sources.length > 0 && (
        <details>
          <summary>Where the ranges come from</summary>
          <ul>
            {sources.map((line) => (
              <li key={line} className="dra-hint">
                {line}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
