// ClusterBar: which cluster, what is in it, for which release, and what is wrong with it.
import "../cluster_bar.css";
import { useEffect, useRef, useState } from "react";
import { Button, Icon } from "../components/button";
import { FindingsList, Meter, type Tone } from "../components/content";
import { Choice, optionsOf, Select } from "../components/inputs";
import { Popover, usePopover } from "../components/popover";
import { Table } from "../components/table";
import type { UseRow } from "../generated/models";
import { followFocus } from "../view/focus";
import { OpenInTab, useGrid, useGridKeys } from "../view/grid";
import type { Context } from "../view/late";
import { keyed } from "../view/text";
import { mount } from "../view/widget";
import { useDrop } from "./files";
import { Lines } from "./lines";
import { useChannel, useTrait } from "./model";
import { useSourcePicker } from "./source_picker";
import { Upgrade } from "./upgrade";

/** Stands in the bar, and where space is short in the menu of the meters. */
function Release() {
  const channel = useChannel();
  const [now, known] = [useTrait("release"), useTrait("releases")];
  return (
    <label className="dra-row dra-bar-release">
      <span className="dra-dim dra-wide">Kubernetes</span>
      <Select
        label="Kubernetes release that the manifests are for"
        value={now}
        options={optionsOf(now && !known.some(([one]) => one === now) ? [...known, [now, now]] : known)}
        onChoose={(version) => channel.send({ type: "release", version })}
      />
    </label>
  );
}

// The button that counts findings by severity, and its panel that lists them.
const SEVERITIES = ["error", "warning", "note"] as const;
const SEVERITY_TONES = { error: "error", warning: "warn", note: "plain" } as const;

function Findings() {
  const [counts, findings] = [useTrait("counts"), useTrait("findings")];
  const over = usePopover();
  const some = SEVERITIES.filter((severity) => counts[severity]);
  const words = some.map((severity) => `${counts[severity]} ${severity}${counts[severity] === 1 ? "" : "s"}`);
  // "None" is an answer: as long as nobody has looked, it is not given.
  if (counts.checking) words.push("still being checked");
  const nothing = counts.checking
    ? "dra-lab is still checking the cluster."
    : "No findings: the cluster publishes what it should.";
  return (
    <>
      <Button
        className="dra-findings-button"
        {...over.button}
        label={`Findings: ${words.join(", ") || "none"}`}
        title={words.join(", ") || "no findings"}
      >
        Findings
        {some.map((severity) => (
          <span key={severity} className="dra-row dra-toned" data-tone={SEVERITY_TONES[severity]}>
            <Icon name={severity} />
            {String(counts[severity])}
          </span>
        ))}
        {!some.length && (
          <span className="dra-row dra-toned" data-tone="ok">
            <Icon name={counts.checking ? "dots" : "check"} />
          </span>
        )}
      </Button>
      <Popover over={over} title="Findings" className="dra-findings-panel">
        <Upgrade />
        <FindingsList findings={findings} nothing={nothing} />
      </Popover>
    </>
  );
}

// The switch that follows a running cluster, and its state in a word; hidden for files and samples.
const WORDS: Readonly<Record<string, string>> = {
  off: "Follow",
  connecting: "Connecting",
  live: "Live",
  lost: "Lost",
  stopped: "Stopped",
};

const SPOKEN: Readonly<Record<string, string>> = {
  off: "The cluster is no longer followed",
  live: "The cluster is followed",
  lost: "The connection to the cluster is lost",
  stopped: "Following the cluster has stopped",
};

const TONES: Readonly<Record<string, Tone>> = { live: "ok", lost: "error", stopped: "error" };

const ON: readonly string[] = ["connecting", "live", "lost"];

/** The switch, and the line that speaks what becomes of it while the focus is elsewhere. */
function FollowSwitch() {
  const { state = "", reason = "" } = useTrait("follow");
  const isOn = ON.includes(state);
  const idle =
    state === "live"
      ? "Changes of the cluster reach the plan as they happen. Press to stop."
      : "Let changes of the cluster reach the plan as they happen";
  return (
    <>
      <Button
        className="dra-follow dra-toned"
        role="switch"
        data-key="follow"
        data-state={state}
        data-tone={TONES[state]}
        hidden={!state}
        aria-checked={isOn}
        label={`Follow the cluster: ${state}${reason ? `, ${reason}` : ""}`}
        title={reason || idle}
        send={{ type: "follow", on: !isOn }}
      >
        <span className="dra-dot" aria-hidden="true" />
        <span>{WORDS[state] ?? state}</span>
      </Button>
      <span className="dra-sr" role="status">
        {useSpoken(state, reason)}
      </span>
    </>
  );
}

