// The goals in their order: best, its proof, and kube-scheduler beside it. All but the first two can be moved.
import type { GoalRow, PlanViewModel } from "../generated/models";
import { h, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

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

export function goalsPanel(sync: Sync<PlanViewModel>): HTMLElement {
  const told = h("span.dra-sr", { role: "status" });
  const content = h("div");
  const root = h("div.dra-scroll", { tabindex: 0, role: "region", "aria-label": "Goals" }, content, told);
  const order: Order = (goal, step) => {
    const movable = sync
      .get("goals")
      .filter((one) => one.movable !== false)
      .map((one) => one.goal);
    const [from, to] = [movable.indexOf(goal), movable.indexOf(goal) + step];
    if (from < 0 || to < 0 || to >= movable.length) return;
    movable.splice(to, 0, ...movable.splice(from, 1));
    const label = sync.get("goals").find((one) => one.goal === goal)?.label ?? goal;
    told.textContent = `${label}: now ${to + 1} of the ${movable.length} goals that can be moved`;
    sync.send({ type: "order-goals", goals: movable });
  };
  const reset = () => {
    told.textContent = "The goals are in their usual order";
    sync.send({ type: "order-goals", goals: [] });
  };
  sync.watch(["goals", "goals_changed", "regret"], () => {
    const goals = sync.get("goals");
    refill(
      content,
      goals.length ? table(goals, order) : h("p.dra-nothing", {}, "Goals are told when the drawing fits."),
      goals.length && sync.get("goals_changed")
        ? h(
            "p",
            {},
            "This order is yours, and is kept with the drawing. ",
            h("button.dra-button", { type: "button", "data-key": "reset", onclick: reset }, "Usual order"),
          )
        : null,
      regret(sync.get("regret")),
    );
  });
  return root;
}

function table(goals: readonly GoalRow[], order: Order): HTMLElement {
  const movable = goals.filter((goal) => goal.movable !== false);
  const row = (goal: GoalRow) => goalRow(goal, movable.indexOf(goal), movable.length, order);
  return h(
    "table.dra-goals",
    {},
    h("caption.dra-hint", {}, "Most important first; lower is better. Each goal is proven with those above it kept."),
    h("thead", {}, h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...goals.map(row)),
  );
}

function goalRow(goal: GoalRow, place: number, count: number, order: Order): HTMLElement {
  const worse = (text: string | undefined) =>
    text && /^\d+$/.test(text) && Number(text) > goal.best ? "warn" : "plain";
  const unknown = goal.unknown ? h("small", {}, ` ${goal.unknown} of unknown place`) : null;
  const proof = goal.proven
    ? h("span.dra-proof", { "data-tone": "ok" }, icon("check"), "proven")
    : h(
        "span.dra-proof",
        { "data-tone": "warn" },
        goal.bound === null || goal.bound === undefined
          ? "not proven"
          : `not proven, bound ${goal.bound}, gap ${goal.best - goal.bound}`,
      );
  return h(
    "tr",
    { "data-goal": goal.goal },
    h(
      "td.dra-order",
      {},
      ...(place < 0
        ? [h("span.dra-hint", {}, "fixed")]
        : [mover(goal, -1, place > 0, order), mover(goal, 1, place < count - 1, order)]),
    ),
    h("th", { scope: "row" }, goal.label),
    h("td.dra-number", {}, h("b", {}, String(goal.best)), unknown),
    h("td", {}, proof),
    h("td.dra-number", { "data-tone": worse(goal.manifest) }, goal.manifest || "not asked"),
    h("td.dra-number", { "data-tone": worse(goal.plain) }, goal.plain || "not asked"),
    h("td", {}, goal.better || "as good"),
  );
}

/** A button that keeps its focus at the ends of the list, where it does nothing. */
function mover(goal: GoalRow, step: number, able: boolean, order: Order): HTMLElement {
  const words = step < 0 ? "up" : "down";
  const keys = (event: KeyboardEvent) => {
    const way = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (way === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    order(goal.goal, way);
  };
  return h(
    "button.dra-move",
    {
      type: "button",
      "data-key": `${words}-${goal.goal}`,
      "data-way": words,
      "aria-disabled": able ? null : "true",
      title: `Move ${words}`,
      "aria-label": `Move ${words}: ${goal.label}`,
      onclick: () => order(goal.goal, step),
      onkeydown: keys,
    },
    icon("down"),
  );
}

function regret(row: PlanViewModel["regret"]): HTMLElement | null {
  const [lines, sources] = [row.lines ?? [], row.sources ?? []];
  if (!lines.length) return null;
  return h(
    "section.dra-regret",
    {},
    h("h3", {}, "Bandwidth from GPUs to NICs"),
    h("ul", {}, ...lines.map((line) => h("li", {}, line))),
    sources.length
      ? h(
          "details",
          {},
          h("summary", {}, "Where the ranges come from"),
          h("ul", {}, ...sources.map((line) => h("li.dra-hint", {}, line))),
        )
      : null,
  );
}
