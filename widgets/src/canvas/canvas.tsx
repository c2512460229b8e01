// The whole canvas: palette, board, form; one editor behind all of them.
import { ReactFlowProvider } from "@xyflow/react";
import { type CSSProperties, type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { PaletteRow } from "../generated/models";
import { Icon } from "../view/icon";
import { Lost } from "../view/lost";
import { Board } from "./board";
import { onCanvasKey } from "./canvas_keys";
import { EditorProvider, useEditor } from "./editor";
import { linkId, placesOf, requestId, sizesOf } from "./flow";
import { Inspector } from "./inspector";
import { pushedApart } from "./layout";
import { candidateWords, join as joined, type Linking } from "./linking";
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
  // The box whose card is not shown: who has just added it adds the next one, and the card would lie over the board.
  const [isDragged, setDragged] = useState(false);
  const [quiet, setQuiet] = useState("");
  const flow = useFlow(editor, linking?.candidates[linking.index] ?? "", root);
  const arranged = Object.keys(placesOf(editor, flow.nodes)).some((name) => !editor.positions[name]);
  const [first, ...more] = flow.selected;
  const shown = first && !more.length && first.id === quiet ? [] : flow.selected;
  const fit = useView(flow.nodes, arranged, root, byMouse, shown.length === 1 ? (first?.id ?? "") : "");
  // What can be tied may be gone: a link that is being made ends when the drawing changes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the drawing changes
  useEffect(() => setLinking(null), [editor.sketch]);
  const find = useCallback((selector: string) => root.current?.querySelector<HTMLElement>(selector)?.focus(), []);

  const add = (row: PaletteRow, at?: { x: number; y: number }) => {
    let name = "";
    const draw = (sketch: typeof editor.sketch) => {
      const added = addRequest(sketch, row);
      name = added.name;
      return added.sketch;
    };
    const own = addRequest(editor.sketch, row);
    const places = at && {
      ...editor.positions,
      ...placesOf(editor, flow.nodes),
      [own.name]: [at.x, at.y] as const,
    };
    editor.edit(draw, places && pushedApart(own.sketch, places, [own.name], sizesOf(flow.nodes)));
    if (!name) return;
    setQuiet(requestId(name));
    flow.focus(requestId(name));
  };
  const join = (from: string, to: string) => {
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
    editor.edit((sketch) => ({ ...sketch, requests: [], links: [], config: [] }));
    find(".dra-board");
  };
  const closeCard = () => {
    setQuiet(flow.active);
    toBoard();
  };
  const editForm = () => {
    flushSync(() => setQuiet(""));
    find(".dra-inspector input:checked, .dra-inspector input, .dra-inspector select");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const targets = {
      editor,
      flow,
      linking,
      setLinking,
      join: joinByKey,
      choosePalette: () => (editor.readOnly ? undefined : find(".dra-chips button[tabindex='0']")),
      toggleKeys: () => setKeysShown((shown) => !shown),
      editForm,
      leaveForm: toBoard,
      closeCard,
    };
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
        className={`dra-canvas${isDragged ? " is-dragged" : ""}`}
        onDragStart={() => setDragged(true)}
        onDragEnd={() => setDragged(false)}
        aria-label="Claim canvas"
        style={style}
        data-requests={requestsOf(editor.sketch).length}
        data-links={linksOf(editor.sketch).length}
        onKeyDown={onKeyDown}
        onPointerDownCapture={(event) => {
          byMouse.current = true;
          const target = event.target as Element;
          const id = target.closest<HTMLElement>(".react-flow__node")?.dataset.id;
          // Who counts up on a box goes on counting, or to the next box.
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
        <Board flow={flow} setDragged={setDragged} onAdd={add} onJoin={join} byMouse={byMouse}>
          <Toolbar
            onFit={fit}
            onTidy={() => editor.place({})}
            onClear={clear}
            onKeys={() => setKeysShown(!keysShown)}
            keysShown={keysShown}
          />
          {linking && <p className="dra-banner">{candidateWords(editor.sketch, linking)}</p>}
          {editor.problem && <Problem text={editor.problem} onClose={editor.forget} />}
          {editor.isLost && !root.current?.closest(".dra-lab") && <Lost className="dra-banner is-problem dra-lost" />}
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
          onSelect={(id) => flow.select([id])}
          onDelete={flow.deleteSelected}
          onLink={(name) => join(requestId(name), requestId(name))}
          onClose={closeCard}
        />
        <div className="dra-sr" role="status" aria-live="polite">
          {editor.spoken}
        </div>
      </section>
    </EditorProvider>
  );
}

function Problem({ text, onClose }: { text: string; onClose(): void }) {
  return (
    <p className="dra-banner is-problem">
      <Icon name="warning" /> <span>{text}</span>
      <button type="button" className="dra-tool" aria-label="Close this message" onClick={onClose}>
        <Icon name="cross" />
      </button>
    </p>
  );
}
