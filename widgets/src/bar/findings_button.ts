// The button that counts findings by severity, and its panel that lists them.
import type { ClusterBarModel } from "../generated/models";
import { h, type Icon, icon, refill } from "../view/dom";
import { findingsList } from "../view/findings_list";
import { popover } from "../view/popover";
import type { Sync } from "../view/sync";

const SEVERITIES = ["error", "warning", "note"] as const;

export function findingsButton(sync: Sync<ClusterBarModel>): { button: HTMLElement; panel: HTMLElement } {
  const button = h("button.dra-button.dra-findings-button", { type: "button" });
  const over = popover(sync, button, "Findings");
  over.panel.classList.add("dra-findings-panel");
  sync.watch(["counts", "findings"], () => {
    const counts = sync.get("counts");
    const some = SEVERITIES.filter((severity) => counts[severity]);
    const words = some.map((severity) => `${counts[severity]} ${severity}${counts[severity] === 1 ? "" : "s"}`);
    // "None" is an answer: as long as nobody has looked, it is not given.
    if (counts.checking) words.push("still being looked for");
    button.setAttribute("aria-label", `Findings: ${words.join(", ") || "none"}`);
    button.title = words.join(", ") || "no findings";
    const badges = some.map((severity) =>
      h("span.dra-badge", { "data-severity": severity }, icon(severity as Icon), String(counts[severity])),
    );
    refill(
      button,
      "Findings",
      ...badges,
      some.length ? null : h("span.dra-badge", { "data-severity": "none" }, icon(counts.checking ? "dots" : "check")),
    );
    refill(
      over.panel,
      h("h3", {}, "Findings"),
      findingsList(
        sync.get("findings"),
        counts.checking
          ? "The cluster is still being looked at."
          : "Nothing to tell: the cluster publishes what it should.",
      ),
    );
  });
  return { button, panel: over.panel };
}
