import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PlanViewModel } from "../src/generated/models";
import { tokens } from "../src/plan/yaml_text";
import widget from "../src/plan_view";
import { arrange, fitting } from "../src/view/table";
import { drawn, HOSTILE, mount, press } from "./fake_model";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

const YAML = "apiVersion: v1\nrequests:\n- name: gpu\n- name: nic\n";
const PLAN: PlanViewModel = {
  answer: { state: "fits", sentence: "Fits on 3 of 4 nodes.", figures: [{ label: "NUMA nodes", value: "1" }, { value: "proven best", tone: "ok" }] },
  claim_answer: {}, claim_fixes: [], claim_number: 0, claim_text: "kind: ResourceClaimTemplate\n", badges: { gpu: { letter: "A", colour: "#0072b2", textColour: "#ffffff" }, nic: { letter: "B", colour: "#d55e00", textColour: "#000000" } },
  chosen: { "d/p/g0": "gpu" }, devices: { columns: ["device"], ids: ["d/p/g0", "d/p/n0"], rows: [["g0"], ["n0"]], total: 2 }, findings: [], folder: "manifests",
  goals: [], goals_changed: false, highlight: "", problem: "", reasons: [], regret: {}, suggestions: [], why: {}, written: [], yaml: YAML, yaml_marks: { "3": "A", "4": "B" },
};
const plan = (values: Partial<PlanViewModel> = {}) => mount(widget, { ...PLAN, ...values });
const button = (el: Element, words: string) => [...el.querySelectorAll("button")].find((one) => one.textContent!.includes(words))!;
const lit = (el: Element) => [...el.querySelectorAll(".dra-code-line.is-lit .dra-code")].map((line) => line.textContent);

test("everything that a view began ends with it", () => {
  const { model, el, end, outside } = plan();
  end();
  expect([model.listening, outside.size, el.childElementCount]).toEqual([0, 0, 0]);
  expect(vi.getTimerCount()).toBe(0);
});

test("the strip is never blank, whatever is known", async () => {
  const { el, model } = plan({ answer: {} });
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Nothing drawn");
  for (const state of ["misfit", "error", "stopped", "solving", "fits"] as const) {
    model.set("answer", { state });
    await drawn();
    expect(el.querySelector(".dra-sentence")!.textContent, state).not.toBe("");
    expect(el.querySelector(".dra-sign")!.getAttribute("aria-label"), state).not.toBe("");
  }
});

test("a first answer is waited for with one sentence, and the steps stand beside it alone", async () => {
  const { el, model } = plan({ answer: { state: "solving", sentence: "goal 1", progress: { text: "goal 1" } } });
  vi.advanceTimersByTime(150);
  model.set("answer", { state: "solving", sentence: "goal 2", progress: { text: "goal 2" } });
  await drawn();
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Planning ...");
  expect(el.querySelector(".dra-progress")!.textContent).toBe("goal 2");
});

test("a stale answer is labelled after 150 ms and not before", async () => {
  const { el, model } = plan();
  model.set("answer", { ...PLAN.answer, stale: true, progress: { text: "goal 4: NUMA nodes", bestText: "best 2, bound 1" } });
  await drawn();
  vi.advanceTimersByTime(149);
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
  vi.advanceTimersByTime(1);
  expect(el.querySelector(".dra-work")!.textContent).toBe("for the previous drawinggoal 4: NUMA nodes, best 2, bound 1Cancel");
  expect(el.querySelector(".dra-answer")!.classList.contains("is-stale")).toBe(true);
  button(el, "Cancel").click();
  expect(model.sent).toEqual([{ type: "cancel" }]);
  model.set("answer", PLAN.answer);
  await drawn();
  expect([el.querySelector(".dra-work")!.textContent, el.querySelector(".is-stale")]).toEqual(["", null]);
});

test("an answer for another cluster says so, and what goes on after an answer is told when it takes long", async () => {
  const { el, model } = plan({ answer: { ...PLAN.answer, stale: true, previous: "cluster" } });
  vi.advanceTimersByTime(150);
  expect(el.querySelector(".dra-for-previous")!.textContent).toBe("for the previous cluster");
  model.set("answer", { ...PLAN.answer, after: "trying the manifest" });
  await drawn();
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
  vi.advanceTimersByTime(500);
  expect(el.querySelector(".dra-work")!.textContent).toBe("trying the manifest ...");
  model.set("answer", PLAN.answer);
  await drawn();
  expect(el.querySelector(".dra-work")!.textContent).toBe("");
});

