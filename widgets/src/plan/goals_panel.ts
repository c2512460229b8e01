// The goals in their order: best, its proof, and kube-scheduler beside it.
import type { GoalRow, PlanViewModel } from "../generated/models";
import { h, icon } from "../view/dom";
import type { Sync } from "../view/sync";

const COLUMNS = ["Goal", "Best", "Proof", "kube-scheduler with this manifest", "kube-scheduler without links", "Difference"] as const;

export function goalsPanel(sync: Sync<PlanViewModel>): HTMLElement {
  const root = h("div.dra-scroll", { tabindex: 0, role: "region", "aria-label": "Goals" });
  sync.watch(["goals"], () => {
    const goals = sync.get("goals");
    root.replaceChildren(goals.length ? table(goals) : h("p.dra-nothing", {}, "Goals are told when the drawing fits."));
  });
  return root;
}

function table(goals: readonly GoalRow[]): HTMLElement {
  return h(
    "table.dra-goals",
    {},
    h("caption.dra-hint", {}, "Most important first; lower is better. Each goal is proven with those above it kept."),
    h("thead", {}, h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...goals.map(row)),
  );
}

function row(goal: GoalRow): HTMLElement {
  const worse = (text: string | undefined) => (text && /^\d+$/.test(text) && Number(text) > goal.best ? "warn" : "plain");
  const unknown = goal.unknown ? h("small", {}, ` ${goal.unknown} of unknown place`) : null;
  const proof = goal.proven
    ? h("span.dra-proof", { "data-tone": "ok" }, icon("check"), "proven")
    : h("span.dra-proof", { "data-tone": "warn" }, goal.bound === null || goal.bound === undefined ? "not proven" : `not proven, bound ${goal.bound}`);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, goal.label),
    h("td.dra-number", {}, h("b", {}, String(goal.best)), unknown),
    h("td", {}, proof),
    h("td.dra-number", { "data-tone": worse(goal.manifest) }, goal.manifest || "not asked"),
    h("td.dra-number", { "data-tone": worse(goal.plain) }, goal.plain || "not asked"),
    h("td", {}, goal.better || "as good"),
  );
}
