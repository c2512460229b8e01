// The nodes of a domain as boxes, each with a part per pod that it could hold; or the sums of many nodes as one bar.
import type { DomainRow } from "../generated/models";
import { number } from "./bar_list";

export type BoxRow = NonNullable<DomainRow["boxes"]>[number];
/** Pods of a node up to which each has a part of its own. */
const MOST_PARTS = 8;
const PARTS = ["placed", "free", "plan", "used", "closed"] as const;
const WORDS: Readonly<Record<string, string>> = {
  placed: "placed",
  free: "fit",
  plan: "kept away by the rest of the plan",
  used: "kept away by devices in use",
  closed: "on a cordoned node",
};

/** Return how many pods of each part a node has; on a cordoned node, all are of one part. */
function partsOf([, placed, free, byPlan, used, isClosed]: BoxRow): readonly number[] {
  return isClosed ? [0, 0, 0, 0, free + used] : [placed, free, byPlan, used, 0];
}

const said = (counts: readonly number[]) =>
  counts.flatMap((count, at) => (count ? [`${number(count)} ${WORDS[PARTS[at] ?? ""] ?? ""}`] : [])).join(", ");

export function Boxes({ rows, isNamed = false }: { rows: readonly BoxRow[]; isNamed?: boolean }) {
  return (
    <span className={`dra-pods-boxes${isNamed ? " is-named" : ""}`}>
      {rows.map((row) => {
        const counts = partsOf(row);
        const title = `${row[0]}: ${said(counts) || "holds no pod"}${row[5] ? " (cordoned)" : ""}`;
        return (
          <span key={row[0]} className="dra-pods-node" title={title}>
            <Box counts={counts} isClosed={row[5]} />
            {isNamed && <small>{row[0]}</small>}
          </span>
        );
      })}
    </span>
  );
}

function Box({ counts, isClosed }: { counts: readonly number[]; isClosed: boolean }) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const isMany = total > MOST_PARTS;
  return (
    <span className="dra-pods-box">
      {total === 0 && <i className="dra-pod-part" data-pods={isClosed ? "closed" : "none"} />}
      {PARTS.flatMap((part, at) => {
        const count = counts[at] ?? 0;
        if (isMany)
          return count ? [<i key={part} className="dra-pod-part" data-pods={part} style={{ flexGrow: count }} />] : [];
        return Array.from({ length: count }, (_, pod) => `${part} ${pod}`).map((key) => (
          <i key={key} className="dra-pod-part" data-pods={part} />
        ));
      })}
    </span>
  );
}

/** The sums over the nodes of a domain. */
export function Shares({ sums = [0, 0, 0, 0, 0] }: { sums?: readonly number[] | undefined }) {
  return (
    <span className="dra-pods-box" title={said(sums) || "holds no pod"}>
      {PARTS.map((part, at) =>
        sums[at] ? <i key={part} className="dra-pod-part" data-pods={part} style={{ flexGrow: sums[at] }} /> : null,
      )}
    </span>
  );
}