test("the focus stays on Cancel while progress is told", async () => {
  const { el, model } = plan({ answer: { ...PLAN.answer, stale: true, progress: { text: "a" } } });
  vi.advanceTimersByTime(200);
  button(el, "Cancel").focus();
  model.set("answer", { ...PLAN.answer, stale: true, progress: { text: "b" } });
  await drawn();
  expect(document.activeElement).toBe(button(el, "Cancel"));
});

test("progress that is told often does not put off the label", async () => {
  const { el, model } = plan();
  for (let step = 0; step < 4; step += 1) {
    model.set("answer", { ...PLAN.answer, stale: true, progress: { text: `step ${step}` } });
    await drawn();
    vi.advanceTimersByTime(50);
  }
  expect(el.querySelector(".dra-progress")!.textContent).toBe("step 3");
});

test("an answer that comes at once never looks stale", async () => {
  const { el, model } = plan();
  model.set("answer", { ...PLAN.answer, stale: true });
  await drawn();
  vi.advanceTimersByTime(100);
  model.set("answer", PLAN.answer);
  await drawn();
  vi.advanceTimersByTime(500);
  expect(el.querySelector(".is-stale")).toBeNull();
});

test("one tab is chosen at a time, and the arrows go round", () => {
  const { el } = plan();
  const tabs = [...el.querySelectorAll<HTMLElement>('[role="tab"]')];
  tabs[0]!.focus();
  press(tabs[0]!, "ArrowLeft");
  expect(document.activeElement).toBe(tabs.at(-1));
  expect(tabs.map((tab) => tab.getAttribute("aria-selected"))).toEqual(["false", "false", "false", "false", "true"]);
  expect(tabs.filter((tab) => tab.tabIndex === 0)).toEqual([tabs.at(-1)]);
  expect([...el.querySelectorAll<HTMLElement>('[role="tabpanel"]')].filter((panel) => !panel.hidden).length).toBe(1);
});

test("the lines of the highlighted request light up, by its name or by its device", async () => {
  const { el, model } = plan();
  model.set("highlight", "gpu");
  await drawn();
  expect(lit(el)).toEqual(["- name: gpu"]);
  model.set("highlight", "d/p/g0");
  await drawn();
  expect(lit(el)).toEqual(["- name: gpu"]);
  model.set("highlight", "d/p/n0");
  await drawn();
  expect(lit(el)).toEqual([]);
});

test("hovering a line lights it at once and tells the others a moment later", () => {
  const { el, model } = plan();
  el.querySelectorAll(".dra-code-line")[3]!.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(lit(el)).toEqual(["- name: nic"]);
  expect(model.get("highlight")).toBe("");
  vi.advanceTimersByTime(100);
  expect([model.get("highlight"), model.saved]).toEqual(["nic", 1]);
});

test("the YAML on the screen is the text, letter for letter", () => {
  const { el } = plan({ yaml: YAML + "x: '<b>'  # B\n" });
  const lines = [...el.querySelectorAll(".dra-code")].map((line) => line.textContent);
  expect(lines.join("\n") + "\n").toBe(YAML + "x: '<b>'  # B\n");
});

test("YAML is cut into keys, values and comments and loses nothing", () => {
  const kinds = (line: string) => tokens(line).map((token) => `${token.kind}:${token.text}`);
  expect(kinds("  count: 2  # A")).toEqual(["sign:  ", "key:count", "sign::", "text: ", "number:2", "text:  ", "comment:# A"]);
  expect(kinds("- name: gpu-0")).toEqual(["sign:- ", "key:name", "sign::", "text: ", "string:gpu-0"]);
  expect(kinds('  expression: device.attributes["a#b"].x == "y: z"').at(-1)).toBe('string:device.attributes["a#b"].x == "y: z"');
  expect(kinds("---")).toEqual(["sign:---"]);
  for (const line of ["", "  ", "- - a", "'it''s': \"a # b\" # c", "http://x/y#z", "a:b", "- 'x'", "? y", "💥: 1"]) {
    expect(tokens(line).map((token) => token.text).join("")).toBe(line);
  }
});

