// The drawing as nodes and edges of React Flow: a box for each request, a knot for each link, an edge for each end.
import type { Edge, Node } from "@xyflow/react";
import type { ClaimSketch, DeviceRequest, Link } from "../generated/models";
import { claimOf, claimsOf, partOf } from "./claims";
import type { Editor } from "./editor";
import { around, claimKey, type Frame, frameOf, gangFrame, placed, podFrame } from "./frames";
import { BOX, KNOT, linkKey, type Place, type Places, type Sizes } from "./layout";
import { linksOf, mustOf, partsOf, requestOf, requestsOf, selectorsOf } from "./sketch";
import { type Badge, badgeOf, describeLink, describeRequest, linkTitle } from "./wording";

export interface BoxData extends Record<string, unknown> {
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
export interface KnotData extends Record<string, unknown> {
  link: Link;
  problem: string;
  cause: string;
  candidate: boolean;
}
export interface EndData extends Record<string, unknown> {
  must: boolean;
  alternative: string;
  problem: boolean;
}
export type BoxNode = Node<BoxData, "request">;
export type KnotNode = Node<KnotData, "link">;
export interface FrameData extends Record<string, unknown> {
  /** The claim; "" for the frame of the pod. */
  claim: string;
  name: string;
  detail: string;
  /** What is kept together, for the frame of a gang. */
  gang?: string;
}
export type FrameNode = Node<FrameData, "frame">;
export type CanvasNode = BoxNode | KnotNode | FrameNode;
export type EndEdge = Edge<EndData, "end">;

export const requestId = (name: string): string => `r:${name}`;
export const linkId = (name: string): string => `l:${name}`;
export const endId = (link: string, reference: string): string => `e:${link}:${reference}`;
export const claimId = (name: string): string => `c:${name}`;
export const POD = "p:";
export const GANG = "g:";
export const nameOf = (id: string): string => id.slice(2);
export const isRequestId = (id: string): boolean => id.startsWith("r:");
export const isLinkId = (id: string): boolean => id.startsWith("l:");
export const isClaimId = (id: string): boolean => id.startsWith("c:");
/** The claim that a node belongs to; "" in a drawing of one claim. */
export const claimOfNode = (id: string): string => (isClaimId(id) ? nameOf(id) : claimOf(nameOf(id)));

export interface Shown {
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
  const boxes = requestsOf(editor.sketch).map((request): BoxNode => {
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
  const knots = linksOf(editor.sketch).map((link): KnotNode => {
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
  const frames = claimsOf(editor.sketch).map((claim): FrameNode => {
    const { x, y, ...size } = frameOf(editor.sketch, claim, places, sizes);
    const count = requestsOf(partOf(editor.sketch, claim)).length;
    const detail = count ? "" : "Empty: drop a device here";
    const requests = `${count} ${count === 1 ? "request" : "requests"}`;
    return {
      ...common(claimId(claim), [x, y]),
      ...behind(size),
      dragHandle: ".dra-frame-head",
      connectable: false,
      ariaLabel: `Claim ${claim}, ${requests}`,
      data: { claim, name: claim, detail },
    };
  });
  const pod = podOf(editor, frames);
  const inside = pod[0] ? rectOf(pod[0]) : around(editor.sketch, editor.sketch, places, sizes);
  return [...boxes, ...knots, ...frames, ...pod, ...gangOf(editor, inside, common)];
}

/** A frame lies behind boxes and lines, also if it is selected, and lets the mouse through to them. */
const behind = (size: { width: number; height: number }) => ({
  ...size,
  type: "frame" as const,
  zIndex: -2000,
  style: { pointerEvents: "none" as const },
});

function podOf(editor: Known, frames: readonly FrameNode[]): FrameNode[] {
  if (!frames.length) return [];
  const name = editor.sketch.name ?? "pod";
  const { x, y, ...size } = podFrame(frames.map(rectOf));
  return [
    {
      id: POD,
      position: { x, y },
      ...behind(size),
      zIndex: -3000,
      draggable: false,
      selectable: false,
      focusable: false,
      connectable: false,
      data: { claim: "", name, detail: "" },
    },
  ];
}

/** The frame of the gang, around everything that is drawn. */
function gangOf(
  { gang }: Known,
  inside: Frame | null,
  common: (id: string, place: Place) => Omit<FrameNode, "type" | "data">,
): FrameNode[] {
  if (!gang.words || !inside) return [];
  const { x, y, ...size } = gangFrame(inside);
  return [
    {
      ...common(GANG, [x, y]),
      ...behind(size),
      zIndex: -4000,
      draggable: false,
      connectable: false,
      ariaLabel: `Gang: ${gang.words}. Enter edits it, Delete removes it.`,
      data: { claim: "", name: "", detail: "", gang: gang.frame || gang.words },
    },
  ];
}

export const rectOf = ({ position, width = 0, height = 0 }: FrameNode): Frame => ({ ...position, width, height });

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
      .filter(({ id }) => id !== POD && id !== GANG)
      .map(({ id, position }) => [
        placeKey(editor.sketch, id),
        [Math.round(position.x), Math.round(position.y)] as const,
      ]),
  );
}
