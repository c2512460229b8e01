// Why it does not fit, and what would help.
import type { FunnelRow, PlanViewModel, ReasonRow, SuggestionRow } from "../generated/models";
import { h, icon } from "../view/dom";
import type { Sync } from "../view/sync";

export function reasonsPanel(sync: Sync<PlanViewModel>): HTMLElement {
  const root = h("div.dra-scroll", { tabindex: 0, role: "region", "aria-label": "Reasons" });
  sync.watch(["reasons", "suggestions", "why"], () => {
    const [reasons, suggestions, why] = [sync.get("reasons"), sync.get("suggestions"), sync.get("why")];
    const [lines, tried] = [why.lines ?? [], why.tried ?? []];
    root.replaceChildren(
      reasons.length
        ? h("ul.dra-findings", {}, ...reasons.map(reason))
        : h("p.dra-nothing", {}, "Nothing is in the way: the drawing fits, or nothing is drawn."),
      ...(lines.length ? [h("ul.dra-lines", {}, ...lines.map((line) => h("li", {}, line)))] : []),
      ...(suggestions.length
        ? [h("h3", {}, "What would help"), h("ul.dra-findings", {}, ...suggestions.map((one) => suggestion(one, sync)))]
        : []),
      ...(tried.length ? [h("ul.dra-lines", {}, ...tried.map((line) => h("li.dra-hint", {}, line)))] : []),
      ...(why.funnels?.length ? [h("h3", {}, "Devices left after each test"), ...why.funnels.map(funnel)] : []),
    );
  });
  return root;
}

function reason(row: ReasonRow): HTMLElement {
  return h(
    "li.dra-finding",
    { "data-severity": "error" },
    icon("cross"),
    h(
      "div",
      {},
      h("span.dra-severity", {}, row.rule),
      row.subject ? h("code", {}, row.subject) : null,
      h("p", {}, row.message),
      row.advice ? h("p.dra-advice", {}, row.advice) : null,
    ),
  );
}

function suggestion(row: SuggestionRow, sync: Sync<PlanViewModel>): HTMLElement {
  const apply = row.id
    ? h(
        "button.dra-button",
        { type: "button", onclick: () => sync.send({ type: "apply-suggestion", id: row.id }) },
        "Apply to the drawing",
      )
    : null;
  return h(
    "li.dra-finding",
    { "data-severity": "note" },
    icon("note"),
    h(
      "div",
      {},
      h("p", {}, h("b", {}, row.title)),
      row.detail ? h("p.dra-detail", {}, row.detail) : null,
      row.source ? h("p.dra-origin", {}, row.source) : null,
      apply,
    ),
  );
}

/** Counts after each test, by kind of node; the legend says what the numbered columns stand for. */
function funnel(row: FunnelRow): HTMLElement {
  const [columns, legend, rows] = [row.columns ?? [], row.legend ?? [], row.rows ?? []];
  return h(
    "section.dra-funnel",
    {},
    h(
      "table.dra-goals",
      {},
      h("caption", {}, row.title),
      h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        ...rows.map((cells) =>
          h(
            "tr",
            {},
            ...cells.map((cell, at) => (at ? h("td.dra-number", {}, cell) : h("th", { scope: "row" }, cell))),
          ),
        ),
      ),
    ),
    row.more
      ? h("p.dra-hint", {}, `${row.more} more kinds of nodes; the text and the JSON answer have them all`)
      : null,
    legend.length
      ? h(
          "dl.dra-legend",
          {},
          ...legend.flatMap(([head, text]) => [h("dt", {}, head), h("dd", {}, h("code", {}, text))]),
        )
      : null,
  );
}
