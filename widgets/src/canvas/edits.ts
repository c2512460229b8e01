// What a person does to the drawing with the mouse or a key: each is one change, after which the new box has the focus.
import type { PaletteRow } from "../generated/models";
import { addClaim, claimsOf, moveRequests, renamedPlaces, shortName } from "./claims";
import type { Editor } from "./editor";
import { claimId, claimOfNode, GANG, isRequestId, linkId, nameOf, placesOf, requestId, sizesOf } from "./flow";
import { apart } from "./frames";
import type { Place, Places } from "./layout";
import { isAcross, join as joined, OTHER_CLAIM } from "./linking";
import type { Tell } from "./notice";
import { addRequest, requestsOf } from "./sketch";
import type { Flow } from "./use_flow";

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
