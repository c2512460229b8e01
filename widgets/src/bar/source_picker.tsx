// The button with the cluster's name, and its panel: what is open, clusters to choose, a path, files, what went wrong.

import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Browse } from "../components/browse";
import { Button, CopyButton, classes, Icon } from "../components/button";
import { Callout } from "../components/content";
import { Popover, usePopover } from "../components/popover";
import type { SourceRow } from "../generated/models";
import { onArrows, onEnter } from "../view/keys";
import { selectAll } from "../view/text";
import type { Drop } from "./files";
import { useChannel, useTrait } from "./model";

// The clusters that were opened last in this browser, by what was given to open them.
const RECENT = "dra-lab-recent-clusters";
/** Clusters that are kept. */
const MOST_RECENT = 5;

/** Return them, the latest first; none where the browser keeps nothing for pages. */
function recentClusters(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(RECENT) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string").slice(0, MOST_RECENT) : [];
  } catch {
    return [];
  }
}

/** Put a cluster first. */
function rememberCluster(source: string): void {
  try {
    const before = recentClusters().filter((one) => one !== source);
    localStorage.setItem(RECENT, JSON.stringify([source, ...before].slice(0, MOST_RECENT)));
  } catch {
    // A browser that keeps nothing shows no recent clusters.
  }
}

/** Text as it is; a table of several lines keeps its columns, and only a command that is wider is wrapped. */
export function MessageText({ text }: { text: string }) {
  return text.includes("\n") ? <pre className="dra-told">{text}</pre> : <span>{text}</span>;
}

/** A context of EKS or GKE is named by a whole path: there is no room to say it twice. */
const isLong = (source: SourceRow) => source.label.length > 24 && source.value.endsWith(source.label);
const onOptionArrows = onArrows('[role="option"]');

function SourceList({
  list,
  opened,
  onTake,
}: {
  list: RefObject<HTMLUListElement | null>;
  /** How often the list was opened. */
  opened: number;
  onTake(value: string): void;
}) {
  const [known, now] = [useTrait("sources"), useTrait("source")];
  // biome-ignore lint/correctness/useExhaustiveDependencies: other clusters were opened since the list was
  const sources = useMemo(() => withRecent(known), [known, opened]);
  const first = sources.find((source) => source.value === now) ?? sources[0];
  const onKeyDown = (event: KeyboardEvent<HTMLUListElement>) => {
    if (event.key !== "Enter" && event.key !== " ") return onOptionArrows(event);
    event.preventDefault();
    const value = document.activeElement?.getAttribute("data-value");
    if (value) onTake(value);
  };
  const rows = useMemo(
    () =>
      sources.flatMap((source, i) => {
        const isHead = source.group && source.group !== sources[i - 1]?.group;
        const head = isHead ? [<SourceGroup key={`group ${source.group}`} name={source.group ?? ""} />] : [];
        const isTabStop = source === first;
        return [...head, <Source key={source.value} {...{ source, now, isTabStop, onTake }} />];
      }),
    [sources, now, first, onTake],
  );
  return (
    <ul ref={list} className="dra-options" role="listbox" aria-label="Clusters" tabIndex={-1} onKeyDown={onKeyDown}>
      {rows}
    </ul>
  );
}

/** Put the clusters that were opened last after the present one, without those that the list has anyway. */
function withRecent(sources: readonly SourceRow[]): readonly SourceRow[] {
  const listed = new Set(sources.map((source) => source.value));
  const recent = recentClusters().filter((value) => !listed.has(value));
  const rows = recent.map((value) => ({ value, label: value, group: "Recent clusters" }));
  const at = sources.filter((source) => source.group === "Open now").length;
  return [...sources.slice(0, at), ...rows, ...sources.slice(at)];
}

function SourceGroup({ name }: { name: string }) {
  return (
    <li className="dra-group dra-hint" role="presentation">
      {name}
    </li>
  );
}

