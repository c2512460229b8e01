// What a person does to the drawing with the mouse or a key: each is one change, after which the new box has the focus.
import type { CanvasStatus, ClaimSketch, PaletteRow } from "../generated/models";
import type { Tell } from "./canvas";
import { addClaim, claimOf, claimsOf, moveRequests, partOf, renamedPlaces, shortName } from "./claims";
import type { Editor } from "./editor";
import {
  claimId,
  claimOfNode,
  GANG,
  isLinkId,
  isRequestId,
  linkId,
  nameOf,
  placesOf,
  requestId,
  sizesOf,
} from "./flow";
import { apart, type Place, type Places } from "./layout";
import { addLink, addRequest, type How, linkNamed, linksOf, type NewLink, requestOf, requestsOf, tie } from "./sketch";
import type { Flow } from "./use_flow";
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
const OTHER_CLAIM = "Kubernetes has no rule between claims. Move both requests into one claim to link them.";

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

interface Joined {
  sketch: ClaimSketch;
  /** The link that was made or tied further; "" where the two cannot be joined. */
  link: string;
}

/**
 * Join two ends of a drag: two boxes make a link, a box and a knot tie the box, one box alone links its own devices.
 */
export function joined(sketch: ClaimSketch, status: CanvasStatus, a: string, b: string): Joined {
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

interface Targets {
  editor: Editor;
  flow: Flow;
  /** Leave the card of a box closed. */
  setQuiet(id: string): void;
  tell: Tell;
}

/** The edits of the drawing as it is now. */
export function editsOf({ editor, flow, setQuiet, tell }: Targets) {
  /** The claim to which a device is added: that of what has the focus, else the last one. */
  const claims = claimsOf(editor.sketch);
  const here = claimOfNode(flow.active);
  const current = claims.includes(here) ? here : (claims.at(-1) ?? "");
  const add = (row: PaletteRow, at?: { x: number; y: number }, over = "") => {
    let name = "";
    const claim = over || current;
    const draw = (sketch: typeof editor.sketch) => {
      const added = addRequest(sketch, row, claim);
      name = added.name;
      return added.sketch;
    };
    const own = addRequest(editor.sketch, row, claim);
    const places = at && {
      ...editor.positions,
      ...placesOf(editor, flow.nodes),
      [own.name]: [at.x, at.y] as const,
    };
    editor.edit(draw, places && apart(own.sketch, places, [own.name], sizesOf(editor.sketch, flow.nodes)));
    if (!name) return;
    flow.select([]);
    setQuiet(requestId(name));
    flow.focus(requestId(name));
  };
  const anotherClaim = () => {
    if (editor.readOnly) return;
    const added = addClaim(editor.sketch);
    const places = renamedPlaces(
      { ...editor.positions, ...placesOf(editor, flow.nodes) },
      editor.sketch,
      added.renamed,
    );
    if (editor.edit(() => added.sketch, places)) flow.focus(claimId(added.claim));
  };
  const keepTogether = () => {
    if (editor.readOnly || !requestsOf(editor.sketch).length) return;
    if (!editor.gang.words) editor.makeGang();
    flow.focus(GANG);
  };
  const moveTo = (requests: readonly string[], claim: string, at?: Places) => {
    const moved = moveRequests(editor.sketch, requests, claim);
    if (editor.readOnly || !moved.names.length) return;
    const known = { ...editor.positions, ...(at ?? placesOf(editor, flow.nodes)) };
    const places: Record<string, Place> = { ...renamedPlaces(known, editor.sketch, moved.renamed) };
    // Moved by key or card, a box goes where there is room in the other frame.
    if (!at) for (const name of moved.names) delete places[name];
    const next = at ? apart(moved.sketch, places, moved.names, sizesOf(editor.sketch, flow.nodes)) : places;
    if (!editor.edit(() => moved.sketch, next)) return;
    const what = moved.names.map(shortName).join(", ");
    const links = `${moved.cut.length === 1 ? "the link" : "the links"} ${moved.cut.join(", ")}`;
    const text = `${what} moved to claim ${claim}. This removed ${links}: no rule joins claims.`;
    if (moved.cut.length) tell({ text, isUndoable: true });
    else editor.say(`${what} moved to claim ${claim}`);
    const [only] = moved.names;
    if (!only) return;
    if (at || moved.cut.length) setQuiet(requestId(only));
    flow.focus(requestId(only));
  };
  const moveOn = () => {
    const requests = flow.selected.filter((node) => isRequestId(node.id)).map((node) => nameOf(node.id));
    const next = claims[(claims.indexOf(current) + 1) % claims.length];
    if (!claims.length) editor.say("There is one claim. Shift+N adds another one.");
    else if (next && requests.length) moveTo(requests, next);
  };
  const join = (from: string, to: string) => {
    if (isAcross(from, to)) {
      tell({ text: OTHER_CLAIM, isUndoable: false });
      return "";
    }
    const { link } = joined(editor.sketch, editor.status, from, to);
    if (!link) editor.say("Drop the line on a request to link them");
    else if (editor.edit((sketch) => joined(sketch, editor.status, from, to).sketch)) flow.focus(linkId(link));
    else editor.say("Already linked");
    return link;
  };
  return { add, anotherClaim, keepTogether, moveTo, moveOn, join };
}
