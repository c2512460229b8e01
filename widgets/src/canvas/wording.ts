// The words of the canvas: what is written on it, and what is spoken when it changes.
import type { CanvasStatus, ClaimSketch, DeviceRequest, Link } from "../generated/models";
import { isEqual } from "../view/text";
import { claimOf, claimsOf, shortName } from "./claims";
import {
  amountOf,
  countOf,
  type How,
  howOf,
  isAll,
  linksOf,
  mustOf,
  type Part,
  partsOf,
  requestOf,
  requestsOf,
  whereOf,
} from "./sketch";

/** The levels of a node, nearest first, in words; every other place is an attribute's full name. */
export const LEVELS: Readonly<Record<string, string>> = {
  switch: "PCIe switch",
  pcieRoot: "PCIe root",
  numaNode: "NUMA node",
  socket: "socket",
};

/** How a link connects, in words. */
export const HOW_WORDS: Readonly<Record<How, string>> = {
  together: "all together",
  pairwise: "one to one",
  apart: "all apart",
};

export const placeLabel = (where: string): string => LEVELS[where] ?? where;

/** A count in words: "2", "all", "16 dra.cpu/cpu", or "1 of 3 ways" for alternatives. */
export function amountLabel(request: DeviceRequest): string {
  const parts = partsOf(request);
  const [part] = parts;
  if (!part) return "nothing";
  if (parts.length > 1) return `first of ${parts.length} ways`;
  if (isAll(part)) return "all";
  const amount = amountOf(part);
  return amount ? `${amount.amount} ${amount.key}` : String(countOf(part));
}

/** One way to serve a request in a few words: "16 dra.cpu/cpu", "2 gpu.nvidia.com". */
export function partLabel(part: Part): string {
  const amount = amountOf(part);
  const what = amount ? `${amount.amount} ${amount.key}` : `${isAll(part) ? "all" : countOf(part)}`;
  return `${what} ${amount ? "" : (part.deviceClassName ?? "")}`.trim();
}

const FALLBACK_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
export interface Badge {
  letter: string;
  colour: string;
  textColour: string;
}

/** The letter of a request with its colours, which Python chooses. */
export function badgeOf(sketch: ClaimSketch, status: CanvasStatus, name: string): Badge {
  const told = status.requests?.[name];
  const index = Math.max(
    0,
    requestsOf(sketch).findIndex((request) => request.name === name),
  );
  return {
    letter: told?.letter || (FALLBACK_LETTERS[index] ?? String(index + 1)),
    colour: told?.colour || "var(--dra-ink)",
    textColour: told?.textColour || "var(--dra-paper)",
  };
}

/** How a link connects, and where: "one to one", "same PCIe root". */
export function linkWords(link: Link, status: CanvasStatus): { how: string; where: string } {
  const told = status.links?.[link.name]?.options?.find((option) => option.where === whereOf(link));
  return { how: HOW_WORDS[howOf(link)], where: sameWords(link, told?.label) };
}

/** "same PCIe root", or for a link that keeps devices apart "different PCIe roots". */
export function sameWords(link: Link, label?: string): string {
  const where = label || placeLabel(whereOf(link));
  if (howOf(link) !== "apart") return `same ${where}`;
  return `different ${LEVELS[whereOf(link)] ? (where.endsWith("ch") ? `${where}es` : `${where}s`) : where}`;
}

/** A link by what it connects, as every message names it: "gpu + nic". */
export const linkTitle = (link: Link): string => link.requests.map(shortName).join(" + ");

export function describeRequest(
  sketch: ClaimSketch,
  status: CanvasStatus,
  request: DeviceRequest,
  cause: string,
): string {
  const told = status.requests?.[request.name];
  const ties = linksOf(sketch).filter((link) => link.requests.some((r) => requestOf(r) === request.name)).length;
  return [
    `Request ${badgeOf(sketch, status, request.name).letter}, ${shortName(request.name)}`,
    claimOf(request.name) && `claim ${claimOf(request.name)}`,
    told?.label ?? partsOf(request)[0]?.deviceClassName ?? "",
    `count ${amountLabel(request)}`,
    told?.error ? `error: ${told.error}` : (told?.text ?? ""),
    cause && `does not fit: ${cause}`,
    ties ? `${ties} ${ties === 1 ? "link" : "links"}` : "no links",
  ]
    .filter(Boolean)
    .join(", ");
}

