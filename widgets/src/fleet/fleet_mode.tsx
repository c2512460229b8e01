// The Fleet mode: workloads, what-if changes and scenarios beside the nodes, as bars.
import { useEffect, useState } from "react";
import { Button, classes } from "../components/button";
import { PaneProblem } from "../components/content";
import { Choice, optionsOf } from "../components/inputs";
import { Figures, MenuProvider } from "../components/popover";
import { HeatMap } from "../hardware/heat_map";
import { useChannel, useTrait } from "../plan/model";
import { Headline, type Sign } from "../plan/verdict";
import { Adding, AddingButton, useIsAdding } from "./adding";
import { Bars } from "./bars";
import { NodeCard } from "./card";
import { Domains } from "./domains";
import { Moves } from "./moves";
import { Scenarios, WhatIf } from "./what_if";
import { Workloads } from "./workloads";

// What is asked of the fleet, the verdict with its proof, and the numbers.
const SIGNS: Readonly<Record<string, Sign>> = {
  fits: ["check", "All pods fit", "ok"],
  misfit: ["cross", "Not all pods fit", "error"],
  empty: ["note", "Nothing is asked"],
  error: ["error", "No answer", "error"],
  stopped: ["warning", "Stopped", "warn"],
  solving: ["dots", "Planning"],
};
/** Milliseconds after which a solve is told: mostly it is over sooner. */
const LATER = 300;

function Verdict() {
  const answer = useTrait("fleet_answer");
  const { state = "empty", asked = "", verdict = "", proof = "", scheduler = "", tiles = [], stale = false } = answer;
  return (
    <div className={classes("dra-answer dra-fleet-verdict", stale && "is-stale")} data-state={state}>
      <div className="dra-answer-text dra-column dra-fill">
        <p className="dra-asked dra-dim">{asked}</p>
        <Headline sign={SIGNS[state] ?? ["note", ""]} words={verdict} />
        <div className="dra-row dra-fleet-proof">
          <span>{proof}</span>
          <Working />
          <AddingButton />
        </div>
        {scheduler && <p className="dra-fleet-scheduler">{scheduler}</p>}
      </div>
      <Figures rows={tiles} />
    </div>
  );
}

/** How far the solve is, its gap, and the ways to stop it and to go on. */
function Working() {
  const { working = "", gap = [0, 0], canImprove = false } = useTrait("fleet_answer");
  const [isShown, setShown] = useState(false);
  const isWorking = working !== "";
  useEffect(() => {
    if (!isWorking) {
      setShown(false);
      return;
    }
    const timer = setTimeout(() => setShown(true), LATER);
    return () => clearTimeout(timer);
  }, [isWorking]);
  const [placed, most] = gap;
  if (isWorking && isShown)
    return (
      <span className="dra-row dra-fleet-work">
        {most > 0 && (
          <>
            <span>
              {placed.toLocaleString("en")} placed, at most {most.toLocaleString("en")}
            </span>
            <progress max={most} value={placed} aria-label="Placed of what may fit" />
          </>
        )}
        <span className="dra-dim">{working} …</span>
        <Button send={{ type: "cancel" }}>Stop</Button>
        <span className="dra-dim">Stop keeps the placed pods.</span>
      </span>
    );
  if (!isWorking && canImprove)
    return (
      <span className="dra-row dra-fleet-work">
        <span className="dra-dim">Stopped.</span>
        <Button send={{ type: "improve-fleet" }}>Continue</Button>
      </span>
    );
  return null;
}

export function FleetMode() {
  const channel = useChannel();
  const [{ many = false }, heat, chosen] = [useTrait("fleet_bars"), useTrait("fleet_heat"), useTrait("fleet_chosen")];
  return (
    <section className={classes("dra-mode-pane dra-fleet-mode dra-column", many && "is-many")} aria-label="Fleet">
      <MenuProvider>
        <Verdict />
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