/** What has become of the switch since the view was opened; that a cluster can be followed is no news. */
function useSpoken(state: string, reason: string): string {
  const last = useRef("");
  const [spoken, setSpoken] = useState("");
  useEffect(() => {
    if (last.current !== state && (last.current || state !== "off")) {
      setSpoken(SPOKEN[state] ? `${SPOKEN[state]}${reason ? `: ${reason}` : ""}` : "");
    }
    last.current = state;
  }, [state, reason]);
  return spoken;
}

// How much of the cluster is free: a meter for each kind of device, and a click opens the chart of all nodes.
function Meters() {
  const channel = useChannel();
  const [meters, nodeUse] = [useTrait("meters"), useTrait("node_use")];
  const over = usePopover({ onOpen: () => channel.send({ type: "show-use" }) });
  const words = meters.map((row) => `${row.kind} ${row.text}`).join(", ");
  const kinds = [...new Set(meters.map((row) => row.kind))];
  const of = (kind: string) => meters.filter((row) => row.kind === kind);
  return (
    <>
      <Button
        className="dra-meters"
        {...over.button}
        label={`Free devices: ${words}`}
        title="Show what is free on each node"
        hidden={!meters.length}
      >
        {keyed(meters, (row) => row.kind).map(([key, row]) => (
          <span key={key} className="dra-row is-tight dra-free">
            <span>{row.kind}</span>
            <Meter value={row.used} of={row.total} />
            <span>{row.text}</span>
          </span>
        ))}
        <span className="dra-row dra-meters-short">
          Free
          <Icon name="down" />
        </span>
      </Button>
      <Popover over={over} title="What is free" className="dra-use">
        <Release />
        <p className="dra-hint">A device is free if nothing has used it up and no taint keeps pods away from it.</p>
        {kinds.map((kind) => (
          <UseChart
            key={kind}
            title={of(kind)
              .map((row) => `${row.kind}: ${row.text}`)
              .join(", ")}
            rows={nodeUse.filter((use) => use.kind === kind)}
          />
        ))}
        <p className="dra-row dra-legend" aria-hidden="true">
          <Meter value={1} of={1} />
          in use
          <Meter value={0} of={1} />
          free
        </p>
      </Popover>
    </>
  );
}

/** A bar for each node or hardware type, as long as it has devices; as a table it can be read out. */
function UseChart({ title, rows }: { title: string; rows: readonly UseRow[] }) {
  const most = Math.max(1, ...rows.map((row) => row.total));
  return (
    <Table
      caption={title}
      rows={rows.map(({ node = "", nodes = 1, used, total, text }) => ({
        key: node,
        head: (
          <>
            {node} {nodes > 1 && <span className="dra-dim">on {nodes.toLocaleString("en")} nodes</span>}
          </>
        ),
        cells: [<Meter key="meter" value={used} of={total} width={(100 * total) / most} />, text],
      }))}
    />
  );
}

function ClusterBar() {
  const bar = useRef<HTMLDivElement>(null);
  const asked = useRef("");
  const drop = useDrop(bar, asked);
  const sources = useSourcePicker(drop, asked);
  const { grid } = useGrid(bar);
  const [isLearning, source] = [useTrait("mode") === "learn", useTrait("source")];
  return (
    <>
      <div ref={bar} className="dra-row is-tight dra-bar" role="toolbar" aria-label="Cluster">
        {isLearning ? (
          <p>Your plan on {source} stays as it is.</p>
        ) : (
          <>
            {sources.button}
            <Summary sending={drop.sending} onShow={sources.open} />
            <Meters />
            <FollowSwitch />
          </>
        )}
        <span className="dra-gap" />
        <Modes grid={grid} />
        <span className="dra-gap" />
        {!isLearning && (
          <>
            <Release />
            <Findings />
          </>
        )}
        <OpenInTab />
        {!isLearning && (
          <Button kind="primary" className="dra-export" send={{ type: "show-export" }}>
            Export…
          </Button>
        )}
      </div>
      <Lines onLoad={sources.open} />
      {sources.panel}
    </>
  );
}

/** What is in the cluster; while another one is read, how far that is, with a way to its Cancel. */
function Summary({ sending, onShow }: { sending: string; onShow(): void }) {
  const [summary, readAt, reading] = [useTrait("summary"), useTrait("read_at"), useTrait("busy")];
  const busy = sending || reading;
  const read = readAt ? ` · read ${readAt}` : "";
  return (
    <div className="dra-bar-state">
      <div className="dra-bar-summary dra-clamp" hidden={Boolean(busy)} title={`${summary}${read}`}>
        <span>{summary}</span>
        <span className="dra-dim">{read}</span>
      </div>
      <div className="dra-row is-tight dra-bar-busy" role="status" hidden={!busy}>
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
    if (mode) channel.send({ type: "mode", mode: mode[0] });
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
        options={modes.map(([value, label]) => ({ value, label }))}
        value={now}
        onChoose={(chosen) => channel.send({ type: "mode", mode: chosen })}
      />
    </div>
  );
}

export const render = (context: Context) => mount(context, "dra-view dra-cluster-bar", ClusterBar);
