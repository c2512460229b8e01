// The whole canvas: palette, board, form; one editor behind all of them.

import { ReactFlowProvider } from "@xyflow/react";
import { type CSSProperties, type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Button } from "../components/button";
import { Callout } from "../components/callout";
import type { PaletteRow } from "../generated/models";
import { Lost } from "../view/lost";
import { Board } from "./board";
import { onCanvasKey } from "./canvas_keys";
import { addClaim, claimsOf, moveRequests, renamedPlaces, shortName } from "./claims";
import { EditorProvider, useCanvas, useEditor } from "./editor";
import {
  type CanvasNode,
  claimId,
  claimOfNode,
  GANG,
  isRequestId,
  linkId,
  nameOf,
  placesOf,
  requestId,
  sizesOf,
} from "./flow";
import { apart } from "./frames";
import { Inspector } from "./inspector";
import type { Place, Places } from "./layout";
import { candidateWords, isAcross, join as joined, type Linking, OTHER_CLAIM } from "./linking";
import { useTrait } from "./model";
import { Palette } from "./palette";
import { addRequest, linksOf, requestsOf } from "./sketch";
import { KeysPanel, Toolbar } from "./toolbar";
import { useFlow } from "./use_flow";
import { useView } from "./use_view";

export function Canvas() {
  return (
    <ReactFlowProvider>
      <Desk />
    </ReactFlowProvider>
  );
}

