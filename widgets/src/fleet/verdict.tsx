// What is asked of the fleet, the verdict with its proof, and the numbers.

import { useEffect, useState } from "react";
import { Button } from "../components/button";
import { classes } from "../components/classes";
import { Headline, type Sign } from "../plan/headline";
import { useChannel, useTrait } from "../plan/model";
import { Figure } from "../view/figure";
import { AddingButton } from "./adding";

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

export function Verdict() {
  const answer = useTrait("fleet_answer");
  const { state = "empty", asked = "", verdict = "", proof = "", scheduler = "", tiles = [], stale = false } = answer;
  return (
    <div className={classes("dra-answer dra-fleet-verdict", stale && "is-stale")} data-state={state}>
      <div className="dra-answer-text dra-column">
        <p className="dra-asked">{asked}</p>
        <Headline sign={SIGNS[state] ?? ["note", ""]} words={verdict} />
        <div className="dra-row dra-fleet-proof">
          <span>{proof}</span>
          <Working />
          <AddingButton />
        </div>
        {scheduler && <p className="dra-fleet-scheduler">{scheduler}</p>}
      </div>
      <ul className="dra-tiles" aria-label="Numbers">
        {tiles.map((tile) => (
          <li key={`${tile.caption} ${tile.value}`}>
            <Figure row={tile} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** How far the solve is, its gap, and the ways to stop it and to go on. */
function Working() {
  const channel = useChannel();
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
        <Button onClick={() => channel.send({ type: "stop-fleet" })}>Stop</Button>
        <span className="dra-dim">Stop keeps the placed pods.</span>
      </span>
    );
  if (!isWorking && canImprove)
    return (
      <span className="dra-row dra-fleet-work">
        <span className="dra-dim">Stopped.</span>
        <Button onClick={() => channel.send({ type: "improve-fleet" })}>Continue</Button>
      </span>
    );
  return null;
}
