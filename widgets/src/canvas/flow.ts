// The drawing as nodes and edges of React Flow: a box for each request, a knot for each link, an edge for each end.

import type { Edge, Node } from "@xyflow/react";
import type { ClaimSketch, DeviceRequest, Link } from "../generated/models";
import { claimOf, claimsOf, partOf } from "./claims";
import type { Editor } from "./editor";
import {
  around,
  BOX,
  claimKey,
  type Frame,
  frameOf,
  gangFrame,
  KNOT,
  linkKey,
  type Place,
  type Places,
  placed,
  podFrame,
  type Sizes,
  sameKnot,
} from "./layout";
import { linksOf, mustOf, partsOf, requestOf, requestsOf, selectorsOf } from "./sketch";
import { type Badge, badgeOf, describeLink, describeRequest, linkTitle } from "./wording";

interface BoxData extends Record<string, unknown> {
  request: DeviceRequest;
  badge: Badge;
  kind: string;
  title: string;
  text: string;
  error: string;
  /** Why it keeps the claim from fitting; "" where it does not. */
  cause: string;
  lit: boolean;
  candidate: boolean;
}
interface KnotData extends Record<string, unknown> {
  link: Link;
  problem: string;
  cause: string;
  candidate: boolean;
}
interface EndData extends Record<string, unknown> {
  must: boolean;
  alternative: string;
  problem: boolean;
}
export type BoxNode = Node<BoxData, "request">;
export type KnotNode = Node<KnotData, "link">;
interface FrameData extends Record<string, unknown> {
  /** The claim; "" for the frame of the pod. */
  claim: string;
  name: string;
  detail: string;
  /** What is kept together, for the frame of a gang. */
  gang?: string;
  /** What all pods of the gang have the same of, and the values that the plan chose: the knot on its frame. */
  same?: string;
  values?: string;
}
export type FrameNode = Node<FrameData, "frame">;
export type CanvasNode = BoxNode | KnotNode | FrameNode;
export type EndEdge = Edge<EndData, "end">;

export const requestId = (name: string): string => `r:${name}`;
export const linkId = (name: string): string => `l:${name}`;
const endId = (link: string, reference: string): string => `e:${link}:${reference}`;
export const claimId = (name: string): string => `c:${name}`;
const POD = "p:";
export const GANG = "g:";
/** The link between all pods of a gang. */
export const SAME = "s:";
export const nameOf = (id: string): string => id.slice(2);
export const isRequestId = (id: string): boolean => id.startsWith("r:");
export const isLinkId = (id: string): boolean => id.startsWith("l:");
export const isClaimId = (id: string): boolean => id.startsWith("c:");
/** The claim that a node belongs to; "" in a drawing of one claim. */
export const claimOfNode = (id: string): string => (isClaimId(id) ? nameOf(id) : claimOf(nameOf(id)));

interface Shown {
  /** The node that Tab enters at. */
  active: string;
  /** The node that a link would be tied to next. */
  candidate: string;
}

type Known = Pick<
  Editor,
  "sketch" | "status" | "palette" | "positions" | "problems" | "gang" | "highlight" | "readOnly"
>;

const causeOf = (editor: Known, kind: "request" | "link", name: string): string =>
  editor.problems.find((problem) => problem.kind === kind && problem.name === name)?.text ?? "";

export function toNodes(editor: Known, shown: Shown, old: readonly CanvasNode[]): CanvasNode[] {
  const before = new Map(old.map((node) => [node.id, node]));
  const sizes = sizesOf(editor.sketch, old);
  const places = placed(editor.sketch, editor.positions, sizes);
  const common = (id: string, [x, y]: Place) => {
    const known = before.get(id);
    const position = known?.dragging ? known.position : { x, y };
    return {
      id,
      position,
      draggable: !editor.readOnly,
      connectable: !editor.readOnly,
      ...(known?.measured ? { measured: known.measured } : {}),
      selected: known?.selected ?? false,
      dragging: known?.dragging ?? false,
      domAttributes: { tabIndex: id === shown.active ? 0 : -1 },
    };
  };
  const making = { editor, shown, places, sizes, common };
  return [...boxNodes(making), ...knotNodes(making), ...frameNodes(making)];
}

