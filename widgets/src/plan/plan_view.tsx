// PlanView: the verdict, "why not?", what is exported, and the dock with what stands behind the answer.
import { Button } from "../components/button";
import { classes } from "../components/classes";
import { Popover } from "../components/popover";
import "../plan_view.css";
import { useEffect, useRef, useState } from "react";
import { CompareMode } from "../compare/compare_mode";
import { ExportSheet } from "../export/sheet";
import { FleetMode } from "../fleet/fleet_mode";
import { AtEnd } from "../view/at_end";
import { selectAll } from "../view/copy";
import { FindingsList } from "../view/findings_list";
import { actionOf, PLANNER_KEYS } from "../view/key_table";
import { KeysList } from "../view/keys_list";
import type { Context } from "../view/late";
import { useLight } from "../view/light";
import { PaneProblem } from "../view/pane_problem";
import { type Tab, Tabs } from "../view/tabs";
import { useGrid, useGridKeys } from "../view/use_grid";
import { usePopover } from "../view/use_popover";
import { mount } from "../view/widget";
import { DevicesPanel } from "./devices_panel";
import { Find } from "./find";
import { GoalsPanel } from "./goals_panel";
import { useChannel, useTrait } from "./model";
import { NodesPanel } from "./nodes_panel";
import { Outgoing } from "./outgoing";
import { Tools } from "./tools";
import { useDock } from "./use_dock";
import { Verdict } from "./verdict";
import { WhyNot } from "./why_not";
import { YamlEditor } from "./yaml_editor";

function PlanView() {
  const mode = useTrait("mode");
  return (
    <>
      {mode === "compare" ? <CompareMode /> : mode === "fleet" ? <FleetMode /> : <PlanMode />}
      <ExportSheet />
    </>
  );
}

function PlanMode() {
  const channel = useChannel();
  const light = useLight(channel);
  const [wanted, setChosen] = useState("yaml");
  const [findings, devices, nodes] = [useTrait("findings"), useTrait("devices"), useTrait("nodes")];
  const [problem, whyNot] = [useTrait("problem"), useTrait("why_not")];
  // An empty drawing fits nowhere, and nothing of it is exported: there is nothing to say of either.
  const isDrawn = (useTrait("answer").state ?? "empty") !== "empty";
  const code = useRef<HTMLDivElement>(null);
  const tabsBox = useRef<HTMLDivElement>(null);
  const dock = useDock();
  const { grid, isShort } = useGrid(tabsBox, dock.taken);
  useEffect(() => dock.setGrid(grid), [grid, dock.setGrid]);
  const show = (key: string) => {
    setChosen(key);
    dock.open();
  };
  const select = () => {
    show("yaml");
    // When its tab is shown: what is hidden cannot be selected.
    requestAnimationFrame(() => code.current && selectAll(code.current));
  };
  const field = useRef<HTMLInputElement>(null);
  const find = usePopover({ first: () => field.current });
  const keys = usePopover();
  useGridKeys(grid, (event) => {
    const action = actionOf(PLANNER_KEYS, event);
    if (action) ({ dock: dock.toggle, find: find.open, keys: keys.open })[action]();
    return action !== null;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: who asks about a node wants to see the answer
  useEffect(() => {
    if (isShort && grid && whyNot.asked) show("why");
  }, [whyNot.asked, whyNot.node, whyNot.device]);

  const hasErrors = findings.some((row) => row.severity === "error");
  const outgoing = <Outgoing onYaml={() => show("yaml")} />;
  const ofShort: Tab[] =
    isShort && isDrawn
      ? [
          { key: "why", label: whyNot.title || "Why not?", panel: <WhyNot hasTitle={false} /> },
          { key: "outgoing", label: "What you export", panel: outgoing },
        ]
      : [];
  const tabs: Tab[] = [
    { key: "yaml", label: "YAML", panel: <YamlEditor light={light} code={code} /> },
    { key: "goals", label: "Goals and proof", panel: <GoalsPanel /> },
    ...ofShort,
    { key: "devices", label: "Devices", panel: <DevicesPanel light={light} />, count: devices.total ?? 0 },
    {
      key: "nodes",
      label: "Nodes",
      panel: <NodesPanel />,
      count: nodes.reduce((all, row) => all + (row.nodes ?? 1), 0),
    },
    {
      key: "findings",
      label: "Findings",
      panel: (
        <div className="dra-scroll" tabIndex={0} role="region" aria-label="Findings">
          <FindingsList findings={findings} nothing="No findings about the cluster or the answer." />
        </div>
      ),
      count: findings.length,
      tone: hasErrors ? "error" : "",
    },
  ];
  const chosen = tabs.some((tab) => tab.key === wanted) ? wanted : "yaml";
  // A press on the tab that is shown closes the dock, as in every dock.
  const choose = (key: string, isPress: boolean) =>
    isPress && dock.isOpen && key === chosen ? dock.toggle() : show(key);
  const buttons = (
    <>
      <Button className="dra-dock-button" {...find.button} label="Find" title="Find a node or a device">
        <kbd>/</kbd>
      </Button>
      <Button className="dra-dock-button" {...keys.button} label="Keys" title="Keys">
        <kbd>?</kbd>
      </Button>
      <Tools select={select} hasBar={grid !== null} />
      {grid && (
        <Button
          className="dra-dock-button"
          aria-expanded={dock.isOpen}
          label={dock.isOpen ? "Close the dock" : "Open the dock"}
          title={dock.isOpen ? "Close the dock" : "Open the dock"}
          onClick={dock.toggle}
        >
          <kbd>J</kbd>
        </Button>
      )}
    </>
  );
  return (
    <>
      <Verdict />
      {!isShort && isDrawn && (
        <div className="dra-cards">
          <WhyNot />
          {outgoing}
        </div>
      )}
      <AtEnd grid={grid}>
        <div ref={tabsBox} className={classes("dra-dock dra-column", dock.isOpen && "is-open")}>
          {dock.handle && <div {...dock.handle} />}
          <Tabs
            label="Behind the answer"
            tabs={tabs}
            chosen={chosen}
            onChoose={choose}
            tools={<div className="dra-row">{buttons}</div>}
            isOpen={dock.isOpen}
          >
            <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
            <Popover over={find} title="Find a node or a device" isBare className="dra-find">
              <Find field={field} onDone={find.close} />
            </Popover>
            <Popover over={keys} title="Keys" className="dra-keys">
              <KeysList rows={PLANNER_KEYS} />
            </Popover>
          </Tabs>
        </div>
      </AtEnd>
    </>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-plan-view", PlanView);
