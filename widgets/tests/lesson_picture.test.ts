import { afterEach, expect, test } from "vitest";
import type { LessonPictureModel } from "../src/generated/models";
import * as widget from "../src/hardware/hardware_view";
import { drawn, mount, press } from "./fake_model";

afterEach(() => void document.body.replaceChildren());

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
const picture = (values: Partial<LessonPictureModel> = {}) => mount(widget, { ...PICTURE, ...values });
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
