// ClusterBar: which cluster, what is in it, for which release, and what is wrong with it.
import { Button } from "../components/button";
import { Choice } from "../components/choice";
import "../cluster_bar.css";
import { useEffect, useRef } from "react";
import { followFocus } from "../view/keep_focus";
import type { Context } from "../view/late";
import { OpenInTab } from "../view/open_in_tab";
import { useGrid, useGridKeys } from "../view/use_grid";
import { mount } from "../view/widget";
import { useFindings } from "./findings_button";
import { FollowSwitch } from "./follow_switch";
import { Lines } from "./lines";
import { useMeters } from "./meters";
import { useChannel, useTrait } from "./model";
import { Release } from "./release";
import { useSourcePicker } from "./source_picker";
import { useDrop } from "./use_drop";

function ClusterBar() {
  const bar = useRef<HTMLDivElement>(null);
  const asked = useRef("");
  const drop = useDrop(bar, asked);
  const sources = useSourcePicker(drop, asked);
  const findings = useFindings();
  const meters = useMeters();
  const { grid } = useGrid(bar);
  const isLearning = useTrait("mode") === "learn";
  return (
    <>
      <div ref={bar} className="dra-bar" role="toolbar" aria-label="Cluster">
        {isLearning ? (
          <Kept />
        ) : (
          <>
            {sources.button}
            <Summary sending={drop.sending} onShow={sources.open} />
            {meters.button}
            <FollowSwitch />
          </>
        )}
        <span className="dra-gap" />
        <Modes grid={grid} />
        <span className="dra-gap" />
        {!isLearning && (
          <>
            <Release />
            {findings.button}
          </>
        )}
        <OpenInTab />
        {!isLearning && <Export />}
      </div>
      <Lines onLoad={sources.open} />
      {sources.panel}
      {findings.panel}
      {meters.panel}
    </>
  );
}

/** A lesson has a cluster and a drawing of its own. */
function Kept() {
  return <p className="dra-bar-kept">Your plan on {useTrait("source")} stays as it is.</p>;
}

/** What is in the cluster; while another one is read, how far that is, with a way to its Cancel. */
function Summary({ sending, onShow }: { sending: string; onShow(): void }) {
  const [summary, readAt, reading] = [useTrait("summary"), useTrait("read_at"), useTrait("busy")];
  const busy = sending || reading;
  const read = readAt ? ` · read ${readAt}` : "";
  return (
    <div className="dra-bar-state">
      <div className="dra-bar-summary dra-clamp" hidden={Boolean(busy)} title={`${summary}${read}`}>
        <span className="dra-bar-words">{summary}</span>
        <span className="dra-dim">{read}</span>
      </div>
      <div className="dra-row dra-bar-busy" role="status" hidden={!busy}>
        <span className="dra-spinner" aria-hidden="true" />
        <span className="dra-clamp">{busy}</span>
        <Button kind="link" onClick={onShow}>
          Show
        </Button>
      </div>
    </div>
  );
}

/** What the planner shows: the arrows choose, as in any group of radio buttons. */
function Modes({ grid }: { grid: HTMLElement | null }) {
  const channel = useChannel();
  const [now, modes] = [useTrait("mode"), useTrait("modes")];
  useGridKeys(grid, ({ key }) => {
    const mode = /^[1-9]$/.test(key) ? modes[Number(key) - 1] : undefined;
    if (mode) channel.send({ type: "mode", name: mode.name });
    return mode !== undefined;
  });
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef(now);
  const last = useRef<Element | null>(null);
  useEffect(() => {
    if (!grid) return;
    return followFocus(grid, (node) => {
      last.current = node;
    });
  }, [grid]);
  useEffect(() => {
    if (shown.current === now) return;
    shown.current = now;
    // What had the focus in the mode before is not on the screen any more; the browser may have taken it already.
    const at = document.activeElement === document.body ? last.current : document.activeElement;
    const isKept = at?.closest(".dra-cluster-bar") && !at.closest(".dra-modes");
    if (at && (at === last.current || grid?.contains(at)) && !isKept)
      place.current?.querySelector<HTMLInputElement>(":checked")?.focus({ preventScroll: true });
  }, [now, grid]);
  if (modes.length < 2) return null;
  return (
    <div ref={place}>
      <Choice
        className="dra-modes"
        label="Mode"
        options={modes.map((mode) => ({ value: mode.name, label: mode.label }))}
        value={now}
        onChoose={(name) => channel.send({ type: "mode", name })}
      />
    </div>
  );
}

function Export() {
  const channel = useChannel();
  return (
    <Button kind="primary" className="dra-export" onClick={() => channel.send({ type: "show-export" })}>
      Export…
    </Button>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-cluster-bar", ClusterBar);