function Desk() {
  const root = useRef<HTMLElement>(null);
  const byMouse = useRef(false);
  const editor = useEditor();
  const height = useTrait("height");
  const [linking, setLinking] = useState<Linking | null>(null);
  const [keysShown, setKeysShown] = useState(false);
  // The box whose card is not shown: after a device, a person often adds the next one.
  const [quiet, setQuiet] = useState("");
  const [dragged, setDragged] = useState("");
  const [isWhole, setWhole] = useState(false);
  const flow = useFlow(editor, linking?.candidates[linking.index] ?? "", root);
  const arranged = Object.keys(placesOf(editor, flow.nodes)).some((name) => !editor.positions[name]);
  const [first, ...more] = flow.selected;
  const card = useRef<readonly CanvasNode[]>([]);
  // The board keeps its size while a box is dragged, or the box would move under the mouse.
  if (!dragged) card.current = first && !more.length && first.id === quiet ? [] : flow.selected;
  const shown = card.current;
  const fit = useView(flow.nodes, arranged, root, shown.length === 1 ? (shown[0]?.id ?? "") : "", dragged !== "");
  const selectedCount = flow.selected.length + flow.selectedEnds.length;
  useEffect(() => {
    if (selectedCount) setWhole(false);
  }, [selectedCount]);
  // What can be tied may be gone: a link that is being made ends when the drawing changes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the drawing changes
  useEffect(() => setLinking(null), [editor.sketch]);
  // What a person must know of a change: it can be closed, and goes by itself.
  const [notice, setNotice] = useState<NoticeText | null>(null);
  useEffect(() => {
    const timer = notice && setTimeout(() => setNotice(null), READING);
    return () => clearTimeout(timer ?? undefined);
  }, [notice]);
  const find = useCallback((selector: string) => root.current?.querySelector<HTMLElement>(selector)?.focus(), []);

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
    if (moved.cut.length) setNotice({ text, isUndoable: true });
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
      setNotice({ text: OTHER_CLAIM, isUndoable: false });
      return "";
    }
    const { link } = joined(editor.sketch, editor.status, from, to);
    if (!link) editor.say("Drop the line on a request to link them");
    else if (editor.edit((sketch) => joined(sketch, editor.status, from, to).sketch)) flow.focus(linkId(link));
    else editor.say("Already linked");
    return link;
  };
  // By keyboard the form of the new link is next: its place and kind.
  const opening = useRef("");
  useEffect(() => {
    const [only] = flow.selected;
    if (!opening.current || only?.id !== opening.current) return;
    opening.current = "";
    find(".dra-inspector input:checked");
  }, [flow.selected, find]);
  const joinByKey = (from: string, to: string) => {
    const link = join(from, to);
    opening.current = link ? linkId(link) : "";
  };
  const toBoard = () => (flow.active ? flow.focus(flow.active) : find(".dra-board"));
  const clear = () => {
    editor.edit((sketch) => ({ ...sketch, requests: [], links: [], config: [], claims: [] }));
    find(".dra-board");
  };
  const drag = (id: string) => {
    setDragged(id);
    if (id) setQuiet(id);
  };
  const closeCard = () => {
    setWhole(false);
    setQuiet(flow.active);
    toBoard();
  };
  const editForm = () => {
    flushSync(() => setQuiet(""));
    find(".dra-inspector input:checked, .dra-inspector input, .dra-inspector select");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const acts = {
      add: () => (editor.readOnly ? undefined : find(".dra-chips button[tabindex='0']")),
      claim: anotherClaim,
      gang: keepTogether,
      "to-claim": moveOn,
      keys: () => setKeysShown((shown) => !shown),
      confirm: editForm,
      cancel: () => {
        closeCard();
        editor.say("");
      },
    };
    const targets = { editor, flow, linking, setLinking, join: joinByKey, leaveForm: toBoard, acts };
    if (event.key === "Tab") setLinking(null);
    if (event.key === "Escape" && keysShown) setKeysShown(false);
    if (!onCanvasKey(event, targets)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const style = useMemo(() => ({ height: height ? `${height}px` : "100%" }) as CSSProperties, [height]);
  return (
    <EditorProvider value={editor}>
      <section
        ref={root}
        className="dra-canvas"
        aria-label="Claim canvas"
        style={style}
        data-requests={requestsOf(editor.sketch).length}
        data-links={linksOf(editor.sketch).length}
        onKeyDown={onKeyDown}
        onPointerDownCapture={(event) => {
          byMouse.current = true;
          const target = event.target as Element;
          const id = target.closest<HTMLElement>(".react-flow__node")?.dataset.id;
          // A person who counts up on a box goes on counting, or to the next box.
          if (id) setQuiet(target.closest(".dra-stepper") ? id : "");
        }}
        onPointerUpCapture={() => {
          byMouse.current = false;
        }}
        onKeyDownCapture={() => {
          byMouse.current = false;
        }}
      >
        <Palette onAdd={add} onLeave={toBoard} />
        <div className="dra-desk">
          <Board flow={flow} setDragged={drag} onAdd={add} onMove={moveTo} onJoin={join} byMouse={byMouse}>
            {keysShown && (
              <KeysPanel
                onClose={() => {
                  setKeysShown(false);
                  toBoard();
                }}
              />
            )}
          </Board>
          <Inspector
            selected={shown}
            ends={flow.selectedEnds.length}
            isWhole={isWhole}
            onSelect={(id) => flow.select([id])}
            onDelete={flow.deleteSelected}
            onLink={(name) => join(requestId(name), requestId(name))}
            onMove={(name, claim) => moveTo([name], claim)}
            onClaim={anotherClaim}
            onClose={closeCard}
          />
        </div>
        {linking && <p className="dra-banner">{candidateWords(editor.sketch, linking)}</p>}
        {editor.problem && <Problem text={editor.problem} onClose={editor.forget} />}
        {editor.isLost && !root.current?.closest(".dra-lab") && <Lost className="dra-row dra-banner dra-lost" />}
        {notice && <Notice {...notice} onClose={() => setNotice(null)} />}
        <Toolbar
          onFit={fit}
          onTidy={() => editor.place({})}
          onClear={clear}
          onClaim={anotherClaim}
          onGang={keepTogether}
          onKeys={() => setKeysShown(!keysShown)}
          keysShown={keysShown}
          onWhole={() => {
            flow.select([]);
            setWhole(!isWhole);
          }}
          isWhole={isWhole}
        />
        <div className="dra-sr" role="status" aria-live="polite">
          {editor.spoken}
        </div>
      </section>
    </EditorProvider>
  );
}

interface NoticeText {
  text: string;
  /** It is about a change that was made. */
  isUndoable: boolean;
}
/** Milliseconds that such a message stays. */
const READING = 15000;

function Notice({ text, isUndoable, onClose }: NoticeText & { onClose(): void }) {
  const { undo } = useCanvas();
  const takeBack = () => {
    undo();
    onClose();
  };
  return (
    <Callout className="dra-banner is-notice" role="status">
      <span>{text}</span>
      {isUndoable && <Button onClick={takeBack}>Undo</Button>}
      <Button kind="quiet" icon="cross" label="Close this message" onClick={onClose} />
    </Callout>
  );
}

function Problem({ text, onClose }: { text: string; onClose(): void }) {
  return (
    <Callout tone="error" icon="warning" className="dra-banner">
      <span>{text}</span>
      <Button kind="quiet" icon="cross" label="Close this message" onClick={onClose} />
    </Callout>
  );
}
