// Why it does not fit, and what would help.
import type { PlanViewModel, ReasonRow, SuggestionRow } from "../generated/models";
import { h, icon } from "../view/dom";
import type { Sync } from "../view/sync";

export function reasonsPanel(sync: Sync<PlanViewModel>): HTMLElement {
  const root = h("div.dra-scroll", { tabindex: 0, role: "region", "aria-label": "Reasons" });
  sync.watch(["reasons", "suggestions"], () => {
    const [reasons, suggestions] = [sync.get("reasons"), sync.get("suggestions")];
    root.replaceChildren(
      reasons.length ? h("ul.dra-findings", {}, ...reasons.map(reason)) : h("p.dra-nothing", {}, "Nothing is in the way: the drawing fits, or nothing is drawn."),
      ...(suggestions.length ? [h("h3", {}, "What would help"), h("ul.dra-findings", {}, ...suggestions.map((one) => suggestion(one, sync)))] : []),
    );
  });
  return root;
}

function reason(row: ReasonRow): HTMLElement {
  return h(
    "li.dra-finding",
    { "data-severity": "error" },
    icon("cross"),
    h("div", {}, h("span.dra-severity", {}, row.rule), row.subject ? h("code", {}, row.subject) : null, h("p", {}, row.message), row.advice ? h("p.dra-advice", {}, row.advice) : null),
  );
}

function suggestion(row: SuggestionRow, sync: Sync<PlanViewModel>): HTMLElement {
  const apply = row.id ? h("button.dra-button", { type: "button", onclick: () => sync.send({ type: "apply-suggestion", id: row.id }) }, "Apply to the drawing") : null;
  return h(
    "li.dra-finding",
    { "data-severity": "note" },
    icon("note"),
    h("div", {}, h("p", {}, h("b", {}, row.title)), row.detail ? h("p.dra-detail", {}, row.detail) : null, row.source ? h("p.dra-origin", {}, row.source) : null, apply),
  );
}