/** What the nodes of a drawing are made from. */
interface Making {
  readonly editor: Known;
  readonly shown: Shown;
  readonly places: Places;
  readonly sizes: Sizes;
  /** What every node has. */
  common(id: string, place: Place): Pick<CanvasNode, "id" | "position" | "domAttributes">;
}

const boxNodes = ({ editor, shown, places, common }: Making): BoxNode[] =>
  requestsOf(editor.sketch).map((request) => {
    const id = requestId(request.name);
    return {
      ...common(id, places[request.name] ?? [0, 0]),
      type: "request",
      initialWidth: BOX.width,
      initialHeight: BOX.height,
      ariaLabel: describeRequest(editor.sketch, editor.status, request, causeOf(editor, "request", request.name)),
      data: boxData(editor, request, shown.candidate === id),
    };
  });

const knotNodes = ({ editor, shown, places, common }: Making): KnotNode[] =>
  linksOf(editor.sketch).map((link) => {
    const id = linkId(link.name);
    const problem = editor.status.links?.[link.name]?.problem ?? "";
    const cause = causeOf(editor, "link", link.name);
    return {
      ...common(id, places[linkKey(editor.sketch, link.name)] ?? [0, 0]),
      type: "link",
      initialWidth: KNOT.width,
      initialHeight: KNOT.height,
      ariaLabel: describeLink(link, editor.status, cause),
      data: { link, problem, cause, candidate: shown.candidate === id },
    };
  });

/** The frames of the claims, of the pod around them, and of the gang around everything. */
function frameNodes({ editor, places, sizes, common }: Making): FrameNode[] {
  const { sketch, gang } = editor;
  const frame = (id: string, { x, y, width, height }: Frame, depth: number, data: FrameData): FrameNode => ({
    ...common(id, [x, y]),
    type: "frame",
    width,
    height,
    // It lies behind boxes and lines, also if it is selected, and lets the mouse through to them.
    zIndex: -1000 * depth,
    style: { pointerEvents: "none" },
    dragHandle: ".dra-frame-head",
    connectable: false,
    data,
  });
  const claims = claimsOf(sketch).map((claim): FrameNode => {
    const count = requestsOf(partOf(sketch, claim)).length;
    const detail = count ? "" : "Empty: drop a device here";
    return {
      ...frame(claimId(claim), frameOf(sketch, claim, places, sizes), 2, { claim, name: claim, detail }),
      ariaLabel: `Claim ${claim}, ${count} ${count === 1 ? "request" : "requests"}`,
    };
  });
  const nodes = [...claims];
  const pod = claims.length ? podFrame(claims.map(rectOf)) : null;
  if (pod) {
    const own = frame(POD, pod, 3, { claim: "", name: sketch.name ?? "pod", detail: "" });
    nodes.push({ ...own, draggable: false, selectable: false, focusable: false });
  }
  const inside = pod ?? around(sketch, sketch, places, sizes);
  if (gang.words && inside) {
    const around = gangFrame(inside);
    const outer = gang.link ? { ...around, height: around.height + KNOT.height / 2 } : around;
    const own = frame(GANG, outer, 4, { claim: "", name: "", detail: "", gang: gang.frame || gang.words });
    const ariaLabel = `Gang: ${gang.words}. Enter edits it, Delete removes it.`;
    nodes.push({ ...own, draggable: false, ariaLabel });
    const { link = "", values = "" } = gang;
    const bound = requestsOf(sketch).flatMap(({ name }) => (isBound(gang, name) && places[name] ? [places[name]] : []));
    const knot = sameKnot(rectOf(own), bound, `${link}${values && `, ${values}`}`.length);
    const data = { claim: "", name: "", detail: "", same: link, values };
    const said = `Link: ${link}${values && `, ${values}`}. Enter edits it, Delete removes it.`;
    if (link) nodes.push({ ...frame(SAME, knot, 0, data), draggable: false, ariaLabel: said });
  }
  return nodes;
}

const rectOf = ({ position, width = 0, height = 0 }: FrameNode): Frame => ({ ...position, width, height });

export const isFrame = (node: CanvasNode): node is FrameNode => node.type === "frame";

