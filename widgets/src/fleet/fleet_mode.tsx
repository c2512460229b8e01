// The Fleet mode: workloads, what-if changes and scenarios beside the nodes, as bars.
import { classes } from "../components/button";
import { PaneProblem } from "../components/content";
import { Choice, optionsOf } from "../components/inputs";
import { MenuProvider } from "../components/popover";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { Verdict } from "../plan/verdict";
import { Adding, AddingButton, useIsAdding } from "./adding";
import { Bars } from "./bars";
import { NodeCard } from "./card";
import { Domains } from "./domains";
import { Moves } from "./moves";
import { Scenarios, WhatIf } from "./what_if";
import { Workloads } from "./workloads";

export function FleetMode() {
  const channel = useChannel();
  const answer = useTrait("fleet_answer");
  const [{ many = false }, heat, chosen] = [useTrait("fleet_bars"), useTrait("fleet_heat"), useTrait("fleet_chosen")];
  return (
    <section className={classes("dra-mode-pane dra-fleet-mode dra-column", many && "is-many")} aria-label="Fleet">
      <MenuProvider>
        <Verdict
          answer={answer}
          className="dra-fleet-verdict"
          keeps="Stop keeps the placed pods."
          beside={<AddingButton />}
        />
        <div className="dra-split">
          <div className="dra-fleet-left dra-column">
            <PaneProblem />
            <Workloads />
            <WhatIf />
            <Scenarios />
            {Boolean(heat.cells?.length) && (
              <section className="dra-stack" aria-label={heat.title}>
                <h3>{heat.title}</h3>
                <HeatMap
                  map={heat}
                  shown={chosen}
                  onPick={(id) => channel.set({ fleet_chosen: id === chosen ? "" : id })}
                />
              </section>
            )}
          </div>
          <Right />
        </div>
      </MenuProvider>
    </section>
  );
}

/** The devices of the nodes, the moves of running pods, the domains of gangs, or the nodes to add. */
function Right() {
  const channel = useChannel();
  const [side, { gangs = [] }] = [useTrait("fleet_side"), useTrait("fleet_domains")];
  const isAdding = useIsAdding();
  const moves = useTrait("moves");
  const sides = [
    ...(moves.sentence ? [["moves", "Moves"] as const] : []),
    ...(gangs.length ? [["domains", "Where gangs fit"] as const] : []),
    ["devices", "Devices in use"] as const,
    ...(isAdding ? [["adding", "Nodes to add"] as const] : []),
  ];
  // Who narrows the pods that may move stays where that is done, also if no move is left.
  const isNarrowed = moves.movable?.labels || moves.movable?.namespaces?.some(([, isOn]) => !isOn);
  const usual = moves.steps?.length || isNarrowed ? "moves" : "devices";
  const shown = sides.some(([key]) => key === side) ? side : usual;
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
      {shown === "moves" && <Moves />}
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
