// PlanView: the answer strip, and tabs with the manifests, goals, reasons, findings and devices behind it.
import "../plan_view.css";
import { useRef, useState } from "react";
import { CompareMode } from "../compare/compare_mode";
import { ExportSheet } from "../export/sheet";
import { selectAll } from "../view/copy";
import { FindingsList } from "../view/findings_list";
import type { Context } from "../view/late";
import { useLight } from "../view/light";
import { PaneProblem } from "../view/pane_problem";
import { type Tab, Tabs } from "../view/tabs";
import { mount } from "../view/widget";
import { DevicesPanel } from "./devices_panel";
import { GoalsPanel } from "./goals_panel";
import { useChannel, useTrait } from "./model";
import { ReasonsPanel } from "./reasons_panel";
import { Strip } from "./strip";
import { Tools } from "./tools";
import { YamlEditor } from "./yaml_editor";

function PlanView() {
  const mode = useTrait("mode");
  return (
    <>
      {mode === "compare" ? <CompareMode /> : <PlanMode />}
      <ExportSheet />
    </>
  );
}

function PlanMode() {
  const channel = useChannel();
  const light = useLight(channel);
  const [chosen, setChosen] = useState("yaml");
  const [findings, reasons, devices] = [useTrait("findings"), useTrait("reasons"), useTrait("devices")];
  const problem = useTrait("problem");
  const code = useRef<HTMLDivElement>(null);
  const select = () => {
    setChosen("yaml");
    // When its tab is shown: what is hidden cannot be selected.
    requestAnimationFrame(() => code.current && selectAll(code.current));
  };
  const hasErrors = findings.some((row) => row.severity === "error");
  const tabs: Tab[] = [
    { key: "yaml", label: "YAML", panel: <YamlEditor light={light} code={code} /> },
    { key: "goals", label: "Goals", panel: <GoalsPanel /> },
    { key: "reasons", label: "Reasons", panel: <ReasonsPanel />, count: reasons.length, tone: "error" },
    {
      key: "findings",
      label: "Findings",
      panel: (
        <div className="dra-scroll" tabIndex={0} role="region" aria-label="Findings">
          <FindingsList findings={findings} nothing="Nothing to tell about the cluster or the answer." />
        </div>
      ),
      count: findings.length,
      tone: hasErrors ? "error" : "",
    },
    { key: "devices", label: "Devices", panel: <DevicesPanel light={light} />, count: devices.total ?? 0 },
  ];
  return (
    <>
      <Strip />
      <Tabs
        label="Manifests and reasons"
        tabs={tabs}
        chosen={chosen}
        onChoose={setChosen}
        tools={<Tools select={select} />}
      >
        <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
      </Tabs>
    </>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-plan-view", PlanView);
