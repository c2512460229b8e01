// The nodes and edges that React Flow works on, rebuilt whenever the drawing changes; selection and focus live here.
import { applyEdgeChanges, applyNodeChanges, type EdgeChange, type NodeChange } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { claimsOf, partOf, type Renamed, removeClaim, renamedPlaces } from "./claims";
import type { Editor } from "./editor";
import {
  type CanvasNode,
  type EndEdge,
  GANG,
  isClaimId,
  isLinkId,
  isRequestId,
  linkId,
  nameOf,
  requestId,
  SAME,
  toEdges,
  toNodes,
} from "./flow";
import type { Places } from "./layout";
import { linksOf, type Removal, remove, requestsOf } from "./sketch";

export type Flow = ReturnType<typeof useFlow>;

const isNotRemoval = (change: { type: string }) => change.type !== "remove";

export function useFlow(editor: Editor, candidate: string, root: RefObject<HTMLElement | null>) {
  const [wanted, setActive] = useState("");
  const [nodes, setNodes] = useState<CanvasNode[]>([]);
  const [edges, setEdges] = useState<EndEdge[]>([]);
  const active = useMemo(
    () => (nodes.some((node) => node.id === wanted) ? wanted : (nodes[0]?.id ?? "")),
    [nodes, wanted],
  );
  const { sketch, status, palette, positions, problems, gang, highlight, readOnly } = editor;
  const renamed = useRef("");
  const [measured, setMeasured] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: frames are worked out again when boxes have another size
  useLayoutEffect(() => {
    const known = { sketch, status, palette, positions, problems, gang, highlight, readOnly };
    setNodes((old) => {
      const next = toNodes(known, { active, candidate }, old);
      const due = renamed.current;
      if (!due || !next.some((node) => node.id === due)) return next;
      renamed.current = "";
      return next.map((node) => ({ ...node, selected: node.id === due }));
    });
    setEdges((old) => toEdges(known, old));
  }, [sketch, status, palette, positions, problems, gang, highlight, readOnly, active, candidate, measured]);

  const hasFrames = claimsOf(sketch).length > 0 || gang.words !== undefined;
  const onNodesChange = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      setNodes((now) => applyNodeChanges(changes.filter(isNotRemoval), now));
      // A box that has become higher makes the frame around it larger.
      const isMember = (id: string) => isRequestId(id) || isLinkId(id);
      if (hasFrames && changes.some((change) => change.type === "dimensions" && isMember(change.id)))
        setMeasured((count) => count + 1);
    },
    [hasFrames],
  );
  const onEdgesChange = useCallback((changes: EdgeChange<EndEdge>[]) => {
    setEdges((now) => applyEdgeChanges(changes.filter(isNotRemoval), now));
  }, []);
  const select = useCallback((ids: readonly string[]) => {
    // A box that was just renamed is not drawn yet: it is selected when it is.
    renamed.current = ids.length === 1 ? (ids[0] ?? "") : "";
    setNodes((now) =>
      now.map((node) => (node.selected === ids.includes(node.id) ? node : { ...node, selected: !node.selected })),
    );
    setEdges((now) => now.map((edge) => (edge.selected ? { ...edge, selected: false } : edge)));
  }, []);
  /** Select one node and give it the focus, at once or as soon as it is drawn. */
  const focus = useFocus(nodes, root, select, setActive);
  const selected = useMemo(() => nodes.filter((node) => node.selected), [nodes]);
  const selectedEnds = useMemo(() => edges.filter((edge) => edge.selected), [edges]);

  const deleteSelected = useCallback(() => {
    const removal = removalOf(selected, selectedEnds);
    if (selected.some((node) => node.id === SAME)) {
      editor.changeGang({ ...editor.gang, same: [] });
      focus(GANG);
    }
    if (selected.some((node) => node.id === GANG)) {
      editor.changeGang({ size: 0 });
      root.current?.querySelector<HTMLElement>(".dra-board")?.focus();
    }
    const survivor = survivorOf(editor, nodes, selected, removal);
    const had = root.current?.querySelector(".react-flow")?.contains(document.activeElement);
    const { sketch: next, places } = without(editor, removal);
    const changed = editor.edit((before) => (isEmpty(removal) ? before : next), places);
    if (!changed || !had) return;
    if (survivor) focus(survivor);
    else root.current?.querySelector<HTMLElement>(".dra-board")?.focus();
  }, [editor, nodes, selected, selectedEnds, root, focus]);

  const changes = { onNodesChange, onEdgesChange, setNodes, setActive };
  return { nodes, edges, active, selected, selectedEnds, ...changes, select, focus, deleteSelected };
}

