import "./hardware_view.css";
import type { HardwareViewModel } from "./generated/models";
import { choosing } from "./hardware/by_example";
import { fleetStrip } from "./hardware/fleet";
import { graphPanel } from "./hardware/graph_panel";
import { picture } from "./hardware/picture";
import { save, toPng } from "./hardware/png";
import { freshId, h, icon, paneProblem, refill } from "./view/dom";
import { highlight } from "./view/light";
import type { Sync } from "./view/sync";
import { view } from "./view/view";

type Show = HardwareViewModel["show"];
const SHOWN: readonly (readonly [Show, string, string])[] = [
  ["best", "best", "The best allocation"],
  ["scheduler", "kube-scheduler", "What kube-scheduler takes with this manifest"],
  ["plain", "no links", "What kube-scheduler takes with counts and selectors only"],
  ["both", "both", "Best and kube-scheduler over each other"],
];

function fill(root: HTMLElement, sync: Sync<HardwareViewModel>): void {
  const light = highlight(sync);
  let local = "";
  const problem = h("div.dra-pane-problem", { role: "alert" });
  const tell = () => {
    paneProblem(problem, sync.get("problem") || local, () => {
      sync.send({ type: "dismiss-problem" });
      fail("");
    });
  };
  const fail = (words: string) => {
    local = words;
    tell();
  };
  const shown = picture(sync, light, fail);
  const graph = h(
    "button.dra-button",
    {
      type: "button",
      "aria-label": "Graph",
      title: "The PCIe and NUMA tree as a graph",
      onclick: () => sync.send({ type: "graph" }),
    },
    icon("graph"),
  );
  const png = h(
    "button.dra-button",
    {
      type: "button",
      "aria-label": "Save as PNG",
      title: "Save the picture as a PNG file",
      onclick: () => void savePng(sync, shown, fail),
    },
    icon("image"),
    h("span.dra-word", {}, "PNG"),
  );
  const example = choosing(sync, shown);
  const body = h("div.dra-hardware-body", {}, node(sync, [example.button, graph, png]), example.panel, shown);
  const head = h("div.dra-hardware-head", {}, h("h3", {}, "Where it fits"), toggle(sync));
  root.append(
    head,
    fleetStrip(sync),
    problem,
    empty(sync),
    body,
    graphPanel(sync, () => graph),
  );
  sync.watch(["problem"], tell);
  sync.watch(["svg"], () => (body.hidden = !sync.get("svg")));
  sync.watch(["stale"], () => shown.classList.toggle("is-stale", sync.get("stale")));
}

/** What is drawn: the arrows choose, as in any group of radio buttons. */
function toggle(sync: Sync<HardwareViewModel>): HTMLElement {
  const name = freshId("show");
  const group = h("fieldset.dra-toggle", {}, h("legend.dra-sr", {}, "Shown on the picture"));
  for (const [value, label, title] of SHOWN) {
    const input = h("input", { type: "radio", name, value, onchange: () => sync.set("show", value) });
    group.append(h("label", { title }, input, h("span", {}, label)));
  }
  sync.watch(["show"], () => {
    for (const input of group.querySelectorAll("input")) input.checked = input.value === sync.get("show");
  });
  return group;
}

/** Whose picture it is, whether the plan is held to it, and what else can be had. */
function node(sync: Sync<HardwareViewModel>, tools: readonly HTMLElement[]): HTMLElement {
  const row = h("div.dra-node-row");
  sync.watch(["node", "caption", "pinned", "fleet"], () => {
    const [name, pinned, best] = [sync.get("node"), sync.get("pinned"), sync.get("fleet").best ?? ""];
    const pin = (to: string) => () => sync.send({ type: "pin", name: to });
    refill(
      row,
      h("b.dra-node-name", { title: name }, name),
      sync.get("caption") ? h("span.dra-hint.dra-equal", { title: sync.get("caption") }, sync.get("caption")) : null,
      best && best !== name
        ? h(
            "button.dra-link",
            { type: "button", "data-key": "back", onclick: () => sync.send({ type: "node", name: best }) },
            "Show the best",
          )
        : null,
      h("span.dra-gap"),
      pinned
        ? h(
            "button.dra-button.is-on",
            {
              type: "button",
              "data-key": "pin",
              title: `The plan is held to ${pinned}; press to let it choose the best node`,
              onclick: pin(""),
            },
            icon("pin"),
            "Best node again",
          )
        : h(
            "button.dra-button",
            {
              type: "button",
              "data-key": "pin",
              title: `Plan on ${name} only`,
              "aria-label": "Plan here",
              onclick: pin(name),
            },
            icon("pin"),
            h("span.dra-word", {}, "Plan here"),
          ),
      ...tools,
    );
  });
  return row;
}

/** Nothing to show: one sentence and one thing to do. */
function empty(sync: Sync<HardwareViewModel>): HTMLElement {
  const root = h("div.dra-empty-state");
  sync.watch(["empty", "empty_action"], () => {
    const [words, action] = [sync.get("empty"), sync.get("empty_action")];
    root.hidden = !words;
    refill(
      root,
      h("p", {}, words),
      action
        ? h("button.dra-button.dra-primary", { type: "button", onclick: () => sync.send({ type: "sample" }) }, action)
        : null,
    );
  });
  return root;
}

async function savePng(
  sync: Sync<HardwareViewModel>,
  place: HTMLElement,
  fail: (words: string) => void,
): Promise<void> {
  const name = sync.get("node").replace(/[^A-Za-z0-9._-]+/g, "-") || "node";
  try {
    save(await toPng(sync.get("svg"), place), `${name}.png`);
    fail("");
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

export default { render: view<HardwareViewModel>("dra-hardware", fill) };
