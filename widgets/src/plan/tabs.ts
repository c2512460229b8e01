// Tabs by the pattern of the ARIA guide: one tab stop, arrows choose, Home and End jump.
import { freshId, h } from "../view/dom";

export interface Tab {
  readonly key: string;
  readonly label: string;
  readonly panel: HTMLElement;
  /** Called when the panel is shown: a table needs its size to draw. */
  readonly shown?: () => void;
}

export interface Tabs {
  readonly root: HTMLElement;
  count(key: string, number: number | null, tone?: string): void;
  show(key: string): void;
}

export function tabs(label: string, all: readonly Tab[], tools: HTMLElement): Tabs {
  const list = h("div.dra-tablist", { role: "tablist", "aria-label": label });
  const panels = h("div.dra-panels");
  const made = all.map((tab) => {
    const [id, panelId] = [freshId("tab"), freshId("tabpanel")];
    const number = h("span.dra-tab-count");
    const button = h(
      "button.dra-tab",
      { type: "button", role: "tab", id, "aria-controls": panelId, onclick: () => show(tab.key) },
      tab.label,
      number,
    );
    const panel = h("div.dra-panel", { role: "tabpanel", id: panelId, "aria-labelledby": id }, tab.panel);
    list.append(button);
    panels.append(panel);
    return { tab, button, panel, number };
  });
  const show = (key: string, focus = false) => {
    for (const one of made) {
      const on = one.tab.key === key;
      one.button.setAttribute("aria-selected", String(on));
      one.button.tabIndex = on ? 0 : -1;
      one.panel.hidden = !on;
      if (on) one.tab.shown?.();
      if (on && focus) one.button.focus();
    }
  };
  list.addEventListener("keydown", (event) => {
    const here = made.findIndex((one) => one.button === document.activeElement);
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      Home: 0,
      End: made.length - 1,
    };
    const next = steps[event.key];
    if (next === undefined || here < 0) return;
    event.preventDefault();
    show(made[(next + made.length) % made.length]?.tab.key ?? "", true);
  });
  show(all[0]?.key ?? "");
  return {
    root: h("section.dra-tabs", { "aria-label": label }, h("div.dra-tabbar", {}, list, tools), panels),
    count(key, number, tone = "") {
      const one = made.find((each) => each.tab.key === key);
      if (!one) return;
      one.number.textContent = number ? ` ${number.toLocaleString("en")}` : "";
      one.number.dataset["tone"] = tone;
    },
    show,
  };
}
