// The Fleet mode: workloads, what-if changes and scenarios beside the nodes, as bars.
import "./fleet.css";
import { Choice, optionsOf } from "../components/choice";
import { classes } from "../components/classes";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { PaneProblem } from "../view/pane_problem";
import { Adding, useIsAdding } from "./adding";
import { Bars } from "./bars";
import { NodeCard } from "./card";
import { Domains } from "./domains";
import { MenuProvider } from "./menu";
import { Scenarios } from "./scenarios";
import { Verdict } from "./verdict";
import { WhatIf } from "./what_if";
import { Workloads } from "./workloads";

export function FleetMode() {
  const channel = useChannel();
  const [problem, { many = false }] = [useTrait("problem"), useTrait("fleet_bars")];
  return (
    <section className={classes("dra-mode-pane dra-fleet-mode", many && "is-many")} aria-label="Fleet">
      <MenuProvider>
        <Verdict />
        <div className="dra-fleet-left dra-column">
          <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
          <Workloads />
          <WhatIf />
          <Scenarios />
          <Heat />
        </div>
        <Right />
      </MenuProvider>
    </section>
  );
}

/** The devices of the nodes, the domains of gangs, or the nodes to add. */
function Right() {
  const channel = useChannel();
  const [side, { gangs = [] }] = [useTrait("fleet_side"), useTrait("fleet_domains")];
  const isAdding = useIsAdding();
  const sides = [
    ...(gangs.length ? [["domains", "Where gangs fit"] as const] : []),
    ["devices", "Devices in use"] as const,
    ...(isAdding ? [["adding", "Nodes to add"] as const] : []),
  ];
  const shown = sides.some(([key]) => key === side) ? side : "devices";
  return (
    <div className="dra-fleet-right dra-column">
      {sides.length > 1 && (
        <div>
          <Choice
            label="Right side"
            options={optionsOf(sides)}
            value={shown}
            onChoose={(value) => channel.set({ fleet_side: value })}
          />
        </div>
      )}
      {shown === "domains" && <Domains />}
      {shown === "adding" && <Adding />}
      {shown === "devices" && (
        <>
          <Bars />
          <NodeCard />
        </>
      )}
    </div>
  );
}

function Heat() {
  const channel = useChannel();
  const [heat, chosen] = [useTrait("fleet_heat"), useTrait("fleet_chosen")];
  if (!heat.cells?.length) return null;
  return (
    <section className="dra-stack" aria-label={heat.title}>
      <h3>{heat.title}</h3>
      <HeatMap map={heat} shown={chosen} onPick={(id) => channel.set({ fleet_chosen: id === chosen ? "" : id })} />
    </section>
  );
}
