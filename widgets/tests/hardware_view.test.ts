import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { HardwareViewModel } from "../src/generated/models";
import * as widget from "../src/hardware/hardware_view";
import { safeSvg } from "../src/hardware/tree";
import { drawn, HOSTILE, mount } from "./fake_model";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" class="dra-hw" viewBox="0 0 100 90" width="100" height="90" data-legend="60">
<defs><pattern id="hatch"/></defs><g role="tree"><g role="treeitem" tabindex="0" data-level="node" data-value="n1"><g role="group">
<g role="treeitem" tabindex="-1" data-id="d/p/g0" data-request="gpu"><rect fill="url(#hatch)"/></g><g role="treeitem" tabindex="-1" data-id="d/p/g1"/></g></g></g>
<g class="dra-hw-legend"><text>free</text></g></svg>`;
const HARDWARE: HardwareViewModel = {
  caption: "",
  empty: "",
  empty_action: "",
  fleet: {
    items: [
      { id: "n1", label: "1", fit: "best" },
      { id: "n2", label: "2", fit: "no" },
    ],
    total: 2,
    best: "n1",
  },
  examples: [],
  graph: "",
  height: 0,
  highlight: "",
  kinds: [],
  looked: "",
  node: "n1",
  pinned: "",
  mode: "plan",
  problem: "",
  show: "best",
  stale: false,
  svg: SVG,
  trace: {},
  trace_inside: {},
  trace_links: true,
  trace_now: {},
  trace_predict: false,
  trace_prediction: {},
  trace_step: 0,
  trace_svg: "",
  unfolded: false,
  width: 0,
};
const hardware = (values: Partial<HardwareViewModel> = {}) => mount(widget, { ...HARDWARE, ...values });
const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find((one) =>
    (one.textContent + (one.getAttribute("aria-label") ?? "")).includes(words),
  )!;
const items = (el: Element) => [...el.querySelectorAll<SVGElement>('[role="treeitem"]')];

test("everything that a view began ends with it", () => {
  const { model, el, end, outside } = hardware();
  end();
  expect([model.listening, outside.size, el.childElementCount]).toEqual([0, 0, 0]);
});

test("a picture comes in without anything that could act or fetch", () => {
  const svg =
    safeSvg(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="x()"><script>x()</script>
    <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject><a xlink:href="javascript:x()"><text>a</text></a><image href="http://x/y.png"/>
    <style>@import "http://x";</style><g ONCLICK="x()" style="fill:url(http://x)"><rect fill="url(#ok)" onfocus="x()"/><animate/></g></svg>`);
  expect([...svg.querySelectorAll("*")].map((node) => node.localName)).toEqual(["g", "rect"]);
  expect(svg.outerHTML).not.toMatch(/on\w+=|javascript|http:\/\/x/i);
  expect(svg.querySelector("rect")!.getAttribute("fill")).toMatch(/^url\(#.*-ok\)$/);
});

test("the pane reports text that is not SVG", () => {
  const { el } = hardware({ svg: "<html/>" });
  expect(el.querySelector(".dra-pane-problem")!.textContent).toContain("not valid SVG");
  expect(() => safeSvg("<svg")).toThrow();
});

test("the same picture twice on a page has patterns of its own each time", () => {
  const [one, other] = [safeSvg(SVG), safeSvg(SVG)];
  const pattern = (svg: Element) => svg.querySelector("pattern")!.id;
  expect(pattern(one)).not.toBe(pattern(other));
  expect(other.querySelector("rect")!.getAttribute("fill")).toBe(`url(#${pattern(other)})`);
});

test("the legend is a picture of its own below the hardware", () => {
  const { el } = hardware();
  const [above, below] = [...el.querySelectorAll("svg.dra-hw")];
  expect([above!.getAttribute("viewBox"), below!.getAttribute("viewBox")]).toEqual(["0 0 100 60", "0 60 100 30"]);
  expect([above!.querySelector(".dra-hw-legend"), below!.textContent!.trim()]).toEqual([null, "free"]);
});

