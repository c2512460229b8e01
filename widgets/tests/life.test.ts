import { act } from "react";
import { afterEach, expect, test } from "vitest";
import type { HardwareViewModel } from "../src/generated/models";
import * as widget from "../src/hardware/hardware_view";
import { KERNEL_GONE, RUN_AGAIN } from "../src/view/model";
import { mount } from "./fake_model";

afterEach(() => document.body.replaceChildren());

const HARDWARE = {
  svg: "",
  node: "n-1",
  fleet: {},
  show: "best",
  highlight: "",
  problem: "",
  empty: "",
  caption: "",
} as unknown as HardwareViewModel;
const hardware = () => mount(widget, { ...HARDWARE });
const trigger = (model: ReturnType<typeof hardware>["model"], event: string) =>
  act(() => model.listeners.get(event)?.forEach((call) => void call()));
const gone = (...inside: Element[]) =>
  act(() => void window.dispatchEvent(new CustomEvent(KERNEL_GONE, { detail: { inside } })));

test.each(["comm_live_update", "comm:close", "destroy"])(
  "after %s nothing is sent or saved any more, and the view says so once",
  (event) => {
    const { el, model } = hardware();
    trigger(model, event);
    trigger(model, event);
    expect(el.querySelectorAll(".dra-lost").length).toBe(1);
    el.querySelector<HTMLInputElement>('input[value="both"]')!.click();
    el.querySelector<HTMLElement>('[data-key="pin"]')!.click();
    expect([model.sent, model.saved, model.values.show]).toEqual([[], 0, "best"]);
  },
);

test("in a planner only its bar says so", () => {
  const [planner, bar, part] = ["dra-lab", "dra-lab-bar", "dra-lab-hardware"].map((name) => {
    const node = document.createElement("div");
    node.className = name;
    return node;
  });
  const views = [hardware(), hardware()];
  bar!.append(views[0]!.el);
  part!.append(views[1]!.el);
  planner!.append(bar!, part!);
  gone(planner!);
  expect(views.map(({ el }) => el.querySelectorAll(".dra-lost").length)).toEqual([1, 0]);
});

test("a kernel that is gone concerns the views of its notebook only", () => {
  const [here, there] = [hardware(), hardware()];
  gone(here.el);
  expect([here.el.querySelectorAll(".dra-lost").length, there.el.querySelectorAll(".dra-lost").length]).toEqual([1, 0]);
});

test("if no kernel runs cells, the view says what to press; elsewhere it asks", () => {
  const { el } = hardware();
  gone(el);
  const [line, button] = [el.querySelector(".dra-lost")!, el.querySelector<HTMLElement>(".dra-lost button")!];
  button.click();
  expect(line.textContent).toContain("Shift+Enter");
  const asked: unknown[] = [];
  const answer = (event: Event) => (event.preventDefault(), asked.push((event as CustomEvent).detail.element));
  window.addEventListener(RUN_AGAIN, answer);
  button.click();
  window.removeEventListener(RUN_AGAIN, answer);
  expect(asked).toEqual([button]);
});