test("where the clipboard is barred, Copy selects the text and says what to press", async () => {
  vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("barred")) } });
  const { el } = plan();
  el.querySelectorAll<HTMLElement>('[role="tab"]')[2]!.click();
  button(el, "Copy").click();
  await vi.waitFor(() => expect(el.querySelector(".dra-told")!.textContent).toBe("Selected: press Ctrl+C"));
  expect(window.getSelection()!.anchorNode).toBe(el.querySelector(".dra-yaml"));
  expect(el.querySelector<HTMLElement>(".dra-yaml")!.closest<HTMLElement>(".dra-panel")!.hidden).toBe(false);
  vi.unstubAllGlobals();
});

test("Write tells the folder, and what was written stands below it", async () => {
  const { el, model } = plan();
  button(el, "Write to folder").click();
  const field = el.querySelector<HTMLInputElement>(".dra-write-panel input")!;
  field.value = "out";
  press(field, "Enter");
  expect(model.sent).toEqual([{ type: "write", folder: "out" }]);
  model.set("written", ["out/pod.yaml"]);
  await drawn();
  expect(el.querySelector(".dra-written")!.textContent).toBe("Written:out/pod.yaml");
});

test("files changed by hand are overwritten only where that is ticked, and only once", () => {
  const { el, model } = plan();
  const [field, force] = [...el.querySelectorAll<HTMLInputElement>(".dra-write-panel input")];
  field!.value = "out";
  force!.click();
  press(field!, "Enter");
  press(field!, "Enter");
  expect(model.sent).toEqual([
    { type: "write", folder: "out", overwrite: true },
    { type: "write", folder: "out" },
  ]);
});

test("near the lower edge of the window the panel opens upwards, and elsewhere downwards", () => {
  const { el } = plan();
  const open = button(el, "Write to folder");
  const panel = el.querySelector<HTMLElement>(".dra-write-panel")!;
  const at = (top: number) => {
    open.getBoundingClientRect = () => new DOMRect(0, top, 100, 28);
    open.click();
    const { top: from, bottom } = panel.style;
    open.click();
    return [from, bottom];
  };
  expect(at(100)).toEqual(["132px", "auto"]);
  const low = window.innerHeight - 120;
  expect(at(low)).toEqual(["auto", "124px"]);
});

test("a suggestion that sets selectors can be applied, another can be read", async () => {
  const { el, model } = plan();
  model.set("suggestions", [{ title: "Place both on NUMA node 0", id: "0" }, { title: "Relax the link" }]);
  await drawn();
  const buttons = [...el.querySelectorAll("button")].filter((one) => one.textContent!.startsWith("Apply"));
  expect(buttons.length).toBe(1);
  buttons[0]!.click();
  expect(model.sent).toEqual([{ type: "apply-suggestion", id: "0" }]);
});

test("goals stand with their proof and what kube-scheduler reaches", async () => {
  const { el, model } = plan();
  model.set("goals", [{ goal: "numa", label: "NUMA nodes", best: 1, bound: 1, proven: true, manifest: "1", plain: "2", better: "1 better than without links" }]);
  await drawn();
  expect([...el.querySelectorAll(".dra-goals tbody :is(th, td):not(.dra-order)")].map((cell) => cell.textContent)).toEqual(["NUMA nodes", "1", "proven", "1", "2", "1 better than without links"]);
});

test("a column of the devices has room for its longest text, to a limit", () => {
  const rows = [["a-node.of.a-long.domain.example.org"], ["n"], ["x".repeat(253)]];
  const width = (count: number) => fitting(["node"], rows.slice(0, count).map((cells) => ({ id: "", cells })))[0] ?? 0;
  expect(width(1)).toBeGreaterThan(34 * 7);
  expect(width(2)).toBe(width(1));
  expect(width(3)).toBe(340);
  const { el } = plan({ devices: { columns: ["node"], ids: ["d/p/g0"], rows: rows.slice(0, 1), total: 1 }, chosen: {} });
  expect(el.querySelector<HTMLElement>(".dra-table")!.style.getPropertyValue("--dra-columns")).toContain(`${width(1)}px`);
});

