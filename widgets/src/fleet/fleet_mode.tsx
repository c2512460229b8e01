// The Fleet mode: workloads, what-if changes and scenarios beside the nodes, as bars.
import "./fleet.css";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { PaneProblem } from "../view/pane_problem";
import { Bars } from "./bars";
import { Card } from "./card";
import { MenuProvider } from "./menu";
import { Scenarios } from "./scenarios";
import { Verdict } from "./verdict";
import { WhatIf } from "./what_if";
import { Workloads } from "./workloads";

export function FleetMode() {
  const channel = useChannel();
  const [problem, { many = false }] = [useTrait("problem"), useTrait("fleet_bars")];
  return (
    <section className={`dra-mode-pane dra-fleet-mode${many ? " is-many" : ""}`} aria-label="Fleet">
      <MenuProvider>
        <Verdict />
        <div className="dra-fleet-left">
          <PaneProblem text={problem} onHide={() => channel.send({ type: "dismiss-problem" })} />
          <Workloads />
          <WhatIf />
          <Scenarios />
          <Heat />
        </div>
        <div className="dra-fleet-right">
          <Bars />
          <Card />
        </div>
      </MenuProvider>
    </section>
  );
}

function Heat() {
  const channel = useChannel();
  const [heat, chosen] = [useTrait("fleet_heat"), useTrait("fleet_chosen")];
  if (!heat.cells?.length) return null;
  return (
    <section className="dra-fleet-part" aria-label={heat.title}>
      <h3>{heat.title}</h3>
      <HeatMap map={heat} shown={chosen} onPick={(id) => channel.set({ fleet_chosen: id === chosen ? "" : id })} />
    </section>
  );
}
