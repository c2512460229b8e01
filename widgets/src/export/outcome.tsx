// What kube-scheduler does with the manifests, and the pins with their price.

import { Button } from "../components/button";
import { Callout, type Tone } from "../components/callout";
import { Switch } from "../components/inputs";
import { Working } from "../components/working";
import type { ExportRow, OutcomeRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { PinnedDomain } from "./gang";

const TONES: Readonly<Record<OutcomeRow["verdict"], Tone>> = { ok: "ok", warn: "warn", unknown: "plain" };

export function Outcome({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const { stage = "", plain, pinned, pins = [] } = row;
  return (
    <section
      className="dra-card dra-outcome"
      aria-label={row.gang ? "Plan of the gang" : "Simulation of kube-scheduler"}
      data-verdict={plain?.verdict ?? "unknown"}
    >
      <div role="status">
        {plain && <Verdict outcome={plain} />}
        {row.problem && <p className="dra-wrong">{row.problem}</p>}
        {stage && (
          <Working words={stage}>
            <Button onClick={() => channel.send({ type: "cancel-export" })}>Cancel</Button>
          </Working>
        )}
      </div>
      {row.gang && <PinnedDomain gang={row.gang} />}
      {pinned && <Pin row={row} pinned={pinned} />}
      {!row.gang && !pinned && !stage && plain?.verdict === "warn" && pins.length === 0 && !row.problem && (
        <p className="dra-outcome-pin dra-dim">No pin was found that makes kube-scheduler allocate this plan.</p>
      )}
    </section>
  );
}

function Verdict({ outcome }: { outcome: OutcomeRow }) {
  return (
    <Callout tone={TONES[outcome.verdict]}>
      <div>
        <b>{outcome.sentence}</b>
        {outcome.detail && <p>{outcome.detail}</p>}
      </div>
    </Callout>
  );
}

function Pin({ row, pinned }: { row: ExportRow; pinned: OutcomeRow }) {
  const channel = useChannel();
  return (
    <div className="dra-outcome-pin">
      <Switch checked={row.pin ?? false} onTurn={(pin) => channel.send({ type: "choose-export", pin })}>
        <b>Pin so that it allocates this plan</b>
      </Switch>
      <Callout tone={TONES[pinned.verdict]}>
        <span>
          {pinned.sentence} {row.price ? `Price: ${row.price}.` : ""}
        </span>
      </Callout>
    </div>
  );
}
