// How a new link starts: the place and the word that a person most often means between these requests.
import type { CanvasStatus } from "../generated/models";
import { type How, type NewLink, requestOf } from "./sketch";

const NEAREST: Readonly<Record<string, string>> = { "gpu+nic": "pcieRoot", gpu: "numaNode", nic: "numaNode" };

export function startLink(status: CanvasStatus, references: readonly string[]): NewLink {
  const kinds = [...new Set(references.map((r) => status.requests?.[requestOf(r)]?.kind ?? "other"))].sort();
  const how: How = references.length === 2 && kinds.join("+") === "gpu+nic" ? "pairwise" : "together";
  const places = status.pairs?.[references.map(requestOf).sort().join("|")];
  const possible = places?.find((option) => option.enabled !== false)?.where;
  return { requests: references, how, where: possible ?? NEAREST[kinds.join("+")] ?? "numaNode" };
}