test("chosen devices come first in the table with the letter of their request", () => {
  const { el } = plan({ devices: { columns: ["device"], ids: ["d/p/n0", "d/p/g0"], rows: [["n0"], ["g0"]], total: 2 } });
  expect([...el.querySelectorAll(".dra-tbody .dra-tr")].map((row) => row.textContent)).toEqual(["A gpug0", "n0"]);
});

test("a table of ninety thousand rows puts only those on the page that can be seen", () => {
  const ids = Array.from({ length: 90_000 }, (_, i) => `d/p/${i}`);
  const { el } = plan({ devices: { columns: ["device"], ids, rows: ids.map((id) => [id]), total: ids.length }, chosen: {} });
  expect(el.querySelectorAll(".dra-tbody .dra-tr").length).toBeLessThan(60);
  expect(el.querySelector(".dra-tpane")!.getAttribute("aria-rowcount")).toBe("90001");
});

test("a table is filtered by every word and sorted as people count", () => {
  const rows = ["gpu-10 busy", "gpu-9 free", "nic-1 free"].map((text, i) => ({ id: String(i), cells: text.split(" ") }));
  const names = (list: readonly { cells: readonly string[] }[]) => list.map((row) => row.cells[0]);
  expect(names(arrange(rows, "GPU free", -1, false))).toEqual(["gpu-9"]);
  expect(names(arrange(rows, "", 0, false))).toEqual(["gpu-9", "gpu-10", "nic-1"]);
  expect(names(arrange(rows, "", 0, true))).toEqual(["nic-1", "gpu-10", "gpu-9"]);
});

test("text from a cluster stays text everywhere, and a colour can only be a colour", async () => {
  const { el, model } = plan({ answer: { state: "misfit", sentence: HOSTILE, figures: [{ label: HOSTILE, value: HOSTILE }] }, yaml: `# ${HOSTILE}\n${HOSTILE}: ${HOSTILE}`, problem: HOSTILE });
  model.set("badges", { gpu: { letter: "A", colour: "red;background:url(http://x)", textColour: "#fff" } });
  model.set("yaml_marks", { "1": "A" });
  model.set("reasons", [{ rule: HOSTILE, message: HOSTILE, subject: HOSTILE, advice: HOSTILE }]);
  model.set("suggestions", [{ title: HOSTILE, detail: HOSTILE, source: HOSTILE, id: "1" }]);
  model.set("findings", [{ severity: "error", message: HOSTILE }]);
  model.set("devices", { columns: [HOSTILE], ids: [HOSTILE], rows: [[HOSTILE]], caption: HOSTILE, total: 1 });
  model.set("written", [HOSTILE]);
  await drawn();
  expect(el.querySelector("img")).toBeNull();
  expect(el.innerHTML).not.toContain("url(");
});

const GOALS = [
  { goal: "alternatives", label: "ranks", best: 0, proven: true, movable: false },
  { goal: "numa", label: "NUMA nodes", best: 1, proven: true },
  { goal: "roots", label: "PCIe roots", best: 2, proven: true },
];

test("goals are moved by mouse and by arrows, and the focus stays on the goal", async () => {
  const { el, model } = plan({ goals: GOALS });
  const mover = (key: string) => el.querySelector<HTMLElement>(`[data-key="${key}"]`)!;
  expect(el.querySelector('[data-goal="alternatives"] button')).toBeNull();
  mover("down-numa").click();
  expect(model.sent).toEqual([{ type: "order-goals", goals: ["roots", "numa"] }]);
  mover("up-numa").click();
  expect(model.sent).toHaveLength(1);
  mover("up-roots").focus();
  mover("up-roots").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
  expect(model.sent[1]).toEqual({ type: "order-goals", goals: ["roots", "numa"] });
  model.set("goals", [GOALS[0]!, GOALS[2]!, GOALS[1]!]);
  model.set("goals_changed", true);
  await drawn();
  expect(document.activeElement).toBe(mover("up-roots"));
  expect(el.querySelector('[role="status"].dra-sr')!.textContent).toBe("PCIe roots: now 1 of the 2 goals that can be moved");
  button(el, "Usual order").click();
  expect(model.sent[2]).toEqual({ type: "order-goals", goals: [] });
});

