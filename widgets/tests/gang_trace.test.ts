import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HardwareViewModel } from "../src/generated/models";
import * as widget from "../src/hardware/hardware_view";
import { mount, pass, press } from "./fake_model";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const GANG: Partial<HardwareViewModel> = {
  fleet: { items: [], total: 0 },
  gang_trace: {
    name: "train",
    title: "Kueue 0.19 places train: 1 gang of 4 pods in one rack",
    verdict: "no",
    sentence: "Kueue 0.19: no.",
    total: 3,
    regret: "Kueue 0.19 starts 0; the best plan starts 1 of 1 gang, proven.",
    tiles: [{ value: "no", caption: "place found" }],
  },
  gang_trace_now: {
    step: 2,
    sentence: "Kueue takes the rack r1.",
    source: "tas_flavor_snapshot.go:findBestFitDomainForSlices",
    steps: [
      { number: 1, level: "node", sentence: "Kueue counts pods." },
      { number: 2, level: "rack", sentence: "Kueue takes the rack r1." },
    ],
    heading: "Racks at this step",
    rows: [
      { key: "b1", name: "b1" },
      { key: "b1/r1", name: "r1", depth: 1, pods: 8, wanted: 4, state: "chosen", words: "gets 4 pods" },
      { key: "b1/r2", name: "r2", depth: 1, pods: 1, wanted: 4, state: "few", words: "room for 1" },
    ],
    more: "3 more are not listed.",
  },
  gang_trace_scheduler: "kueue",
  gang_trace_shown: true,
  gang_trace_step: 2,
  highlight: "",
  mode: "trace",
  node: "n1",
  problem: "",
  svg: "",
  trace: { node: "n1", title: "kube-scheduler 1.36 on n1", total: 9 },
  trace_inside: {},
  trace_links: true,
  trace_now: {},
  trace_predict: false,
  trace_prediction: {},
  trace_step: 0,
  trace_svg: "",
};
const pane = (values: Partial<HardwareViewModel> = {}) => mount(widget, { ...GANG, ...values });
const radio = (el: Element, value: string) => el.querySelector<HTMLInputElement>(`input[value="${value}"]`)!;
const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find((one) => one.textContent.includes(words))!;

test("the present step is the heading and the marked row of the list", () => {
  const { el } = pane();
  expect(el.querySelector("h2")?.textContent).toBe("Step 2 of 3. Kueue takes the rack r1.");
  expect(el.querySelector('[aria-current="step"]')?.textContent).toBe("2rackKueue takes the rack r1.");
  expect(el.querySelector(".dra-trace-later")?.textContent).toBe("Step 3 is not shown yet");
});

test("every domain says its state in words and by a sign", () => {
  const { el } = pane();
  const rows = [...el.querySelectorAll(".dra-gang-domains tbody tr")].map((row) => [
    row.getAttribute("data-state"),
    row.querySelector("td:last-child")?.textContent.trim(),
  ]);
  expect(rows).toEqual([
    ["above", ""],
    ["chosen", "★ gets 4 pods"],
    ["few", "✕ room for 1"],
  ]);
});

test("the bar is full if everything has room", () => {
  const { el } = pane();
  const bars = [...el.querySelectorAll<HTMLElement>(".dra-gang-bar > span")].map((bar) => bar.style.width);
  expect(bars).toEqual(["100%", "25%"]);
});

test("the arrows, Home and End choose the step", () => {
  const { el, model } = pane();
  for (const [key, step] of [
    ["ArrowRight", 3],
    ["Home", 0],
    ["End", 3],
  ] as const) {
    press(button(el, "Next"), key);
    expect(model.get("gang_trace_step")).toBe(step);
  }
});

test("playing shows the next step after a moment", async () => {
  const { el, model } = pane();
  button(el, "Play").click();
  await pass(900);
  expect(model.get("gang_trace_step")).toBe(3);
});

test("a person chooses the scheduler", () => {
  const { el, model } = pane();
  radio(el, "kube-scheduler").click();
  expect(model.get("gang_trace_scheduler")).toBe("kube-scheduler");
});

test("one pod of the gang can be traced instead", () => {
  const { el, model } = pane();
  radio(el, "One pod").click();
  expect(model.get("gang_trace_shown")).toBe(false);
  expect(pane({ gang_trace_shown: false }).el.textContent).toContain("kube-scheduler 1.36 on n1");
});

test("what cannot be replayed says why", () => {
  const { el } = pane({ gang_trace: { name: "train", error: "no hierarchy has 'rack'" }, gang_trace_now: {} });
  expect(el.querySelector(".dra-empty-state")?.textContent).toContain("no hierarchy has 'rack'");
});

test("a replay that still runs can be stopped", () => {
  const { el, model } = pane({ gang_trace: { ...GANG.gang_trace, working: "the best plan is computed" } });
  button(el, "Stop").click();
  expect(model.sent).toEqual([{ type: "stop-trace" }]);
});