test("the device that a person looks at is marked, and has the focus if that is on the picture", async () => {
  const { el, model } = hardware();
  model.set("looked", "d/p/g1");
  await drawn();
  expect([items(el)[2]!.getAttribute("aria-current"), document.activeElement]).toEqual(["true", document.body]);
  items(el)[0]!.focus();
  model.set("looked", "d/p/g0");
  await drawn();
  expect(items(el).map((item) => item.getAttribute("aria-current"))).toEqual([null, "true", null]);
  expect(document.activeElement).toBe(items(el)[1]);
});

test("the line that stands for folded roots opens them, by click and by Enter", () => {
  const line = '<g role="treeitem" tabindex="0" data-fold=""/>';
  const { el, model } = hardware({ svg: svgOf(line) });
  items(el)[0]!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.get("unfolded")).toBe(true);
  items(el)[0]!.focus();
  items(el)[0]!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  expect(model.get("unfolded")).toBe(false);
});

const BLOCK = `<g role="treeitem" tabindex="-1" data-ids="d/p/g0 d/p/g1"/>`;
const ONE = (id: string) => `<g role="treeitem" tabindex="-1" data-id="${id}"/>`;
const place = (root: string, items: string) => `<g data-level="pcieRoot" data-value="${root}">${items}</g>`;
const svgOf = (...parts: string[]) =>
  `<svg xmlns="http://www.w3.org/2000/svg" class="dra-hw" viewBox="0 0 9 9"><g role="tree">${parts.join("")}</g></svg>`;
test.each([
  ["a device goes into a block", [ONE("d/p/g2"), ONE("d/p/g1")], [ONE("d/p/g2"), BLOCK], 1],
  ["a block loses a device", [ONE("d/p/g2"), BLOCK], [ONE("d/p/g0"), ONE("d/p/g2"), ONE("d/p/g1")], 0],
  [
    "a device is gone, another is at its place",
    [place("a", ONE("x")), place("b", ONE("y"))],
    [place("a", ONE("z")), place("b", ONE("w"))],
    1,
  ],
  ["a device and its place are gone", [ONE("x"), ONE("y")], [ONE("z")], 0],
])("the focus stays in the picture when %s", async (_what, before, after, at) => {
  const { el, model } = hardware({ svg: svgOf(...before) });
  items(el)[1]!.focus();
  model.set("svg", svgOf(...after));
  await drawn();
  expect(items(el).indexOf(document.activeElement as SVGElement)).toBe(at);
});

test("a tile draws its node and says in words how it serves the drawing", () => {
  const { el, model } = hardware();
  const tiles = [...el.querySelectorAll<HTMLElement>(".dra-tile")];
  expect(tiles.map((tile) => tile.getAttribute("aria-label"))).toEqual([
    "n1: fits best; the plan is here",
    "n2: does not fit",
  ]);
  expect(tiles.map((tile) => tile.getAttribute("aria-pressed"))).toEqual(["true", "false"]);
  tiles[1]!.click();
  expect(model.sent).toEqual([{ type: "node", name: "n2" }]);
});

test("many nodes are rows of classes, very many a table", async () => {
  const { el, model } = hardware();
  const classes = (count: number) => ({
    kind: "classes",
    total: 5000,
    items: Array.from({ length: count }, (_, i) => ({ id: `n${i}`, label: `class ${i}`, nodes: 100 - i })),
  });
  model.set("fleet", classes(20));
  await drawn();
  expect(el.querySelectorAll(".dra-class").length).toBe(20);
  model.set("fleet", classes(1000));
  await drawn();
  expect([
    el.querySelectorAll(".dra-class").length,
    el.querySelector(".dra-tpane")!.getAttribute("aria-rowcount"),
  ]).toEqual([0, "1001"]);
});

test("what is shown is chosen like any group of radio buttons, and follows Python", async () => {
  const { el, model } = hardware();
  const radio = (value: string) => el.querySelector<HTMLInputElement>(`input[value="${value}"]`)!;
  radio("both").click();
  expect(model.get("show")).toBe("both");
  model.set("show", "plain");
  await drawn();
  expect(radio("plain").checked).toBe(true);
});

