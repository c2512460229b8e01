import "./plan_view.css";
import type { PlanViewModel } from "./generated/models";
import { devicesPanel } from "./plan/devices_panel";
import { goalsPanel } from "./plan/goals_panel";
import { reasonsPanel } from "./plan/reasons_panel";
import { strip } from "./plan/strip";
import { tabs } from "./plan/tabs";
import { tools } from "./plan/tools";
import { yamlEditor } from "./plan/yaml_editor";
import { yamlPanel } from "./plan/yaml_panel";
import { selectAll } from "./view/copy";
import { h, paneProblem } from "./view/dom";
import { findingsList } from "./view/findings_list";
import { highlight } from "./view/light";
import type { Sync } from "./view/sync";
import { view } from "./view/view";

function fill(root: HTMLElement, sync: Sync<PlanViewModel>): void {
  const light = highlight(sync);
  const yaml = yamlPanel(sync, light);
  const devices = devicesPanel(sync, light);
  const findings = h("div.dra-scroll", { tabindex: 0, role: "region", "aria-label": "Findings" });
  const right = tools(sync, () => {
    all.show("yaml");
    selectAll(yaml);
  });
  const all = tabs(
    "Manifests and reasons",
    [
      { key: "yaml", label: "YAML", panel: yamlEditor(sync, yaml) },
      { key: "goals", label: "Goals", panel: goalsPanel(sync) },
      { key: "reasons", label: "Reasons", panel: reasonsPanel(sync) },
      { key: "findings", label: "Findings", panel: findings },
      { key: "devices", label: "Devices", panel: devices.root, shown: devices.shown },
    ],
    right.root,
  );
  const problem = h("div.dra-pane-problem", { role: "alert" });
  all.root.append(problem, right.panel);
  sync.watch(["findings"], () => {
    const rows = sync.get("findings");
    findings.replaceChildren(findingsList(rows, "Nothing to tell about the cluster or the answer."));
    all.count("findings", rows.length, rows.some((row) => row.severity === "error") ? "error" : "");
  });
  sync.watch(["reasons"], () => all.count("reasons", sync.get("reasons").length, "error"));
  sync.watch(["devices"], () => all.count("devices", sync.get("devices").total ?? 0));
  sync.watch(["problem"], () =>
    paneProblem(problem, sync.get("problem"), () => sync.send({ type: "dismiss-problem" })),
  );
  root.append(strip(sync), all.root);
  sync.atEnd(watchSize(all.root, devices.shown));
}

/** A virtual table draws what fits; the pane's size is known late and changes. */
function watchSize(node: HTMLElement, draw: () => void): () => void {
  if (typeof ResizeObserver === "undefined") return () => undefined;
  const observer = new ResizeObserver(draw);
  observer.observe(node);
  return () => observer.disconnect();
}

export default { render: view<PlanViewModel>("dra-plan-view", fill) };
