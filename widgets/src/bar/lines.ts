// The lines under the bar: the example, a question, a problem. Each is there only when it says something.
import type { ClusterBarModel } from "../generated/models";
import { h, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

/** `load` opens the choice of a cluster, where a reading that goes on and its failure are told. */
export function lines(sync: Sync<ClusterBarModel>, load: () => void): HTMLElement {
  const root = h("div.dra-lines");
  const status = h("div.dra-lines-status", { role: "status" });
  // What comes and goes stands under the answer strip, which never moves.
  const over = h("div.dra-lines-over");
  const draw = () => {
    const held = root.contains(document.activeElement);
    const problem = sync.get("problem");
    const close = h(
      "button.dra-quiet",
      { type: "button", "aria-label": "Hide this message", onclick: () => sync.send({ type: "dismiss-problem" }) },
      icon("cross"),
    );
    refill(status, problem ? h("div.dra-line.dra-problem", {}, icon("error"), messageText(problem), close) : null);
    const ask = question(sync);
    refill(over, status, ask);
    refill(root, over, example(sync, load));
    // Whoever closed a line by keyboard goes on from the bar and not from the top of the page.
    if (held && !root.contains(document.activeElement))
      root.parentElement?.querySelector<HTMLElement>('[data-key="source"]')?.focus();
  };
  sync.watch(["problem", "ask", "example"], draw);
  sync.atEnd(makeRoom(over));
  return root;
}

/** Text as it is; a table of several lines keeps its columns, and only a command that is wider is wrapped. */
export function messageText(text: string): HTMLElement {
  return h(text.includes("\n") ? "pre.dra-told" : "span", {}, text);
}

/** In the planner a row under the answer strip is as high as what is told: it covers no pane, and the strip stays. */
function makeRoom(over: HTMLElement): () => void {
  if (typeof ResizeObserver === "undefined") return () => undefined;
  const observer = new ResizeObserver(() =>
    over.closest<HTMLElement>(".dra-lab-grid")?.style.setProperty("--dra-note", `${over.offsetHeight}px`),
  );
  observer.observe(over);
  return () => observer.disconnect();
}

function question(sync: Sync<ClusterBarModel>): HTMLElement | null {
  const ask = sync.get("ask");
  if (!ask.text) return null;
  const answers = (ask.options ?? []).map(([id, label]) =>
    h("button.dra-button", { type: "button", onclick: () => sync.send({ type: "answer", id }) }, label),
  );
  return h("div.dra-line.dra-ask", { role: "alert" }, icon("warning"), h("span", {}, ask.text), ...answers);
}

function example(sync: Sync<ClusterBarModel>, load: () => void): HTMLElement | null {
  if (!sync.get("example")) return null;
  return h(
    "div.dra-line.dra-example",
    {},
    h("b", {}, "This is an example."),
    h("button.dra-link", { type: "button", onclick: load }, "Load your cluster"),
    h("span", { "aria-hidden": "true" }, "·"),
    h("button.dra-link", { type: "button", onclick: () => sync.send({ type: "start-empty" }) }, "Start empty"),
    h(
      "button.dra-quiet",
      {
        type: "button",
        "aria-label": "Keep the example and hide this line",
        title: "Keep it",
        onclick: () => sync.send({ type: "dismiss-example" }),
      },
      icon("cross"),
    ),
  );
}