test("a drawing without an answer keeps the last one, with the trouble beside it", async () => {
  const { el, model } = plan();
  model.set("answer", { ...PLAN.answer, stale: true, trouble: "CEL selector `device.` does not compile" });
  await drawn();
  expect(el.querySelector(".dra-sentence")!.textContent).toBe("Fits on 3 of 4 nodes.");
  expect(el.querySelector(".dra-work")!.textContent).toBe("for the previous drawingCEL selector `device.` does not compile");
  expect(el.querySelector(".dra-answer")!.classList.contains("is-stale")).toBe(true);
  model.set("answer", PLAN.answer);
  await drawn();
  expect([el.querySelector(".dra-work")!.textContent, el.querySelector(".is-stale")]).toEqual(["", null]);
});

test("counts after each test are a table, and text of a cluster stays text", async () => {
  const { el, model } = plan();
  model.set("why", { lines: [`Fragmentation: ${HOSTILE}`], tried: ["Tried in vain"], funnels: [{ title: "gpu: 5 needed", columns: ["nodes", "published"], legend: [["class 1", HOSTILE]], rows: [["n1", "8"]], more: 3 }] });
  model.set("regret", { lines: [`best ${HOSTILE}`], sources: ["somewhere"] });
  model.set("goals", GOALS);
  await drawn();
  expect(el.querySelector(".dra-funnel")!.textContent).toContain(`gpu: 5 needednodespublishedn183 more kinds of nodes`);
  expect(el.querySelector(".dra-lines li")!.textContent).toBe(`Fragmentation: ${HOSTILE}`);
  expect(el.querySelector(".dra-regret li")!.textContent).toBe(`best ${HOSTILE}`);
});

test("an edited claim is sent after a pause, a broken one is marked at its line, and what is typed is never replaced", async () => {
  const { model, el } = plan();
  const open = [...el.querySelectorAll("button")].find((one) => one.textContent === "Edit")!;
  open.click();
  const area = el.querySelector("textarea")!;
  area.value = "kind: [\n";
  area.dispatchEvent(new Event("input"));
  expect(model.sent.filter((one) => one.type === "edit-claim")).toEqual([]);
  vi.advanceTimersByTime(500);
  expect(model.sent.at(-1)).toEqual({ type: "edit-claim", text: "kind: [\n", number: 1 });
  model.set("claim_answer", { number: 1, message: HOSTILE, line: 1 });
  model.set("claim_text", "kind: other\n");
  await drawn();
  expect([area.value, area.getAttribute("aria-invalid")]).toEqual(["kind: [\n", "true"]);
  expect(el.querySelector(".dra-editor-lines .is-wrong")!.textContent).toBe("1");
  expect(el.querySelector(".dra-editor-told")!.textContent).toContain(HOSTILE);
  [...el.querySelectorAll("button")].find((one) => one.textContent === "Back to the drawing's YAML")!.click();
  expect(area.value).toBe("kind: other\n");
});

test("an open editor follows the drawing with its caret in place, and keeps the form of a text that the drawing shows", async () => {
  const { model, el } = plan();
  [...el.querySelectorAll("button")].find((one) => one.textContent === "Edit")!.click();
  const area = el.querySelector("textarea")!;
  const follow = async (claim_text: string, claim_number: number) => (model.set("claim_text", claim_text), model.set("claim_number", claim_number), await drawn());
  area.setSelectionRange(6, 6);
  await follow("a: 1\nkind: ResourceClaimTemplate\n", 0);
  expect([area.value, area.selectionStart]).toEqual(["a: 1\nkind: ResourceClaimTemplate\n", 11]);
  area.value = "a:   2\n";
  area.dispatchEvent(new Event("input"));
  await follow("a: 3\n", 0);
  expect(area.value).toBe("a:   2\n");
  vi.advanceTimersByTime(500);
  model.set("claim_answer", { number: 1 });
  await follow("a: 2\n", 1);
  expect(area.value).toBe("a:   2\n");
  await follow("a: 4\n", 0);
  expect(area.value).toBe("a: 4\n");
});

