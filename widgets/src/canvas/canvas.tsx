// ClaimCanvas, the browser half: palette, board, card; one editor behind all of them. Python decides what is drawn means.
import "@xyflow/react/dist/base.css";
import "../claim_canvas.css";
import { ReactFlowProvider } from "@xyflow/react";
import { type CSSProperties, type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Button } from "../components/button";
import { Callout } from "../components/content";
import type { Context } from "../view/late";
import { Lost, mount } from "../view/widget";
import { Board, useView } from "./board";
import { onCanvasKey } from "./canvas_keys";
import { EditorProvider, useEditor, useTrait } from "./editor";
import { candidateWords, editsOf, type Linking } from "./edits";
import { type CanvasNode, linkId, placesOf, requestId } from "./flow";
import { Inspector } from "./inspector";
import { linksOf, requestsOf } from "./sketch";
import { KeysPanel, Palette, Toolbar } from "./toolbar";
import { type Flow, useFlow } from "./use_flow";

// Which card is open: that of the selected box or link, or that of the whole claim.
function useCard(flow: Flow) {
  // The box whose card is closed: after a device, a person often adds the next one.
  const [quiet, setQuiet] = useState("");
  const [dragged, setDragged] = useState("");
  const [isWhole, setWhole] = useState(false);
  const count = flow.selected.length + flow.selectedEnds.length;
  useEffect(() => {
    if (count) setWhole(false);
  }, [count]);
  const shown = useRef<readonly CanvasNode[]>([]);
  const isClosed = flow.selected.length === 1 && flow.selected[0]?.id === quiet;
  // The board keeps its size while a box is dragged, or the box would move under the mouse.
  if (!dragged) shown.current = isClosed ? [] : flow.selected;
  /** A box is dragged, or a line from it; "" when it is dropped. Its card stays closed. */
  const drag = (id: string) => {
    setDragged(id);
    if (id) setQuiet(id);
  };
  return { shown: shown.current, isWhole, isDragged: dragged !== "", setWhole, setQuiet, drag };
}

// What a person must know of a change.
interface NoticeText {
  text: string;
  /** It is about a change that was made. */
  isUndoable: boolean;
}
/** Milliseconds that such a message stays. */
const READING = 15000;

export type Tell = (notice: NoticeText | null) => void;

/** A message that goes by itself. */
function useNotice(): [NoticeText | null, Tell] {
  const [notice, setNotice] = useState<NoticeText | null>(null);
  useEffect(() => {
    const timer = notice && setTimeout(() => setNotice(null), READING);
    return () => clearTimeout(timer ?? undefined);
  }, [notice]);
  return [notice, setNotice];
}

// The whole canvas: palette, board, form; one editor behind all of them.
function Canvas() {
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
  const flow = useFlow(editor, linking?.candidates[linking.index] ?? "", root);
  const arranged = Object.keys(placesOf(editor, flow.nodes)).some((name) => !editor.positions[name]);
  const { shown, isWhole, isDragged, setWhole, setQuiet, drag } = useCard(flow);
  const fit = useView(flow.nodes, arranged, root, shown.length === 1 ? (shown[0]?.id ?? "") : "", isDragged);
  // What can be tied may be gone: a link that is being made ends when the drawing changes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the drawing changes
  useEffect(() => setLinking(null), [editor.sketch]);
  const [notice, tell] = useNotice();
  const find = useCallback((selector: string) => root.current?.querySelector<HTMLElement>(selector)?.focus(), []);

  const { add, anotherClaim, keepTogether, moveTo, moveOn, join } = editsOf({ editor, flow, setQuiet, tell });
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
  const takeBack = () => {
    editor.undo();
    tell(null);
  };
  const clear = () => {
    editor.edit((sketch) => ({ ...sketch, requests: [], links: [], config: [], claims: [] }));
    find(".dra-board");
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
        onPointerDownCapture={() => {
          byMouse.current = true;
        }}
        // A click and not the press before it: a line that is drawn from a box must find the board as it was.
        onClickCapture={({ target }) => {
          const id = (target as Element).closest<HTMLElement>(".react-flow__node")?.dataset.id;
          // A person who counts up on a box goes on counting, or to the next box.
          if (id) setQuiet((target as Element).closest(".dra-stepper") ? id : "");
        }}
        onPointerUpCapture={() => {
          byMouse.current = false;
        }}
        onKeyDownCapture={() => {
          byMouse.current = false;
        }}
      >
        <Palette onAdd={add} onLeave={toBoard} />
        <div className="dra-desk dra-column dra-fill">
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
        {linking && <p className="dra-ruled dra-banner">{candidateWords(editor.sketch, linking)}</p>}
        {editor.problem && (
          <Callout
            tone="error"
            icon="warning"
            className="dra-ruled dra-banner"
            text={editor.problem}
            onHide={editor.forget}
          />
        )}
        {editor.isLost && !root.current?.closest(".dra-lab") && (
          <Lost className="dra-row dra-ruled dra-banner dra-lost" />
        )}
        {notice && (
          <Callout
            className="dra-ruled dra-banner is-notice"
            role="status"
            text={notice.text}
            onHide={() => tell(null)}
          >
            {notice.isUndoable && <Button onClick={takeBack}>Undo</Button>}
          </Callout>
        )}
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

// ClaimCanvas, the browser half: what a person draws. Python decides what it means.
export const render = (context: Context) => mount(context, "", Canvas);