/** The frames of the claims as they are shown. */
export const framesOf = (nodes: readonly CanvasNode[]): ReadonlyMap<string, Frame> =>
  new Map(nodes.filter(isFrame).flatMap((node) => (node.data.claim ? [[node.data.claim, rectOf(node)]] : [])));

/** The sizes of boxes and links as they are drawn, by the keys of their places: a long text makes a box higher. */
export const sizesOf = (sketch: ClaimSketch, nodes: readonly CanvasNode[]): Sizes =>
  Object.fromEntries(
    nodes.flatMap((node) =>
      !isFrame(node) && node.measured?.width && node.measured.height
        ? [[placeKey(sketch, node.id), { width: node.measured.width, height: node.measured.height }]]
        : [],
    ),
  );

function boxData(editor: Known, request: DeviceRequest, candidate: boolean): BoxData {
  const told = editor.status.requests?.[request.name];
  const [part] = partsOf(request);
  const asked = JSON.stringify(part ? selectorsOf(part) : []);
  const offer = editor.palette.find(
    (row) => row.deviceClass === part?.deviceClassName && JSON.stringify(row.selectors ?? []) === asked,
  );
  const { highlight } = editor;
  return {
    request,
    badge: badgeOf(editor.sketch, editor.status, request.name),
    kind: (told?.kind !== "other" && told?.kind) || offer?.kind || told?.kind || "other",
    title: offer?.label || told?.label || part?.deviceClassName || "",
    text: told?.text || (told?.total ? `${told.matching ?? 0} of ${told.total} match` : "counting \u2026"),
    error: told?.error ?? "",
    cause: causeOf(editor, "request", request.name),
    lit: highlight !== "" && (highlight === request.name || (told?.matchingIds ?? []).includes(highlight)),
    candidate,
  };
}

export function toEdges(editor: Known, old: readonly EndEdge[]): EndEdge[] {
  const selected = new Set(old.filter((edge) => edge.selected).map((edge) => edge.id));
  return [...sameEdges(editor), ...linkEdges(editor, selected)];
}

/** Whether devices of a request have an attribute of which all pods use the same values. */
const isBound = ({ same = [], sames = [] }: Known["gang"], request: string): boolean =>
  sames.some((row) => same.includes(row.name) && row.requests?.includes(request));

/** The lines from the link between all pods to the requests that it binds. */
function sameEdges({ sketch, gang }: Known): EndEdge[] {
  if (!gang.words) return [];
  return requestsOf(sketch)
    .filter((request) => isBound(gang, request.name))
    .map(({ name }) => ({
      id: endId("", name),
      type: "end",
      source: SAME,
      target: requestId(name),
      focusable: false,
      selectable: false,
      data: { must: true, alternative: "", problem: false },
    }));
}

function linkEdges(editor: Known, selected: ReadonlySet<string>): EndEdge[] {
  return linksOf(editor.sketch).flatMap((link) =>
    link.requests.map((reference): EndEdge => {
      const id = endId(link.name, reference);
      return {
        id,
        type: "end",
        source: linkId(link.name),
        target: requestId(requestOf(reference)),
        selected: selected.has(id),
        focusable: false,
        ariaLabel: `${linkTitle(link)} connects ${reference}`,
        data: {
          must: mustOf(link),
          alternative: reference.split("/")[1] ?? "",
          problem: Boolean(editor.status.links?.[link.name]?.problem || causeOf(editor, "link", link.name)),
        },
      };
    }),
  );
}

/** The key of the place of a box or knot. */
export const placeKey = (sketch: ClaimSketch, id: string): string =>
  isRequestId(id) ? nameOf(id) : isClaimId(id) ? claimKey(nameOf(id)) : linkKey(sketch, nameOf(id));

/** Where all boxes stand now, to be kept: one moved box must not make the others jump. */
export function placesOf(editor: Pick<Editor, "sketch">, nodes: readonly CanvasNode[]): Places {
  return Object.fromEntries(
    nodes
      .filter(({ id }) => id !== POD && id !== GANG && id !== SAME)
      .map(({ id, position }) => [
        placeKey(editor.sketch, id),
        [Math.round(position.x), Math.round(position.y)] as const,
      ]),
  );
}