test("a text that cannot be taken over outlives the closed editor, until the drawing's own is asked for", async () => {
  const { model, el } = plan();
  const named = (name: string) => [...el.querySelectorAll("button")].find((one) => one.textContent === name)!;
  named("Edit").click();
  const area = el.querySelector("textarea")!;
  area.value = "kind: [\n";
  area.dispatchEvent(new Event("input"));
  vi.advanceTimersByTime(500);
  model.set("claim_answer", { number: 1, message: "broken", line: 1 });
  await drawn();
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  named("Go on with your text").click();
  expect(area.value).toBe("kind: [\n");
  named("Back to the drawing's YAML").click();
  named("Done").click();
  expect(named("Edit")).toBeTruthy();
});

test("what went wrong in the pane can be hidden", async () => {
  const { model, el } = plan({ problem: "the folder is gone" });
  const hide = el.querySelector<HTMLButtonElement>('.dra-pane-problem [aria-label="Hide this message"]')!;
  hide.focus();
  hide.click();
  expect(model.sent).toEqual([{ type: "dismiss-problem" }]);
  model.set("problem", "");
  await drawn();
  expect(el.querySelector(".dra-pane-problem")!.childElementCount).toBe(0);
  expect(el.contains(document.activeElement)).toBe(true);
});

const FIX = { line: 9, text: "deviceClassName: 'nvidia-gpu' → 'gpu.nvidia.com'" };
const fixButton = (el: Element) => [...el.querySelectorAll<HTMLButtonElement>("button")].find((one) => !one.hidden && /^Correct \d/.test(one.textContent!));

test("the drawing's own corrections are listed with a button, and the button asks for them", async () => {
  const { el, model } = plan();
  expect(fixButton(el)).toBeUndefined();
  model.set("claim_fixes", [FIX, { text: HOSTILE }]);
  await drawn();
  expect(fixButton(el)!.textContent).toBe("Correct 2 problems");
  expect([...el.querySelectorAll(".dra-fixes li")].map((row) => row.textContent)).toEqual([FIX.text, HOSTILE]);
  fixButton(el)!.click();
  expect(model.sent.at(-1)).toEqual({ type: "fix-claim" });
});

test("a typed text is corrected where it is, each change is listed, and typing goes on", async () => {
  const { el, model } = plan();
  button(el, "Edit").click();
  const area = el.querySelector("textarea")!;
  area.value = "kind: wrong\n";
  area.dispatchEvent(new Event("input"));
  vi.advanceTimersByTime(400);
  model.set("claim_answer", { number: 1, message: "broken", line: 1, fixes: [FIX] });
  await drawn();
  expect(fixButton(el)!.textContent).toBe("Correct 1 problem");
  fixButton(el)!.click();
  expect(model.sent.at(-1)).toEqual({ type: "fix-claim", text: "kind: wrong\n", number: 2 });
  model.set("claim_answer", { number: 2, fixes: [FIX], text: "kind: right\n" });
  await drawn();
  expect(area.value).toBe("kind: right\n");
  expect(fixButton(el)).toBeUndefined();
  expect(el.querySelector(".dra-editor .dra-fixes")!.textContent).toBe(`Corrected: line 9, ${FIX.text}`);
  vi.advanceTimersByTime(1000);
  expect(model.sent.at(-1)).toEqual({ type: "fix-claim", text: "kind: wrong\n", number: 2 });
});

test("a correction that comes after more was typed does not overwrite it", async () => {
  const { el, model } = plan();
  button(el, "Edit").click();
  const area = el.querySelector("textarea")!;
  const type = (text: string) => ((area.value = text), area.dispatchEvent(new Event("input")), vi.advanceTimersByTime(400));
  type("kind: wrong\n");
  model.set("claim_answer", { number: 1, fixes: [FIX] });
  await drawn();
  fixButton(el)!.click();
  area.value = "kind: typed on\n";
  area.dispatchEvent(new Event("input"));
  model.set("claim_answer", { number: 2, fixes: [FIX], text: "kind: right\n" });
  await drawn();
  expect(area.value).toBe("kind: typed on\n");
});