interface OptionProps {
  source: SourceRow;
  now: string;
  isTabStop: boolean;
  onTake(value: string): void;
}

function Source({ source, now, isTabStop, onTake }: OptionProps) {
  return (
    <li
      className={classes("dra-option", source.example && "is-example")}
      role="option"
      tabIndex={isTabStop ? 0 : -1}
      aria-selected={source.value === now}
      data-value={source.value}
      data-key={source.value}
      onClick={() => onTake(source.value)}
    >
      <b>{source.example ? `Example: ${source.label}` : source.label}</b>
      <code>{source.value === source.label || source.example || isLong(source) ? "" : source.value}</code>
      {source.detail && <small className="dra-hint">{source.detail}</small>}
    </li>
  );
}

/** The command that writes everything into one file; the same as dra_lab.sources.KUBECTL. */
const KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json";

/**
 * Returns the button, its panel, and what opens it at the path.
 *
 * `asked` is what this view asked for, and waits for: another view of the planner neither opens nor closes its panel
 * for that.
 */
export function useSourcePicker(
  drop: Drop,
  asked: { current: string },
): { button: ReactNode; panel: ReactNode; open(): void } {
  const channel = useChannel();
  const source = useTrait("source");
  const list = useRef<HTMLUListElement>(null);
  const path = useRef<HTMLInputElement>(null);
  const [opened, setOpened] = useState(0);
  // The kubeconfig is read when somebody looks at the choice.
  const onOpen = () => {
    setOpened((count) => count + 1);
    channel.send({ type: "sources" });
  };
  const over = usePopover({ first: '[role="option"][tabindex="0"]', onOpen });
  const { forget } = drop;
  const load = useCallback(
    (value: string) => {
      asked.current = value.trim();
      if (!asked.current) return;
      forget();
      channel.send({ type: "load", source: asked.current });
    },
    [channel, forget, asked],
  );
  const toPath = () => path.current?.focus();
  const onGiveUp = () => {
    asked.current = "";
    forget();
    channel.send({ type: "cancel" });
    if (over.isOpen()) toPath();
  };
  const onHide = () => {
    forget();
    channel.send({ type: "dismiss-problem" });
    toPath();
  };
  const onSettled = (isFine: boolean) => {
    // What was asked for is open now: the panel has done its work.
    if (asked.current && isFine) {
      rememberCluster(asked.current);
      if (path.current) path.current.value = "";
      over.close();
    }
    if (asked.current && !isFine) over.open();
    asked.current = "";
  };
  const draw = (number: number) => {
    channel.send({ type: "open-drawing", number });
    over.close();
  };
  const button = (
    <Button {...over.button} data-key="source" title={source}>
      <span className="dra-bar-source dra-cut">{source || "no cluster"}</span>
      <Icon name="down" />
    </Button>
  );
  const panel = (
    <Popover over={over} title="Choose a cluster" isBare className="dra-sources">
      <Loading drop={drop} onGiveUp={onGiveUp} onHide={onHide} onSettled={onSettled} onLoad={load} />
      <Offer onDraw={draw} />
      <SourceList list={list} opened={opened} onTake={load} />
      <h3>Your cluster</h3>
      <div className="dra-row">
        <input
          ref={path}
          className="dra-input"
          type="text"
          placeholder="path of a file, folder or .tar.gz"
          aria-label="Path of a file, folder or .tar.gz"
          spellCheck={false}
          autoComplete="off"
          onKeyDown={onEnter(() => load(path.current?.value ?? ""))}
        />
        <Browse what="any" path="" onChoose={load} />
        <Button onClick={() => load(path.current?.value ?? "")}>Load</Button>
      </div>
      <FileChooser onTake={drop.take} />
      <p className="dra-hint">A claim, a template, a Pod or a Deployment opens as a drawing.</p>
      <p className="dra-hint">Save a cluster with:</p>
      <Command />
      <p className="dra-hint">No DRA drivers yet? Load the output of nvidia-smi topo -m, lstopo or NCCL.</p>
      <h3>About this cluster</h3>
      <Details />
    </Popover>
  );
  const open = () => {
    over.open();
    // After the panel has given the focus to its list.
    requestAnimationFrame(toPath);
  };
  return { button, panel, open };
}

