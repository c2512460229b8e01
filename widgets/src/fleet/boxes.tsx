// The nodes of a domain as boxes, each with a part per pod that it could hold; or the sums of many nodes as one bar.

import { Bar } from "../components/bar";
import { classes } from "../components/classes";
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
    <span className={classes("dra-pods-boxes", isNamed && "is-named")}>
      {rows.map((row) => {
        const counts = partsOf(row);
        const title = `${row[0]}: ${said(counts) || "holds no pod"}${row[5] ? " (cordoned)" : ""}`;
        return (
          <span key={row[0]} className="dra-pods-node" title={title}>
            <Box counts={counts} isClosed={row[5]} />
            {isNamed && <small className="dra-hint">{row[0]}</small>}
          </span>
        );
      })}
    </span>
  );
}

function Box({ counts, isClosed }: { counts: readonly number[]; isClosed: boolean }) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return <Bar parts={[{ key: "none", part: isClosed ? "closed" : "none", size: 1 }]} />;
  const parts = PARTS.flatMap((part, at) => {
    const count = counts[at] ?? 0;
    if (total > MOST_PARTS) return [{ key: part, part, size: count }];
    return Array.from({ length: count }, (_, pod) => ({ key: `${part} ${pod}`, part, size: 1 }));
  });
  return <Bar parts={parts} />;
}

/** The sums over the nodes of a domain. */
export function Shares({ sums = [0, 0, 0, 0, 0] }: { sums?: readonly number[] | undefined }) {
  const parts = PARTS.map((part, at) => ({ key: part, part, size: sums[at] ?? 0 }));
  return <Bar parts={parts} title={said(sums) || "holds no pod"} />;
}