test("many tiles are cut until a person asks for all of them", async () => {
  const { el, model } = hardware();
  const tiles = Array.from({ length: 40 }, (_, i) => ({ id: `n${i}`, label: `node-${i}`, word: i ? "full" : "" }));
  model.set("fleet", { kind: "tiles", total: 40, best: "n0", items: tiles });
  model.set("node", "n30");
  await drawn();
  const shown = () => [...el.querySelectorAll(".dra-tile")].map((tile) => tile.getAttribute("data-key"));
  expect([shown().length, shown().at(-1)]).toEqual([17, "n30"]);
  button(el, "All 40 nodes").click();
  await drawn();
  expect(shown().length).toBe(40);
});

test("racks are cells with a grade and words; a cell draws a node of its rack", async () => {
  const { el, model } = hardware();
  const cells = [
    { rack: "r1", grade: 0, words: "r1: the drawing fits on 0 of 20 nodes", id: "a" },
    { rack: "r2", grade: 4, words: "r2: the drawing fits on 20 of 20 nodes", id: "b" },
  ];
  const heat = { title: "Fitting nodes by rack", source: "names of the nodes", grades: ["0", "1–20"], cells };
  model.set("fleet", { kind: "classes", total: 40, items: [{ id: "a", label: "like a", nodes: 40 }], heat });
  await drawn();
  button(el, "Racks").click();
  await drawn();
  const found = [...el.querySelectorAll<HTMLElement>(".dra-heat-cells button")];
  expect(found.map((cell) => cell.getAttribute("aria-label"))).toEqual(cells.map((cell) => cell.words));
  found[1]!.click();
  expect(model.sent.at(-1)).toEqual({ type: "node", name: "b" });
});

test("a block of like devices is chosen one device a click, and lights with each of its requests", async () => {
  const block = SVG.replace('data-id="d/p/g1"', 'data-ids="d/p/c1 d/p/c2" data-request="cpu more"');
  const { el, model } = hardware({ svg: block });
  button(el, "By example").click();
  const click = (shiftKey = false) =>
    items(el)
      .at(-1)!
      .dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey }));
  const sent = () => (model.sent.at(-1) as unknown as { devices: string[] }).devices;
  click();
  await drawn();
  click();
  expect(sent()).toEqual(["d/p/c1", "d/p/c2"]);
  await drawn();
  click(true);
  expect(sent()).toEqual(["d/p/c1"]);
  model.set("highlight", "more");
  await drawn();
  expect(el.querySelector(".dra-hw-lit")!.getAttribute("data-ids")).toBe("d/p/c1 d/p/c2");
});

test("nothing to show is one sentence and one thing to do", () => {
  const { el, model } = hardware({ svg: "", empty: "No ResourceSlices here", empty_action: "Try a sample" });
  button(el, "Try a sample").click();
  expect(model.sent).toEqual([{ type: "sample" }]);
  expect(el.querySelector<HTMLElement>(".dra-hardware-body")!.hidden).toBe(true);
});

test("the kind of a driver without a profile is corrected, and its profile copied", async () => {
  const kinds = [{ driver: HOSTILE, kind: "gpu", guessed: true, profile: `title: ${HOSTILE}` }];
  const { el, model } = hardware({ kinds });
  expect(button(el, "Kinds").textContent).toBe("Kinds (guessed)");
  const panel = el.querySelector(".dra-driver-kinds")!;
  expect([panel.querySelector("img"), panel.querySelector("pre")!.textContent]).toEqual([null, `title: ${HOSTILE}`]);
  const choice = panel.querySelector("select")!;
  expect(choice.selectedOptions[0]!.textContent).toBe("GPU or other accelerator (guessed)");
  choice.value = "nic";
  choice.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.sent.at(-1)).toEqual({ type: "set-kind", driver: HOSTILE, kind: "nic" });
  model.set("kinds", []);
  await drawn();
  expect(button(el, "Kinds").hidden).toBe(true);
});

test("devices chosen on the picture ask for claims, which are shown as text", async () => {
  const { model, el } = hardware();
  button(el, "By example").click();
  items(el)
    .at(-1)!
    .dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.sent.at(-1)).toEqual({ type: "by-example", devices: ["d/p/g1"] });
  model.set("examples", [{ title: HOSTILE, lines: [HOSTILE] }]);
  await drawn();
  expect(el.querySelector(".dra-examples b")!.textContent).toBe(HOSTILE);
  button(el, "Use as the drawing").click();
  expect(model.sent).toContainEqual({ type: "take-example", number: 0, add: false });
});
