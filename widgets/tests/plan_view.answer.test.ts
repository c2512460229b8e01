import { expect, test, vi } from "vitest";
import { drawn, pass, press } from "./fake_model";
import { button, fakeTimers, PLAN, plan } from "./plan_view_model";

fakeTimers();

test("everything that a view began ends with it", () => {
  const { model, el, end, outside } = plan();
  end();
  expect([model.listening, outside.size, el.childElementCount]).toEqual([0, 0, 0]);
  expect(vi.getTimerCount()).toBe(0);
});

test("the strip is never blank, whatever is known", async () => {
  const { el, model } = plan({ answer: {} });
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Nothing is asked");
  for (const state of ["misfit", "error", "stopped", "solving", "fits"] as const) {
    model.set("answer", { state });
    await drawn();
    expect(el.querySelector(".dra-sentence")!.textContent, state).not.toBe("");
    expect(el.querySelector(".dra-sign")!.getAttribute("aria-label"), state).not.toBe("");
  }
});

test("an empty drawing has no 'Why not?' and no word about its export", async () => {
  const { el, model } = plan({ answer: {} });
  expect(el.textContent).not.toContain("What you export");
  model.set("answer", PLAN.answer);
  await drawn();
  expect(el.textContent).toContain("What you export");
});

test("a first answer is waited for with one sentence, and the steps stand beside it alone", async () => {
  const { el, model } = plan({ answer: { state: "solving", sentence: "goal 1", progress: { text: "goal 1" } } });
  pass(150);
  model.set("answer", { state: "solving", sentence: "goal 2", progress: { text: "goal 2" } });
  await drawn();
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Planning ...");
  expect(el.querySelector(".dra-progress")!.textContent).toBe("goal 2");
});

test("a stale answer is labelled after 150 ms and not before", async () => {
  const { el, model } = plan();
  model.set("answer", {
    ...PLAN.answer,
    stale: true,
    progress: { text: "goal 4: NUMA nodes", bestText: "best 2, bound 1" },
  });
  await drawn();
  pass(149);
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
  pass(1);
  expect(el.querySelector(".dra-work")!.textContent).toBe(
    "for the previous drawinggoal 4: NUMA nodes, best 2, bound 1Cancel",
  );
  expect(el.querySelector(".dra-answer")!.classList.contains("is-stale")).toBe(true);
  button(el, "Cancel").click();
  expect(model.sent).toEqual([{ type: "cancel" }]);
  model.set("answer", PLAN.answer);
  await drawn();
  expect([el.querySelector(".dra-work")!.textContent, el.querySelector(".is-stale")]).toEqual(["", null]);
});

test("an answer for another cluster says so, and work after an answer is shown when it takes long", async () => {
  const { el, model } = plan({ answer: { ...PLAN.answer, stale: true, previous: "cluster" } });
  pass(150);
  expect(el.querySelector(".dra-for-previous")!.textContent).toBe("for the previous cluster");
  model.set("answer", { ...PLAN.answer, after: "trying the manifest" });
  await drawn();
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
  pass(500);
  expect(el.querySelector(".dra-work")!.textContent).toBe("trying the manifest ...");
  model.set("answer", PLAN.answer);
  await drawn();
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
});

test("the focus stays on Cancel while progress is told", async () => {
  const { el, model } = plan({ answer: { ...PLAN.answer, stale: true, progress: { text: "a" } } });
  pass(200);
  button(el, "Cancel").focus();
  model.set("answer", { ...PLAN.answer, stale: true, progress: { text: "b" } });
  await drawn();
  expect(document.activeElement).toBe(button(el, "Cancel"));
});

test("frequent progress does not delay the label", async () => {
  const { el, model } = plan();
  for (let step = 0; step < 4; step += 1) {
    model.set("answer", { ...PLAN.answer, stale: true, progress: { text: `step ${step}` } });
    await drawn();
    pass(50);
  }
  expect(el.querySelector(".dra-progress")!.textContent).toBe("step 3");
});

test("an answer that comes at once never looks stale", async () => {
  const { el, model } = plan();
  model.set("answer", { ...PLAN.answer, stale: true });
  await drawn();
  pass(100);
  model.set("answer", PLAN.answer);
  await drawn();
  pass(500);
  expect(el.querySelector(".is-stale")).toBeNull();
});

test("a drawing without an answer keeps the last one, with the trouble beside it", async () => {
  const { el, model } = plan();
  model.set("answer", { ...PLAN.answer, stale: true, trouble: "CEL selector `device.` does not compile" });
  await drawn();
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Fits on 3 of 4 nodes.");
  expect(el.querySelector(".dra-work")!.textContent).toBe(
    "for the previous drawingCEL selector `device.` does not compile",
  );
  expect(el.querySelector(".dra-answer")!.classList.contains("is-stale")).toBe(true);
  model.set("answer", PLAN.answer);
  await drawn();
  expect([el.querySelector(".dra-work")!.textContent, el.querySelector(".is-stale")]).toEqual(["", null]);
});

const MISFIT = {
  state: "misfit",
  sentence: "Does not fit. No node has 5 free NICs.",
  fixes: [
    { title: "Ask for 4", brings: "fits on 1 of 4 nodes", number: 3 },
    { title: "Prefer the link", brings: "fits on 2 of 4 nodes", number: 1 },
  ],
} as const;

test("a change for the previous drawing cannot be applied", async () => {
  const { el, model } = plan({ answer: { ...MISFIT, stale: true, trouble: "half written" } });
  await drawn();
  press(el.querySelector(".dra-answer")!, "Enter");
  button(el, "Ask for 4").click();
  expect(model.sent).toEqual([]);
});

test.each(["b g0", "b pci-0"])("a node or device is found by each of its names: %s", async (words) => {
  const nodes = [
    { id: "node-a", label: "a" },
    { id: "node-b", label: "b" },
  ];
  const columns = ["device", "node", "published name"];
  const devices = { columns, ids: ["d/p/g0"], rows: [["g0", "node-b", "pci-0"]], total: 1 };
  const { el, model } = plan({ nodes, devices });
  const field = el.querySelector<HTMLInputElement>(".dra-find input")!;
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")!.set!.call(field, words);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  press(field, "Enter");
  expect(model.sent).toEqual([{ type: "look-at", node: "node-b", device: "d/p/g0" }]);
});
