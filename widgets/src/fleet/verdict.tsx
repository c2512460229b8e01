// What is asked of the fleet, the verdict with its proof, and the numbers.
import { useEffect, useState } from "react";
import { useChannel, useTrait } from "../plan/model";
import { Figure } from "../view/figure";
import { Icon, type IconName } from "../view/icon";
import { AddingButton } from "./adding";

const SIGNS: Readonly<Record<string, readonly [IconName, string]>> = {
  fits: ["check", "All pods fit"],
  misfit: ["cross", "Not all pods fit"],
  empty: ["note", "Nothing is asked"],
  error: ["error", "No answer"],
  stopped: ["warning", "Stopped"],
  solving: ["dots", "Planning"],
};
/** Milliseconds after which a solve is told: mostly it is over sooner. */
const LATER = 300;

export function Verdict() {
  const answer = useTrait("fleet_answer");
  const { state = "empty", asked = "", verdict = "", proof = "", scheduler = "", tiles = [], stale = false } = answer;
  const [icon, words] = SIGNS[state] ?? ["note", ""];
  return (
    <div className={`dra-fleet-verdict${stale ? " is-stale" : ""}`} data-state={state}>
      <div className="dra-fleet-words">
        <p className="dra-fleet-asked">{asked}</p>
        <h2 role="status">
          <span className="dra-sign" role="img" aria-label={words}>
            <Icon name={icon} />
          </span>
          {verdict}
        </h2>
        <div className="dra-fleet-proof">
          <span>{proof}</span>
          <Working />
          <AddingButton />
        </div>
        {scheduler && <p className="dra-fleet-scheduler">{scheduler}</p>}
      </div>
      <ul className="dra-fleet-tiles" aria-label="Numbers">
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
      <span className="dra-fleet-work">
        {most > 0 && (
          <>
            <span>
              {placed.toLocaleString("en")} placed, at most {most.toLocaleString("en")}
            </span>
            <progress max={most} value={placed} aria-label="Placed of what may fit" />
          </>
        )}
        <span className="dra-dim">{working} …</span>
        <button type="button" className="dra-button" onClick={() => channel.send({ type: "stop-fleet" })}>
          Stop
        </button>
        <span className="dra-dim">Stop keeps the placed pods.</span>
      </span>
    );
  if (!isWorking && canImprove)
    return (
      <span className="dra-fleet-work">
        <span className="dra-dim">Stopped.</span>
        <button type="button" className="dra-button" onClick={() => channel.send({ type: "improve-fleet" })}>
          Continue
        </button>
      </span>
    );
  return null;
}