type Taken = Removal & { claims: readonly string[] };

function removalOf(selected: readonly CanvasNode[], ends: readonly EndEdge[]): Taken {
  const names = (is: (id: string) => boolean) => selected.filter((node) => is(node.id)).map((node) => nameOf(node.id));
  return {
    requests: names(isRequestId),
    links: names(isLinkId),
    claims: names(isClaimId),
    ends: ends.map((edge) => ({
      link: nameOf(edge.source),
      reference: edge.id.slice(`e:${nameOf(edge.source)}:`.length),
    })),
  };
}

const isEmpty = ({ requests, links, ends, claims }: Taken) =>
  !requests?.length && !links?.length && !ends?.length && !claims.length;

/** The drawing without what is taken out of it, claims with all that is in them; with places if names change. */
function without(editor: Editor, { claims, ...removal }: Taken): Renamed & { places?: Places } {
  const gone = claims.flatMap((claim) => requestsOf(partOf(editor.sketch, claim)).map((request) => request.name));
  const rest = remove(editor.sketch, { ...removal, requests: [...(removal.requests ?? []), ...gone] });
  let [sketch, renamed] = [rest, (name: string) => name];
  for (const claim of claims) if (claimsOf(sketch).length) ({ sketch, renamed } = removeClaim(sketch, claim));
  if (!claims.length) return { sketch, renamed };
  return { sketch, renamed, places: renamedPlaces(editor.positions, rest, renamed) };
}

/** Where the focus goes when what has it is deleted: the next box that stays, else the one before. */
function survivorOf(
  editor: Editor,
  nodes: readonly CanvasNode[],
  selected: readonly CanvasNode[],
  removal: Taken,
): string | null {
  const { sketch: after, renamed } = without(editor, removal);
  const now = (id: string) =>
    isRequestId(id) ? requestId(renamed(nameOf(id))) : isLinkId(id) ? linkId(renamed(nameOf(id))) : id;
  const stays = (id: string) =>
    isRequestId(id)
      ? after.requests?.some((r) => requestId(r.name) === now(id))
      : isLinkId(id)
        ? linksOf(after).some((link) => linkId(link.name) === now(id))
        : claimsOf(after).includes(nameOf(id));
  const from = nodes.findIndex((node) => node.id === (selected[0]?.id ?? ""));
  const order = [...nodes.slice(from + 1), ...nodes.slice(0, Math.max(0, from)).reverse()];
  const next = order.find((node) => stays(node.id))?.id;
  return next === undefined ? null : now(next);
}

function useFocus(
  nodes: readonly CanvasNode[],
  root: RefObject<HTMLElement | null>,
  select: (ids: readonly string[]) => void,
  setActive: (id: string) => void,
): (id: string) => void {
  const waiting = useRef("");
  const reach = useCallback(() => {
    const element = root.current?.querySelector<HTMLElement>(
      `.react-flow__node[data-id="${CSS.escape(waiting.current)}"]`,
    );
    element?.focus();
    if (!element || document.activeElement !== element) return;
    select([waiting.current]);
    setActive(waiting.current);
    waiting.current = "";
  }, [root, select, setActive]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a node to be reached may have come
  useEffect(() => {
    if (waiting.current) reach();
  }, [nodes, reach]);
  return useCallback(
    (id: string) => {
      waiting.current = id;
      reach();
    },
    [reach],
  );
}
