// The Fleet mode: workloads, what-if changes and scenarios beside the nodes, as bars.
import "./fleet.css";
import { useChannel, useTrait } from "../plan/model";
import { PaneProblem } from "../view/pane_problem";
import { Bars } from "./bars";
import { Card } from "./card";
import { Heat } from "./heat";
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
