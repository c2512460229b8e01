import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HardwareViewModel } from "../src/generated/models";
import * as widget from "../src/hardware/hardware_view";
import { mount, pass, press } from "./fake_model";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" class="dra-hw" viewBox="0 0 100 90" width="100" height="90">
<g role="tree"><g role="treeitem" tabindex="0" data-id="d/p/g0"/><g role="treeitem" tabindex="-1" data-id="d/p/g1"/></g></svg>`;
const TRACE: Partial<HardwareViewModel> = {
  fleet: { items: [], total: 0 },
  mode: "trace",
  node: "n1",
  problem: "",
  highlight: "",
  svg: SVG,
  trace: { title: "kube-scheduler 1.36 on n1", total: 9, end: "It allocates 1 device." },
  trace_inside: {},
  trace_links: true,
  trace_now: {
    step: 4,
    kind: "allocated",
    device: "d/p/g1",
    sentence: "kube-scheduler allocates g1.",
    rows: [
      { key: "1-3", first: 1, last: 3, kind: "given-back", opens: true },
      { key: "4-4", first: 4, last: 4, kind: "allocated", devices: "g1" },
    ],
  },
  trace_predict: false,
  trace_prediction: {},
  trace_step: 4,
  trace_svg: SVG,
};
const pane = (values: Partial<HardwareViewModel> = {}) => mount(widget, { ...TRACE, ...values });
const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find((one) =>
    (one.getAttribute("aria-label") ?? one.textContent).includes(words),
  )!;

test("the device of the present step is marked with what happened to it", () => {
  const { el } = pane();
  const marked = [...el.querySelectorAll(".dra-trace-now")].map((item) => item.getAttribute("data-id"));
  expect(marked).toEqual(["d/p/g1"]);
  expect(el.querySelector(".dra-trace-now")?.getAttribute("data-step")).toBe("allocated");
});

test("while a person predicts no key shows a later step", () => {
  const { el, model } = pane({ trace_predict: true });
  press(button(el, "Back"), "ArrowRight");
  press(button(el, "Back"), "End");
  expect(model.get("trace_step")).toBe(4);
});

test("a click on a device is a prediction only if the person predicts", () => {
  for (const isOn of [false, true]) {
    const { el, model } = pane({ trace_predict: isOn });
    el.querySelector('[data-id="d/p/g0"]')?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(model.sent).toEqual(isOn ? [{ type: "predict", device: "d/p/g0" }] : []);
  }
});

test("a folded row asks for the rows inside it", () => {
  const { el, model } = pane();
  button(el, "Show steps 1–3").click();
  expect(model.sent).toEqual([{ type: "open-trace-row", first: 1, last: 3 }]);
});

test("playing shows the next step after a moment", async () => {
  const { el, model } = pane();
  button(el, "Play").click();
  await pass(900);
  expect(model.get("trace_step")).toBe(5);
});

test("without a search the reason is shown", () => {
  expect(pane({ trace: { error: "There is no answer yet" } }).el.textContent).toContain("There is no answer yet");
});

test("a search that runs says how far it is, and Stop ends it", () => {
  const { el, model } = pane({ trace: { ...TRACE.trace, working: "4,096 devices tried so far" } });
  expect(el.querySelector(".dra-trace-working")?.textContent).toContain("4,096 devices tried so far.");
  button(el, "Stop").click();
  expect(model.sent).toEqual([{ type: "stop-trace" }]);
});

test("after the last recorded step the numbers are lower bounds", () => {
  const { el } = pane({
    trace: { ...TRACE.trace, recorded: 3, counters: [{ value: "", caption: "devices tried" }] },
    trace_now: { ...TRACE.trace_now, tried: 1200 },
  });
  expect(el.querySelector(".dra-tile-figure b")?.textContent).toBe("1,200+");
});