export function describeLink(link: Link, status: CanvasStatus, cause: string): string {
  const { how, where } = linkWords(link, status);
  const problem = status.links?.[link.name]?.problem;
  const strength = mustOf(link) ? "must" : "prefer";
  const words = `Link ${linkTitle(link)}: ${strength} be ${how}, ${where}`;
  return [words, problem && `problem: ${problem}`, cause && `does not fit: ${cause}`].filter(Boolean).join("; ");
}

const byName = <T extends { name: string }>(items: readonly T[]) => new Map(items.map((item) => [item.name, item]));
/** The requests that are in another claim now; "" where none is. */
function movedOver(before: ClaimSketch, after: ClaimSketch): string {
  const names = (sketch: ClaimSketch) => new Set(requestsOf(sketch).map((request) => request.name));
  const [old, now] = [names(before), names(after)];
  const added = [...now].filter((name) => !old.has(name));
  const gone = [...old].filter((name) => !now.has(name));
  if (!added.length || added.length !== gone.length || !claimsOf(after).length) return "";
  if (added.some((name) => gone.some((other) => claimOf(other) === claimOf(name)))) return "";
  return `moved ${added.map(shortName).join(", ")} to claim ${claimOf(added[0] ?? "")}`;
}

/** What is different in `after`, in one sentence for the live region; "" where nothing is. */
export function describeChange(before: ClaimSketch, after: ClaimSketch): string {
  const [oldRequests, newRequests] = [byName(requestsOf(before)), byName(requestsOf(after))];
  const [oldLinks, newLinks] = [byName(linksOf(before)), byName(linksOf(after))];
  const said: string[] = [];
  const [oldClaims, newClaims] = [claimsOf(before), claimsOf(after)];
  const [added, gone] = [
    newClaims.filter((c) => !oldClaims.includes(c)),
    oldClaims.filter((c) => !newClaims.includes(c)),
  ];
  if (added.length && gone.length) return `claim ${gone.join(", ")} is now ${added.join(", ")}`;
  if (added.length) return `the pod has ${newClaims.length} claims: ${newClaims.join(", ")}`;
  if (gone.length) return newClaims.length ? `removed claim ${gone.join(", ")}` : "the pod has one claim";
  const moved = movedOver(before, after);
  if (moved) return moved;
  for (const [key, request] of newRequests) {
    const [old, name] = [oldRequests.get(key), shortName(key)];
    if (!old) said.push(`added request ${name}, count ${amountLabel(request)}`);
    else if (amountLabel(old) !== amountLabel(request)) said.push(`count of ${name} is ${amountLabel(request)}`);
    else if (!isEqual(old, request)) said.push(`changed request ${name}`);
  }
  for (const name of oldRequests.keys()) if (!newRequests.has(name)) said.push(`removed request ${shortName(name)}`);
  for (const [name, link] of newLinks) {
    const old = oldLinks.get(name);
    const strength = mustOf(link) ? "must" : "prefer";
    const words = `${strength}, ${HOW_WORDS[howOf(link)]}, ${placeLabel(whereOf(link))}`;
    if (!old) said.push(`added link ${linkTitle(link)}: ${words}`);
    else if (!isEqual(old, link)) said.push(`link ${linkTitle(link)}: ${words}`);
  }
  for (const [name, link] of oldLinks) if (!newLinks.has(name)) said.push(`removed link ${linkTitle(link)}`);
  if (!said.length && (before.name ?? "claim") !== (after.name ?? "claim"))
    said.push(`claim is now named ${after.name ?? "claim"}`);
  return said.join("; ");
}
