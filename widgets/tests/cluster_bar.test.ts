import { afterEach, expect, test, vi } from "vitest";
import { MAX_BYTES, readFiles } from "../src/bar/files";
import widget from "../src/cluster_bar";
import type { ClusterBarModel } from "../src/generated/models";
import { drawn, HOSTILE, mount, press } from "./fake_model";

afterEach(() => document.body.replaceChildren());

const BAR: ClusterBarModel = {
  ask: {}, busy: "", counts: {}, example: true, findings: [], problem: "", read_at: "14:02", release: "1.36", releases: ["1.35", "1.36"], source: "sample:a",
  sources: [{ value: "sample:a", label: "A", group: "Samples", detail: "one" }, { value: "sample:b", label: "B", group: "Samples" }], summary: "4 nodes · 2 drivers",
};
const bar = (values: Partial<ClusterBarModel> = {}) => mount(widget, { ...BAR, ...values });
const button = (el: Element, name: string) => [...el.querySelectorAll("button")].find((one) => (one.getAttribute("aria-label") ?? one.textContent ?? "").includes(name))!;

test("everything that a view began ends with it", () => {
  const { model, el, end, outside } = bar();
  expect(model.listening).toBeGreaterThan(0);
  expect(outside.size).toBeGreaterThan(0);
  end();
  expect([model.listening, outside.size, el.childElementCount, el.className]).toEqual([0, 0, 0, ""]);
});

test("the bar says what is in the cluster and when it was read", () => {
  const { el } = bar();
  expect(el.querySelector(".dra-bar-summary")!.textContent).toBe("4 nodes · 2 drivers · read 14:02");
});

test("a chosen sample, a path and the release are told to Python", () => {
  const { el, model } = bar();
  (el.querySelector('[data-value="sample:b"]') as HTMLElement).click();
  const path = el.querySelector<HTMLInputElement>('input[type="text"]')!;
  path.value = "  ./cluster.json ";
  press(path, "Enter");
  path.value = "   ";
  press(path, "Enter");
  const select = el.querySelector("select")!;
  select.value = "1.35";
  select.dispatchEvent(new Event("change"));
  expect(model.sent).toEqual([{ type: "load", source: "sample:b" }, { type: "load", source: "./cluster.json" }, { type: "release", value: "1.35" }]);
});

test("the arrows go through the samples and Enter takes one", () => {
  const { el, model } = bar();
  button(el, "sample:a").click();
  const options = [...el.querySelectorAll<HTMLElement>('[role="option"]')];
  expect(document.activeElement).toBe(options[0]);
  press(options[0]!, "ArrowDown");
  expect(document.activeElement).toBe(options[1]);
  press(options[1]!, "Enter");
  expect(model.sent).toEqual([{ type: "load", source: "sample:b" }]);
});

test("Escape closes a panel and gives the focus back to its button", () => {
  const { el } = bar();
  const source = button(el, "sample:a");
  source.click();
  expect(source.getAttribute("aria-expanded")).toBe("true");
  press(document.activeElement!, "Escape");
  expect([source.getAttribute("aria-expanded"), document.activeElement]).toEqual(["false", source]);
});

test("the example line offers two ways on and can be hidden", () => {
  const { el, model } = bar();
  expect(el.querySelector(".dra-example")!.textContent).toContain("This is an example.");
  button(el, "Start empty").click();
  button(el, "Keep the example").click();
  button(el, "Load your cluster").click();
  expect(model.sent).toEqual([{ type: "start-empty" }, { type: "dismiss-example" }]);
  expect((document.activeElement as HTMLInputElement).placeholder).toContain("path");
});

test("a question has a button for each answer", async () => {
  const { el, model } = bar();
  model.set("ask", { text: "Changed on disk?", options: [["reload", "Take it"], ["overwrite", "Write over it"]] });
  await drawn();
  button(el, "Write over it").click();
  expect(model.sent).toEqual([{ type: "answer", id: "overwrite" }]);
});

test("findings are counted by severity, in words for those who do not see the signs", async () => {
  const { el, model } = bar();
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: none");
  model.set("counts", { error: 1, note: 2 });
  model.set("findings", [{ severity: "error", message: "broken", subject: "pool", advice: "mend it", origin: "a.yaml:3" }]);
  await drawn();
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: 1 error, 2 notes");
  expect(el.querySelector(".dra-finding")!.textContent).toBe("errorpoolbrokenmend ita.yaml:3");
});

test("text from a cluster stays text everywhere", async () => {
  const { el, model } = bar({ summary: HOSTILE, source: HOSTILE, problem: HOSTILE, busy: HOSTILE });
  model.set("sources", [{ value: HOSTILE, label: HOSTILE, group: HOSTILE, detail: HOSTILE }]);
  model.set("findings", [{ severity: HOSTILE, message: HOSTILE, subject: HOSTILE }]);
  model.set("ask", { text: HOSTILE, options: [[HOSTILE, HOSTILE]] });
  await drawn();
  expect(el.querySelector("img")).toBeNull();
  expect(el.textContent!.split(HOSTILE).length).toBeGreaterThan(8);
});

test("a tab of its own is asked for with the element that wants it", () => {
  const { el } = bar();
  const heard = vi.fn();
  window.addEventListener("dra-lab:open-in-tab", heard, { once: true });
  button(el, "Open in a tab").click();
  expect((heard.mock.calls[0]![0] as CustomEvent<{ element: Element }>).detail.element).toBe(el);
});

test("JSON and YAML files are read, others are named", async () => {
  // jsdom has no File.text.
  const yaml = Object.assign(new File([], "a.yaml"), { text: () => Promise.resolve("a: 1") });
  const read = await readFiles([yaml, new File(["x"], "x.png")]);
  expect(read.files).toEqual([{ name: "a.yaml", text: "a: 1" }]);
  expect(read.problem).toContain("x.png");
});

test("more than one message can carry is refused with what to do instead", async () => {
  const large = new File([], "large.json");
  Object.defineProperty(large, "size", { value: MAX_BYTES + 1 });
  const read = await readFiles([large]);
  expect(read.files).toEqual([]);
  expect(read.problem).toMatch(/7 MB.*give its path/);
});
