// Devices chosen on the picture, and the claims that ask for such devices.
import type { ExampleRow, HardwareViewModel } from "../generated/models";
import { counted, h, icon, refill } from "../view/dom";
import type { Sync } from "../view/sync";

/** The button that begins and ends choosing, and the panel with the claims; `picked` is asked by the picture. */
export interface Choosing {
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
}

const HINT = "Choose devices on the picture: click them, or move with the arrows and press Space. Esc ends.";

export function choosing(sync: Sync<HardwareViewModel>, place: HTMLElement): Choosing {
  const picked = new Set<string>();
  let on = false;
  const button = h(
    "button.dra-button",
    {
      type: "button",
      "aria-pressed": "false",
      "aria-label": "By example",
      title: "Choose devices and get the claim that asks for such devices",
      onclick: () => turn(!on),
    },
    icon("check"),
    h("span.dra-last-word", {}, "By example"),
  );
  const words = h("p.dra-hint", { role: "status" });
  const rows = h("ol.dra-examples");
  const panel = h("section.dra-by-example", { "aria-label": "Claim by example", hidden: true }, words, rows);

  const mark = () => {
    for (const item of place.querySelectorAll<SVGElement>("[data-id]")) {
      const is = on && picked.has(item.getAttribute("data-id") ?? "");
      item.classList.toggle("dra-hw-picked", is);
      if (on && item.getAttribute("role") === "treeitem") item.setAttribute("aria-selected", String(is));
      else item.removeAttribute("aria-selected");
    }
  };
  const ask = () => {
    sync.send({ type: "by-example", devices: [...picked] });
    words.textContent = picked.size
      ? `${counted(picked.size, "device")} chosen. Claims that ask for such devices, the most general first:`
      : HINT;
    mark();
  };
  const turn = (to: boolean) => {
    on = to;
    picked.clear();
    button.setAttribute("aria-pressed", String(on));
    button.classList.toggle("is-on", on);
    place.classList.toggle("is-choosing", on);
    panel.hidden = !on;
    ask();
  };
  const toggle = (target: EventTarget | null): boolean => {
    const device = (target as Element | null)?.closest?.('[role="treeitem"][data-id]')?.getAttribute("data-id");
    if (!on || !device) return false;
    if (!picked.delete(device)) picked.add(device);
    ask();
    return true;
  };
  place.addEventListener("click", (event) => void toggle(event.target));
  place.addEventListener(
    "keydown",
    (event) => {
      if (event.key === " " && toggle(document.activeElement)) event.preventDefault(), event.stopPropagation();
    },
    true,
  );
  const end = (event: KeyboardEvent) => {
    if (!on || event.key !== "Escape") return;
    event.preventDefault();
    turn(false);
    button.focus();
  };
  place.addEventListener("keydown", end);
  panel.addEventListener("keydown", end);
  sync.watch(["svg"], () => queueMicrotask(mark));
  let node = sync.get("node");
  sync.watch(["node"], () => {
    if (node === sync.get("node")) return;
    node = sync.get("node");
    if (on) picked.clear(), ask();
  });
  sync.watch(["examples"], () => {
    const found = on && picked.size ? (sync.get("examples") ?? []) : [];
    refill(rows, ...found.map((row, number) => claim(sync, row, number, () => turn(false))));
  });
  return { button, panel };
}

function claim(sync: Sync<HardwareViewModel>, row: ExampleRow, number: number, done: () => void): HTMLElement {
  const take = (add: boolean) => () => {
    sync.send({ type: "take-example", number, add });
    done();
  };
  return h(
    "li",
    {},
    h("b", {}, row.title),
    h("pre.dra-example", {}, (row.lines ?? []).join("\n")),
    h("span.dra-hint", {}, row.matching ?? ""),
    h(
      "span.dra-example-tools",
      {},
      h(
        "button.dra-button",
        { type: "button", "data-key": `use-${number}`, onclick: take(false) },
        "Use as the drawing",
      ),
      h(
        "button.dra-button",
        { type: "button", "data-key": `add-${number}`, onclick: take(true) },
        "Add to the drawing",
      ),
    ),
  );
}
