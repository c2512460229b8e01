// Links by keyboard and by mouse: where one can go from a box, and what joining two things of the drawing means.
import type { CanvasStatus, ClaimSketch } from "../generated/models";
import { claimOf, claimsOf, partOf, shortName } from "./claims";
import { isLinkId, isRequestId, linkId, nameOf, requestId } from "./flow";
import { addLink, type How, linkNamed, linksOf, type NewLink, requestOf, requestsOf, tie } from "./sketch";
import { linkTitle } from "./wording";

/** A link being made by keyboard: from a box or knot, to one of the candidates. */
export interface Linking {
  from: string;
  candidates: readonly string[];
  index: number;
}

const ties = (sketch: ClaimSketch, link: string, request: string): boolean =>
  linkNamed(sketch, link)?.requests.some((reference) => requestOf(reference) === request) ?? false;

/** Why nothing of another claim can be linked. */
export const OTHER_CLAIM = "Kubernetes has no rule between claims. Move both requests into one claim to link them.";

/** What can be tied to a box, of its claim: the other boxes, links that do not tie it yet, and at last itself alone. */
export function candidatesFrom(whole: ClaimSketch, from: string): readonly string[] {
  const sketch = claimsOf(whole).length ? partOf(whole, claimOf(nameOf(from))) : whole;
  const requests = requestsOf(sketch).map((request) => request.name);
  if (!isRequestId(from)) return requests.filter((name) => !ties(sketch, nameOf(from), name)).map(requestId);
  const name = nameOf(from);
  const links = linksOf(sketch).filter((link) => !ties(sketch, link.name, name));
  return [
    ...requests.filter((other) => other !== name).map(requestId),
    ...links.map((link) => linkId(link.name)),
    from,
  ];
}

/** A request by its name, a link by what it connects. */
function shown(sketch: ClaimSketch, id: string): string {
  const link = isRequestId(id) ? undefined : linkNamed(sketch, nameOf(id));
  return link ? linkTitle(link) : shortName(nameOf(id));
}

export function candidateWords(sketch: ClaimSketch, linking: Linking): string {
  const to = linking.candidates[linking.index] ?? "";
  const [from, name] = [shown(sketch, linking.from), shown(sketch, to)];
  const what =
    to === linking.from
      ? `the devices of ${from} with each other`
      : isRequestId(to)
        ? `${from} with ${name}`
        : `${from} into the link ${name}`;
  const place = `${linking.index + 1} of ${linking.candidates.length}`;
  const within = claimsOf(sketch).length ? ` Only claim ${claimOf(nameOf(linking.from))}: no rule joins claims.` : "";
  return `Link ${what} (${place}). Enter links, arrow keys choose, Esc cancels.${within}`;
}

/** Whether two nodes are of different claims, which nothing can link. */
export const isAcross = (a: string, b: string): boolean => claimOf(nameOf(a)) !== claimOf(nameOf(b));

const NEAREST: Readonly<Record<string, string>> = { "gpu+nic": "pcieRoot", gpu: "numaNode", nic: "numaNode" };

/** How a new link starts: the place and the word that a person most often means between these requests. */
export function startLink(status: CanvasStatus, references: readonly string[]): NewLink {
  const kinds = [...new Set(references.map((r) => status.requests?.[requestOf(r)]?.kind ?? "other"))].sort();
  const how: How = references.length === 2 && kinds.join("+") === "gpu+nic" ? "pairwise" : "together";
  const places = status.pairs?.[references.map(requestOf).sort().join("|")];
  const possible = places?.find((option) => option.enabled !== false)?.where;
  return { requests: references, how, where: possible ?? NEAREST[kinds.join("+")] ?? "numaNode" };
}

export interface Joined {
  sketch: ClaimSketch;
  /** The link that was made or tied further; "" where the two cannot be joined. */
  link: string;
}

/**
 * Join two ends of a drag: two boxes make a link, a box and a knot tie the box, one box alone links its own devices.
 */
export function join(sketch: ClaimSketch, status: CanvasStatus, a: string, b: string): Joined {
  const requests = [...new Set([a, b])].filter(isRequestId).map(nameOf);
  if (![a, b].every((id) => isRequestId(id) || isLinkId(id))) return { sketch, link: "" };
  const knot = [a, b].find((id) => !isRequestId(id));
  if (knot === undefined) {
    const { sketch: next, name } = addLink(sketch, startLink(status, requests));
    return { sketch: next, link: name };
  }
  const [request] = requests;
  if (request === undefined) return { sketch, link: "" };
  return { sketch: tie(sketch, nameOf(knot), request), link: nameOf(knot) };
}
