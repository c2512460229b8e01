import "./cluster_bar.css";
import { chooseFiles, sendFiles, takeDrops } from "./bar/files";
import { findingsButton } from "./bar/findings_button";
import { followSwitch } from "./bar/follow_switch";
import { lines } from "./bar/lines";
import { sourcePicker } from "./bar/source_picker";
import type { ClusterBarModel } from "./generated/models";
import { h, icon } from "./view/dom";
import type { Sync } from "./view/sync";
import { view } from "./view/view";

const OPEN_IN_TAB = "dra-lab:open-in-tab";

function fill(root: HTMLElement, sync: Sync<ClusterBarModel>): void {
  let refused = "";
  let sending = "";
  let stop = () => {};
  const takeFiles = (list: FileList) => {
    stop();
    const { files, problem } = chooseFiles(list);
    refused = problem;
    const told = (words: string) => {
      sending = words;
      draw();
    };
    if (files.length) stop = sendFiles(sync, files, told, (why) => ((refused = why), draw()));
    draw();
  };
  const local = {
    sending: () => sending,
    problem: () => refused,
    forget: () => (stop(), (refused = ""), (sending = "")),
  };
  const sources = sourcePicker(sync, takeFiles, local);
  const findings = findingsButton(sync);
  const told = lines(sync, sources.open);
  const words = summary(sync, () => sending, sources.open);
  const draw = () => {
    sources.draw();
    words.draw();
  };
  const tab = h(
    "button.dra-button",
    { type: "button", onclick: () => openInTab(root, tab) },
    icon("tab"),
    h("span.dra-wide", {}, "Open in a tab"),
  );
  tab.setAttribute("aria-label", "Open in a tab");
  const bar = h(
    "div.dra-bar",
    { role: "toolbar", "aria-label": "Cluster" },
    sources.button,
    words.node,
    ...followSwitch(sync),
    h("span.dra-gap"),
    release(sync),
    findings.button,
    tab,
  );
  root.append(bar, told, sources.panel, findings.panel);
  takeDrops(sync, root, takeFiles);
}

/** What is in the cluster; while another one is read, how far that is, with a way to its Cancel. */
function summary(
  sync: Sync<ClusterBarModel>,
  sending: () => string,
  open: () => void,
): { node: HTMLElement; draw: () => void } {
  const words = h("span.dra-bar-words");
  const read = h("span.dra-dim");
  const here = h("div.dra-bar-summary", {}, words, read);
  const going = h("span");
  const status = h(
    "div.dra-bar-busy",
    { role: "status" },
    h("span.dra-spinner", { "aria-hidden": "true" }),
    going,
    h("button.dra-link", { type: "button", onclick: open }, "Show"),
  );
  const node = h("div.dra-bar-state", {}, here, status);
  const draw = () => {
    words.textContent = sync.get("summary");
    read.textContent = sync.get("read_at") ? ` · read ${sync.get("read_at")}` : "";
    here.title = `${words.textContent}${read.textContent}`;
    const busy = sending() || sync.get("busy");
    going.textContent = busy;
    here.hidden = Boolean(busy);
    status.hidden = !busy;
  };
  sync.watch(["summary", "read_at", "busy"], draw);
  return { node, draw };
}

function release(sync: Sync<ClusterBarModel>): HTMLElement {
  const select = h("select.dra-button", {
    "aria-label": "Kubernetes release that the manifests are for",
    onchange: () => sync.send({ type: "release", value: select.value }),
  });
  sync.watch(["release", "releases"], () => {
    const now = sync.get("release");
    const known = sync.get("releases");
    select.replaceChildren(
      ...[...new Set([...known, ...(now ? [now] : [])])].map((version) =>
        h("option", { value: version, selected: version === now }, version),
      ),
    );
    select.value = now;
  });
  return h("label.dra-bar-release", {}, h("span.dra-dim.dra-wide", {}, "Kubernetes"), select);
}

/** The extension of JupyterLab does it; a page without one (Notebook, VS Code, a saved page) has no tabs to open. */
function openInTab(element: HTMLElement, button: HTMLButtonElement): void {
  const isOpened = !window.dispatchEvent(new CustomEvent(OPEN_IN_TAB, { detail: { element }, cancelable: true }));
  if (isOpened) return;
  button.disabled = true;
  button.title = "A tab of its own needs JupyterLab";
  button.querySelector(".dra-wide")?.replaceChildren("Needs JupyterLab");
}

export default { render: view<ClusterBarModel>("dra-cluster-bar", fill) };
