// PlanView: the verdict, "why not?", what is exported, and the dock with what stands behind the answer.
import "../plan_view.css";
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import { CompareMode } from "../compare/compare_mode";
import { Button, CopyButton } from "../components/button";
import { Callout, FindingsList, PaneProblem } from "../components/content";
import { Switch } from "../components/inputs";
import { Popover, usePopover } from "../components/popover";
import { type Tab, Tabs } from "../components/tabs";
import { ExportSheet } from "../export/sheet";
import { FleetMode } from "../fleet/fleet_mode";
import { Moves } from "../fleet/moves";
import { AtEnd, useGrid, useGridKeys } from "../view/grid";
import { actionOf, KeysList, PLANNER_KEYS } from "../view/keys";
import type { Context } from "../view/late";
import { useLight } from "../view/model";
import { keyed, selectAll } from "../view/text";
import { mount } from "../view/widget";
import { DevicesPanel, Find, NodesPanel } from "./devices";
import { GoalsPanel } from "./goals_panel";
import { useChannel, useTrait } from "./model";
import { usePrint } from "./print";
import { PlanVerdict } from "./verdict";
import { WhyNot } from "./why_not";
import { YamlEditor } from "./yaml_editor";

// The dock: closed to its tabs, or as high as a person made it; kept for the next planner of this browser.
const KEY = "dra-lab:dock";
const CLOSED = 40;
const LEAST = 110;
const USUAL = 240;
const STEP = 24;

interface Kept {
  readonly isOpen: boolean;
  readonly height: number;
}

function kept(): Kept {
  try {
    const { isOpen, height } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    return { isOpen: isOpen === true, height: Math.max(LEAST, Number(height) || USUAL) };
  } catch {
    return { isOpen: false, height: USUAL };
  }
}

function keep(state: Kept): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // A page that may keep nothing begins with a closed dock.
  }
}

/** Without a grid the dock is always open: a view that stands alone has a height of its own. */
function useDock() {
  const [state, setState] = useState(kept);
  const [grid, setGrid] = useState<HTMLElement | null>(null);
  const most = () => Math.max(LEAST, (grid?.clientHeight ?? 600) - 220);
  const change = (next: Kept) => {
    setState(next);
    keep(next);
  };
  const resize = (height: number) => {
    if (height < LEAST / 2) change({ ...state, isOpen: false });
    else change({ isOpen: true, height: Math.min(most(), Math.max(LEAST, height)) });
  };
  const shown = state.isOpen ? Math.min(state.height, most()) : CLOSED;
  useEffect(() => {
    grid?.style.setProperty("--dra-dock", `${shown}px`);
  }, [grid, shown]);
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const [handle, from, height] = [event.currentTarget, event.clientY, shown];
    handle.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) => resize(height + from - moved.clientY);
    const end = () => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    if (!state.isOpen && step > 0) change({ ...state, isOpen: true });
    else if (state.isOpen) resize(shown <= LEAST && step < 0 ? 0 : shown + step);
  };
  const handle = {
    className: "dra-dock-handle",
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the dock",
    "aria-valuenow": shown,
    "aria-valuemin": CLOSED,
    "aria-valuemax": most(),
    tabIndex: 0,
    onPointerDown,
    onKeyDown,
    onDoubleClick: () => change({ ...state, isOpen: !state.isOpen }),
  } as const;
  return {
    setGrid,
    taken: shown - CLOSED,
    isOpen: !grid || state.isOpen,
    handle: grid ? handle : null,
    toggle: () => change({ ...state, isOpen: !state.isOpen }),
    open: () => state.isOpen || change({ ...state, isOpen: true }),
  };
}

/** Plans that fit side by side. */
const MOST_KEPT = 12;

/** The buttons; `select` marks the text on the screen where the clipboard is barred. */
function Tools({ select, hasBar, print }: { select(): void; hasBar: boolean; print(): void }) {
  const [yaml, kept] = [useTrait("yaml"), useTrait("kept")];
  const isFull = kept >= MOST_KEPT;
  return (
    <div className="dra-row is-tight dra-still dra-tools-right">
      <CopyButton icon="copy" text={() => yaml} select={select} />
      <Button
        icon="pin"
        disabled={isFull}
        title={isFull ? "Twelve plans are kept; remove one in Compare" : "Keep this plan for Compare"}
        send={{ type: "keep-for-compare" }}
      >
        {kept > 0 ? `Keep (${kept})` : "Keep"}
      </Button>
      <Button className="dra-dock-button" title="Print the answer on a page (P)" onClick={print}>
        Print
      </Button>
      {!hasBar && (
        <Button icon="folder" send={{ type: "show-export" }}>
          Export…
        </Button>
      )}
    </div>
  );
}

// What is exported: kind, lines, for which release it is valid, and what kube-scheduler does with it.
function Outgoing({ onYaml }: { onYaml(): void }) {
  const channel = useChannel();
  const [rows, pin] = [useTrait("outgoing"), useTrait("pin_offer")];
  return (
    <section className="dra-card dra-pane dra-outgoing" aria-label="What you export">
      <h3>What you export</h3>
      <ul>
        {keyed(rows, (row) => row.text).map(([key, row]) => (
          <li key={key}>
            <Callout tone={row.tone ?? "ok"} text={row.text} />
          </li>
        ))}
      </ul>
      {pin.text && (
        <Switch checked={pin.on ?? false} onTurn={(on) => channel.send({ type: "choose-export", pin: on })}>
          <b>Pin so that it allocates this plan.</b> {pin.text}
        </Switch>
      )}
      <div className="dra-row">
        <Button kind="link" onClick={onYaml}>
          Show YAML
        </Button>
        <Button kind="link" send={{ type: "show-export" }}>
          Show what you export
        </Button>
      </div>
    </section>
  );
}

