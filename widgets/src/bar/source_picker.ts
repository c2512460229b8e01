// The button with the cluster's name, and its panel: what is open, clusters to choose, a path, files, what went wrong.
import type { ClusterBarModel, SourceRow } from "../generated/models";
import { copyText, selectAll } from "../view/copy";
import { h, icon, onEnter, refill } from "../view/dom";
import { type Popover, popover } from "../view/popover";
import type { Sync } from "../view/sync";
import { messageText } from "./lines";

/** The command that writes everything into one file; the same as dra_lab.sources.KUBECTL. */
export const KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json";

export interface SourcePicker {
  readonly button: HTMLElement;
  readonly panel: HTMLElement;
  /** Open at the path. */
  open(): void;
  /** Draw anew what is going on: `sending` is a file on its way, `local` a problem of the browser's own. */
  draw(): void;
}

/** What the browser itself knows of a drop: how far it is, what is wrong with it, and how to give it up. */
export interface Local {
  sending(): string;
  problem(): string;
  forget(): void;
}

export function sourcePicker(
  sync: Sync<ClusterBarModel>,
  takeFiles: (files: FileList) => void,
  local: Local,
): SourcePicker {
  const name = h("span.dra-bar-source");
  const button = h("button.dra-button", { type: "button", "data-key": "source" }, name, icon("down"));
  const list = h("ul.dra-options", { role: "listbox", "aria-label": "Clusters", tabindex: -1 });
  const path = h("input.dra-field", {
    type: "text",
    placeholder: "path of a file, folder or .tar.gz",
    "aria-label": "Path of a file, folder or .tar.gz",
    spellcheck: "false",
    autocomplete: "off",
  });
  const files = h("input", {
    type: "file",
    multiple: true,
    accept: ".json,.yaml,.yml,.gz,.tgz,.xml,.txt",
    hidden: true,
    tabindex: -1,
    "aria-hidden": "true",
  });
  const told = h("div.dra-loading", { role: "status" });
  const details = h("dl.dra-details", { "aria-label": "What is open" });
  const command = h("code.dra-command", { tabindex: 0 }, `${KUBECTL} > cluster.json`);
  const copied = async () => (words.textContent = await copyText(command.textContent ?? "", () => selectAll(command)));
  const words = h("span", { role: "status" }, "Copy");
  const copy = h("button.dra-button", { type: "button", onclick: () => void copied() }, icon("copy"), words);
  const over: Popover = popover(
    sync,
    button,
    "Choose a cluster",
    () => list.querySelector<HTMLElement>('[aria-selected="true"]') ?? list.querySelector("li"),
  );
  let asked = "";
  let wasBusy = false;

  const load = (source: string) => {
    asked = source.trim();
    if (!asked) return;
    local.forget();
    sync.send({ type: "load", source: asked });
  };
  files.addEventListener("change", () => {
    if (files.files?.length) takeFiles(files.files);
    files.value = "";
  });
  list.addEventListener("keydown", (event) => onKey(event, list));
  list.addEventListener("click", (event) => {
    const value = (event.target as Element).closest("[data-value]")?.getAttribute("data-value");
    if (value) load(value);
  });
  // The kubeconfig is read when somebody looks at the choice.
  over.panel.addEventListener("toggle", (event) => {
    words.textContent = "Copy";
    if ((event as ToggleEvent).newState === "open") sync.send({ type: "sources" });
  });
  onEnter(path, () => load(path.value));
  over.panel.classList.add("dra-sources");
  over.panel.append(
    told,
    list,
    h("h3", {}, "Your cluster"),
    h("div.dra-row", {}, path, h("button.dra-button", { type: "button", onclick: () => load(path.value) }, "Load")),
    h(
      "div.dra-row",
      {},
      h("button.dra-button", { type: "button", onclick: () => files.click() }, icon("file"), "Choose files"),
      h("span.dra-hint", {}, "or drop them on the planner"),
    ),
    files,
    h("p.dra-hint", {}, "Save one with:"),
    h("div.dra-row", {}, command, copy),
    h("p.dra-hint", {}, "Of a server without DRA drivers: what nvidia-smi topo -m, lstopo or NCCL wrote."),
    h("h3", {}, "Open now"),
    details,
  );
  const draw = () => {
    const busy = local.sending() || sync.get("busy");
    const problem = local.problem() || sync.get("refused");
    const giveUp = () => {
      asked = "";
      local.forget();
      draw();
      sync.send({ type: "cancel" });
      if (over.isOpen) path.focus();
    };
    refill(
      told,
      busy
        ? h(
            "div.dra-line.dra-busy",
            {},
            h("span.dra-spinner", { "aria-hidden": "true" }),
            h("span", {}, busy),
            h("button.dra-button", { type: "button", "data-key": "cancel", onclick: giveUp }, "Cancel"),
          )
        : null,
      problem && !busy ? h("div.dra-line.dra-problem", {}, icon("error"), messageText(problem), hide()) : null,
    );
    // What was asked for is open now: the panel has done its work.
    if (asked && wasBusy && !busy && !problem) over.close();
    if (wasBusy && !busy) asked = "";
    wasBusy = Boolean(busy);
    if (!problem || busy) return;
    over.open();
    told.scrollIntoView?.({ block: "nearest" });
  };
  const hide = () =>
    h(
      "button.dra-quiet",
      {
        type: "button",
        "aria-label": "Hide this message",
        onclick: () => (local.forget(), sync.send({ type: "dismiss-problem" }), draw(), path.focus()),
      },
      icon("cross"),
    );
  sync.watch(["busy", "refused"], draw);
  sync.watch(["sources", "source"], () => {
    const now = sync.get("source");
    name.textContent = now || "no cluster";
    button.title = now;
    refill(list, ...options(sync.get("sources"), now));
  });
  sync.watch(["details"], () =>
    refill(details, ...sync.get("details").flatMap((row) => [h("dt", {}, row.label), h("dd", {}, row.value)])),
  );
  return { button, panel: over.panel, open: () => (over.open(), path.focus()), draw };
}

function options(sources: readonly SourceRow[], now: string): HTMLElement[] {
  const items: HTMLElement[] = [];
  let group = "";
  for (const source of sources) {
    if (source.group && source.group !== group) items.push(h("li.dra-group", { role: "presentation" }, source.group));
    group = source.group ?? "";
    const selected = source.value === now;
    items.push(
      h(
        "li.dra-option",
        {
          role: "option",
          tabindex:
            selected || (!items.some((item) => item.tabIndex === 0) && !sources.some((one) => one.value === now))
              ? 0
              : -1,
          "aria-selected": String(selected),
          "data-value": source.value,
          "data-key": source.value,
        },
        h("b", {}, source.label),
        h("code", {}, source.value === source.label || isLong(source) ? "" : source.value),
        source.detail ? h("small", {}, source.detail) : null,
      ),
    );
  }
  return items;
}

/** A context of EKS or GKE is named by a whole path: there is no room to say it twice. */
const isLong = (source: SourceRow) => source.label.length > 24 && source.value.endsWith(source.label);

function onKey(event: KeyboardEvent, list: HTMLElement): void {
  const items = [...list.querySelectorAll<HTMLElement>('[role="option"]')];
  const here = items.indexOf(document.activeElement as HTMLElement);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: here + 1,
    ArrowUp: here - 1,
    Home: 0,
    End: items.length - 1,
  };
  const next = steps[event.key];
  if (next !== undefined) {
    event.preventDefault();
    items[Math.max(0, Math.min(items.length - 1, next))]?.focus();
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    items[here]?.click();
  }
}