interface LoadingProps {
  drop: Drop;
  onGiveUp(): void;
  onHide(): void;
  onSettled(isFine: boolean): void;
  onLoad(source: string): void;
}

/** What is being read, with Cancel, and why the latest reading failed. */
function Loading({ drop, onGiveUp, onHide, onSettled, onLoad }: LoadingProps) {
  const [reading, refused, offer] = [useTrait("busy"), useTrait("refused"), useTrait("offer")];
  const root = useRef<HTMLDivElement>(null);
  const wasBusy = useRef(false);
  const busy = drop.sending || reading;
  const problem = busy ? "" : drop.problem || refused;
  const isBusy = Boolean(busy);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when a reading begins, ends or fails
  useEffect(() => {
    const isWaiting = problem || offer.text;
    if (isWaiting || (wasBusy.current && !isBusy)) onSettled(!isWaiting);
    wasBusy.current = isBusy;
    if (isWaiting) root.current?.scrollIntoView?.({ block: "nearest" });
  }, [isBusy, problem, offer]);
  const meant = /did you mean '([^']+)'\?/.exec(problem)?.[1];
  return (
    <div ref={root} className="dra-loading" role="status">
      {busy && (
        <div className="dra-row dra-line dra-busy">
          <span className="dra-spinner" aria-hidden="true" />
          <span>{busy}</span>
          <Button data-key="cancel" onClick={onGiveUp}>
            Cancel
          </Button>
        </div>
      )}
      {problem && (
        <Callout tone="error" className="dra-line dra-problem" onHide={onHide}>
          <MessageText text={problem} />
          {meant && <Button onClick={() => onLoad(meant)}>Load {meant}</Button>}
        </Callout>
      )}
    </div>
  );
}

/** What a file holds that is no cluster: its drawings, each with a button. */
function Offer({ onDraw }: { onDraw(number: number): void }) {
  const { text, options = [] } = useTrait("offer");
  if (!text) return null;
  return (
    <section className="dra-card dra-offer" role="status" aria-label="What the files hold">
      <p>{text}</p>
      {options.map(([label, detail], i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an offer never changes, and two may have one name
        <div key={i} className="dra-row">
          <span className="dra-fill">
            <b>{label}</b> <small className="dra-hint">{detail}</small>
          </span>
          <Button onClick={() => onDraw(i)}>Open as a drawing</Button>
        </div>
      ))}
    </section>
  );
}

function FileChooser({ onTake }: { onTake(files: FileList): void }) {
  const files = useRef<HTMLInputElement>(null);
  return (
    <>
      <div className="dra-row">
        <Button icon="file" onClick={() => files.current?.click()}>
          Choose files
        </Button>
        <span className="dra-hint">or drop them on the planner</span>
      </div>
      <input
        ref={files}
        type="file"
        multiple
        accept=".json,.yaml,.yml,.gz,.tgz,.xml,.txt,.html"
        hidden
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          if (event.currentTarget.files?.length) onTake(event.currentTarget.files);
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}

function Command() {
  const code = useRef<HTMLElement>(null);
  const text = `${KUBECTL} > cluster.json`;
  return (
    <div className="dra-row is-tight">
      <code ref={code} className="dra-pane dra-command" tabIndex={0}>
        {text}
      </code>
      <CopyButton icon="copy" text={() => text} select={() => code.current && selectAll(code.current)} />
    </div>
  );
}

function Details() {
  return (
    <dl className="dra-terms dra-details" aria-label="What is open">
      {useTrait("details").map(([label, value]) => [
        <dt key={`${label} label`}>{label}</dt>,
        <dd key={`${label} value`}>{value}</dd>,
      ])}
    </dl>
  );
}