function PlanView() {
  const mode = useTrait("mode");
  return (
    <>
      {mode === "compare" ? <CompareMode /> : mode === "fleet" ? <FleetMode /> : <PlanMode />}
      <ExportSheet />
    </>
  );
}

function PlanMode() {
  const channel = useChannel();
  const point = useLight(channel);
  const [wanted, setChosen] = useState("yaml");
  const [findings, devices, nodes] = [useTrait("findings"), useTrait("devices"), useTrait("nodes")];
  const [whyNot, moves] = [useTrait("why_not"), useTrait("moves")];
  // An empty drawing fits nowhere, and nothing of it is exported: there is nothing to say of either.
  const isDrawn = (useTrait("answer").state ?? "empty") !== "empty";
  const code = useRef<HTMLDivElement>(null);
  const tabsBox = useRef<HTMLDivElement>(null);
  const dock = useDock();
  const { grid, isShort } = useGrid(tabsBox, dock.taken);
  useEffect(() => dock.setGrid(grid), [grid, dock.setGrid]);
  const show = (key: string) => {
    setChosen(key);
    dock.open();
  };
  const select = () => {
    show("yaml");
    // When its tab is shown: what is hidden cannot be selected.
    requestAnimationFrame(() => code.current && selectAll(code.current));
  };
  const find = usePopover({ first: "input" });
  const keys = usePopover();
  const print = usePrint();
  useGridKeys(grid, (event) => {
    const action = actionOf(PLANNER_KEYS, event);
    if (action) ({ dock: dock.toggle, find: find.open, keys: keys.open, print })[action]();
    return action !== null;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: who asks about a node wants to see the answer
  useEffect(() => {
    if (isShort && grid && whyNot.asked) show("why");
  }, [whyNot.asked, whyNot.node, whyNot.device]);

  const hasErrors = findings.some((row) => row.severity === "error");
  const outgoing = <Outgoing onYaml={() => show("yaml")} />;
  const ofShort: Tab[] =
    isShort && isDrawn
      ? [
          { key: "why", label: whyNot.title || "Why not?", panel: <WhyNot hasTitle={false} /> },
          { key: "outgoing", label: "What you export", panel: outgoing },
        ]
      : [];
  const tabs: Tab[] = [
    { key: "yaml", label: "YAML", panel: <YamlEditor point={point} code={code} /> },
    { key: "goals", label: "Goals and proof", panel: <GoalsPanel /> },
    ...(moves.sentence
      ? [
          {
            key: "moves",
            label: "Moves",
            panel: (
              <div className="dra-pane" tabIndex={0} role="region" aria-label="Moves of running pods">
                <Moves />
              </div>
            ),
          },
        ]
      : []),
    ...ofShort,
    { key: "devices", label: "Devices", panel: <DevicesPanel point={point} />, count: devices.total ?? 0 },
    {
      key: "nodes",
      label: "Nodes",
      panel: <NodesPanel />,
      count: nodes.reduce((all, row) => all + (row.nodes ?? 1), 0),
    },
    {
      key: "findings",
      label: "Findings",
      panel: (
        <div className="dra-pane" tabIndex={0} role="region" aria-label="Findings">
          <FindingsList findings={findings} nothing="No findings about the cluster or the answer." />
        </div>
      ),
      count: findings.length,
      tone: hasErrors ? "error" : "",
    },
  ];
  const chosen = tabs.some((tab) => tab.key === wanted) ? wanted : "yaml";
  // A press on the tab that is shown closes the dock, as in every dock.
  const choose = (key: string, isPress: boolean) =>
    isPress && dock.isOpen && key === chosen ? dock.toggle() : show(key);
  const buttons = (
    <>
      <Button className="dra-dock-button" {...find.button} label="Find" title="Find a node or a device">
        <kbd>/</kbd>
      </Button>
      <Button className="dra-dock-button" {...keys.button} label="Keys" title="Keys">
        <kbd>?</kbd>
      </Button>
      <Tools select={select} hasBar={grid !== null} print={print} />
      {grid && (
        <Button
          className="dra-dock-button"
          aria-expanded={dock.isOpen}
          label={dock.isOpen ? "Close the dock" : "Open the dock"}
          title={dock.isOpen ? "Close the dock" : "Open the dock"}
          onClick={dock.toggle}
        >
          <kbd>J</kbd>
        </Button>
      )}
    </>
  );
  return (
    <>
      <PlanVerdict onMoves={() => show("moves")} />
      {!isShort && isDrawn && (
        <div className="dra-cards">
          <WhyNot />
          {outgoing}
        </div>
      )}
      <AtEnd grid={grid}>
        <div ref={tabsBox} className="dra-dock dra-column">
          {dock.handle && <div {...dock.handle} />}
          <Tabs
            label="Behind the answer"
            tabs={tabs}
            chosen={chosen}
            onChoose={choose}
            tools={<div className="dra-row is-tight dra-still">{buttons}</div>}
            isOpen={dock.isOpen}
          >
            <PaneProblem />
            <Popover over={find} title="Find a node or a device" isBare className="dra-find">
              <Find onDone={find.close} />
            </Popover>
            <Popover over={keys} title="Keys" className="dra-keys">
              <KeysList rows={PLANNER_KEYS} />
            </Popover>
          </Tabs>
        </div>
      </AtEnd>
    </>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-plan-view", PlanView);
