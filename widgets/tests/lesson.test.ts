import { afterEach, expect, test } from "vitest";
import type { LessonPictureModel, LessonViewModel } from "../src/generated/models";
import * as hardware from "../src/hardware/hardware_view";
import * as widget from "../src/lesson/lesson_view";
import { drawn, HOSTILE, mount, press } from "./fake_model";

afterEach(() => void document.body.replaceChildren());

const LESSON: LessonViewModel = {
  ask: {},
  busy: "",
  can_leave: false,
  explained: {},
  head: {
    number: "Lesson 3 of 14",
    title: "First fit",
    minutes: 15,
    tiles: [{ value: "1 of 2", caption: "predictions right" }],
  },
  hints: [
    { grade: "A nudge", text: "Two requests do not know each other.", state: "shown" },
    { grade: "A direction", state: "open" },
    { grade: "Nearly there", note: "opens after hint 2" },
  ],
  judged: { passed: false, message: "" },
  judged_stale: false,
  lessons: [],
  mode: "plan",
  picked: [],
  problem: "",
  saved: "Your drawing is saved. Only you change it.",
  steps: [{ label: "Predict", state: "done" }, { label: "Draw", state: "now" }, { label: "Check" }],
  task: {
    kind: "draw",
    title: "2. Draw",
    text: "A pod needs **2 GPUs**.\n\nUse `numaNode`.",
    ask: "Draw it.",
    primary: "Check my drawing",
    action: "check",
    back: "Back to Predict",
  },
  terms: { "first fit": "The first devices that pass." },
  yaml: "",
};
const lesson = (values: Partial<LessonViewModel> = {}) => mount(widget, { ...LESSON, ...values });
const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find((one) =>
    (one.getAttribute("aria-label") ?? one.textContent).includes(words),
  )!;

test("the rail names the present step, and a later step cannot be chosen", () => {
  const { el, model } = lesson();
  const steps = [...el.querySelectorAll<HTMLButtonElement>(".dra-lesson-rail button")];
  expect(steps.map((step) => step.getAttribute("aria-label"))).toEqual([
    "Step 1, Predict: done",
    "Step 2, Draw: this step",
    "Step 3, Check: comes later",
  ]);
  expect(steps.map((step) => step.disabled)).toEqual([false, false, true]);
  steps[0]!.click();
  expect(model.sent).toEqual([{ type: "go-to-step", step: 0 }]);
});

test("bold words and names of the text are marked, and nothing else is markup", () => {
  const { el } = lesson({ task: { ...LESSON.task, text: `**2 GPUs** and \`numaNode\` ${HOSTILE}` } });
  const body = el.querySelector(".dra-lesson-body")!;
  expect([body.querySelector("b")!.textContent, body.querySelector("code")!.textContent]).toEqual([
    "2 GPUs",
    "numaNode",
  ]);
  expect(body.querySelector("img")).toBeNull();
});

test("starting over asks first", () => {
  const { el, model } = lesson();
  button(el, "Start over").click();
  expect(model.sent).toEqual([]);
  const question = el.querySelector('[aria-label="Start this lesson again?"]')!;
  button(question, "Start over").click();
  expect(model.sent).toEqual([{ type: "start-over" }]);
});

test("the words of the lesson open and close", () => {
  const { el } = lesson();
  const words = button(el, "Words in this lesson");
  words.click();
  expect(el.querySelector(".dra-lesson-panel")!.textContent).toContain("The first devices that pass.");
  words.click();
  expect(el.querySelector(".dra-lesson-panel")).toBeNull();
});

test("nothing is left of a lesson that is taken away", () => {
  const { model, outside, end } = lesson();
  end();
  expect([model.listening, outside.size]).toEqual([0, 0]);
});

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" class="dra-hw" viewBox="0 0 100 90" width="100" height="90">
<g role="tree"><g role="treeitem" tabindex="0" data-id="d/p/g0"/><g role="treeitem" tabindex="-1" data-id="d/p/g1"/></g></svg>`;
const PICTURE: Partial<LessonPictureModel> = {
  caption: "",
  fleet: { items: [{ id: "n1", label: "1" }], total: 1 },
  highlight: "",
  mode: "lesson",
  node: "n1",
  only: "n1",
  picked: [],
  picks: true,
  problem: "",
  show: "best",
  stale: false,
  svg: SVG,
  width: 0,
};
const picture = (values: Partial<LessonPictureModel> = {}) => mount(hardware, { ...PICTURE, ...values });
const items = (el: Element) => [...el.querySelectorAll<SVGElement>('[role="treeitem"]')];

test("a click chooses a device, and a second click gives it up", async () => {
  const { el, model } = picture();
  items(el)[1]!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.values.picked).toEqual(["d/p/g1"]);
  await drawn();
  expect(items(el)[1]!.getAttribute("aria-selected")).toBe("true");
  items(el)[1]!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.values.picked).toEqual([]);
});

test("a picture that comes between press and release does not lose the click", async () => {
  const { el, model } = picture();
  const tree = items(el)[0]!.closest(".dra-picture")!;
  items(el)[1]!.dispatchEvent(new MouseEvent("pointerdown", { bubbles: true }));
  model.set("svg", SVG.replace("100 90", "120 90"));
  await drawn();
  // The browser reports the click on what the old and the new picture have in common.
  tree.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.values.picked).toEqual(["d/p/g1"]);
});

test.each(["Enter", " "])("the key %j chooses the device with the focus", (key) => {
  const { el, model } = picture();
  items(el)[0]!.focus();
  press(items(el)[0]!, key);
  expect(model.values.picked).toEqual(["d/p/g0"]);
});

test("nothing can be chosen in another step, and other nodes can be looked at", () => {
  const { el, model } = picture({ picks: false, only: "" });
  items(el)[0]!.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(model.values.picked).toEqual([]);
  expect(el.querySelectorAll(".dra-tile")).toHaveLength(1);
});

test("no choice of allocations is offered before there is an answer", () => {
  expect(picture({ only: "" }).el.querySelector(".dra-choice")).toBeNull();
  const fleet = { items: [{ id: "n1", label: "1" }], total: 1, best: "n1" };
  expect(picture({ only: "", fleet }).el.querySelector(".dra-choice")).not.toBeNull();
});
