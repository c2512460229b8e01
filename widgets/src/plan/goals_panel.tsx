// The goals in their order: best, its proof, and kube-scheduler beside it. All but the first two can be moved.

import { type KeyboardEvent, useState } from "react";
import { Button, Icon } from "../components/button";
import { Points } from "../components/content";
import type { GoalRow } from "../generated/models";
import { stepOf } from "../view/keys";
import { useChannel, useTrait } from "./model";

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
    <div className="dra-pane" tabIndex={0} role="region" aria-label="Goals">
      <div>
        {goals.length ? (
          <>
            <p className="dra-hint">
              Most important first; lower is better. Each goal is proven with those above it kept.
            </p>
            <ol className="dra-grid dra-goals">
              {goals.map((goal) => (
                <Goal
                  key={goal.goal}
                  goal={goal}
                  place={movable.indexOf(goal)}
                  count={movable.length}
                  onOrder={order}
                />
              ))}
            </ol>
          </>
        ) : (
          <p className="dra-nothing">The goals are shown once the drawing fits.</p>
        )}
        {goals.length > 0 && isChanged && (
          <p>
            This order is yours, and is kept with the drawing.{" "}
            <Button data-key="reset" onClick={reset}>
              Usual order
            </Button>
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

function Goal({ goal, place, count, onOrder }: { goal: GoalRow; place: number; count: number; onOrder: Order }) {
  return (
    <li className="dra-card dra-goal" data-goal={goal.goal}>
      <div className="dra-goal-head">
        <h3>{goal.label}</h3>
        {place < 0 ? (
          <span className="dra-hint">fixed place</span>
        ) : (
          <span>
            <Mover goal={goal} step={-1} isAble={place > 0} onOrder={onOrder} />
            <Mover goal={goal} step={1} isAble={place < count - 1} onOrder={onOrder} />
          </span>
        )}
      </div>
      <p className="dra-goal-value">
        {goal.number && <b>{goal.number}</b>} {goal.caption} <Proof goal={goal} />
      </p>
      <p className="dra-hint">{goal.meaning}</p>
      <dl className="dra-ruled">
        <Reached words="kube-scheduler with this manifest" goal={goal} text={goal.manifest} />
        <Reached words="kube-scheduler without links" goal={goal} text={goal.plain} />
        <div>
          <dt>Difference</dt>
          <dd>{goal.better || "as good"}</dd>
        </div>
      </dl>
    </li>
  );
}

function Reached({ words, goal, text = "" }: { words: string; goal: GoalRow; text?: string }) {
  const isWorse = /^\d+$/.test(text) && Number(text) > goal.best;
  return (
    <div>
      <dt>{words}</dt>
      <dd className="dra-toned" data-tone={isWorse ? "warn" : "plain"}>
        {text || "not asked"}
      </dd>
    </div>
  );
}

function Proof({ goal }: { goal: GoalRow }) {
  const { best, bound = null, atBest = "" } = goal;
  const isProven = Boolean(goal.proven);
  const open = bound === null ? "not proven" : `not proven, at best ${atBest}, gap ${best - bound}`;
  return (
    <span className="dra-proof dra-toned" data-tone={isProven ? "ok" : "warn"}>
      <Icon name={isProven ? "check" : "warning"} />
      {isProven ? "proven" : open}
    </span>
  );
}

/** A button that keeps its focus at the ends of the list, where it does nothing. */
function Mover({ goal, step, isAble, onOrder }: { goal: GoalRow; step: number; isAble: boolean; onOrder: Order }) {
  const words = step < 0 ? "up" : "down";
  const onKeyDown = (event: KeyboardEvent) => {
    const way = /^Arrow(Up|Down)$/.test(event.key) ? stepOf(event.key) : undefined;
    if (way === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onOrder(goal.goal, way);
  };
  return (
    <Button
      kind="quiet"
      icon="down"
      className="dra-move"
      data-key={`${words}-${goal.goal}`}
      data-way={words}
      aria-disabled={isAble ? undefined : true}
      title={`Move ${words}`}
      label={`Move ${words}: ${goal.label}`}
      onClick={() => onOrder(goal.goal, step)}
      onKeyDown={onKeyDown}
    />
  );
}

function Regret() {
  const { lines = [], sources = [] } = useTrait("regret");
  if (!lines.length) return null;
  return (
    <section>
      <h3>Bandwidth from GPUs to NICs</h3>
      <Points lines={lines} />
      {sources.length > 0 && (
        <details>
          <summary>Where the ranges come from</summary>
          <Points lines={sources} className="dra-hint" />
        </details>
      )}
    </section>
  );
}
