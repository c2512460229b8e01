// What kube-scheduler does with the manifests, and the pins with their price.
import { useId } from "react";
import type { ExportRow, OutcomeRow } from "../generated/models";
import { useChannel } from "../plan/model";
import { Icon, type IconName } from "../view/icon";
import { PinnedDomain } from "./gang";

const SIGNS: Readonly<Record<OutcomeRow["verdict"], IconName>> = { ok: "check", warn: "warning", unknown: "note" };

export function Outcome({ row }: { row: ExportRow }) {
  const channel = useChannel();
  const { stage = "", plain, pinned, pins = [] } = row;
  return (
    <section
      className="dra-outcome"
      aria-label={row.gang ? "Plan of the gang" : "Simulation of kube-scheduler"}
      data-verdict={plain?.verdict ?? "unknown"}
    >
      <div className="dra-outcome-plain" role="status">
        {plain && <Verdict outcome={plain} />}
        {row.problem && <p className="dra-wrong">{row.problem}</p>}
        {stage && (
          <p className="dra-outcome-stage">
            <span className="dra-spinner" aria-hidden="true" />
            {stage} ...
            <button type="button" className="dra-button" onClick={() => channel.send({ type: "cancel-export" })}>
              Cancel
            </button>
          </p>
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
    <>
      <p className="dra-verdict-line" data-verdict={outcome.verdict}>
        <Icon name={SIGNS[outcome.verdict]} />
        <b>{outcome.sentence}</b>
      </p>
      {outcome.detail && <p className="dra-outcome-detail">{outcome.detail}</p>}
    </>
  );
}

function Pin({ row, pinned }: { row: ExportRow; pinned: OutcomeRow }) {
  const channel = useChannel();
  const id = useId();
  const price = row.price ? `Price: ${row.price}.` : "";
  return (
    <div className="dra-outcome-pin">
      <label className="dra-switch" htmlFor={id}>
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={row.pin ?? false}
          checked={row.pin ?? false}
          onChange={(event) => channel.send({ type: "choose-export", pin: event.currentTarget.checked })}
        />
        <b>Pin so that it allocates this plan</b>
      </label>
      <p className="dra-verdict-line" data-verdict={pinned.verdict}>
        <Icon name={SIGNS[pinned.verdict]} />
        <span>
          {pinned.sentence} {price}
        </span>
      </p>
    </div>
  );
}
