import { expect, test } from "vitest";
import { tokens } from "../src/plan/yaml_panel";
import { drawn, HOSTILE, pass } from "./fake_model";
import { button, fakeTimers, lit, plan, YAML } from "./plan_view_model";

fakeTimers();

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

test("the YAML on the screen is the text, letter for letter", () => {
  const { el } = plan({ yaml: YAML + "x: '<b>'  # B\n" });
  const lines = [...el.querySelectorAll(".dra-code")].map((line) => line.textContent);
  expect(lines.join("\n") + "\n").toBe(YAML + "x: '<b>'  # B\n");
});

test("YAML is cut into keys, values and comments and loses nothing", () => {
  const kinds = (line: string) => tokens(line).map((token) => `${token.kind}:${token.text}`);
  expect(kinds("  count: 2  # A")).toEqual([
    "sign:  ",
    "key:count",
    "sign::",
    "text: ",
    "number:2",
    "text:  ",
    "comment:# A",
  ]);
  expect(kinds("- name: gpu-0")).toEqual(["sign:- ", "key:name", "sign::", "text: ", "string:gpu-0"]);
  expect(kinds('  expression: device.attributes["a#b"].x == "y: z"').at(-1)).toBe(
    'string:device.attributes["a#b"].x == "y: z"',
  );
  expect(kinds("---")).toEqual(["sign:---"]);
  for (const line of ["", "  ", "- - a", "'it''s': \"a # b\" # c", "http://x/y#z", "a:b", "- 'x'", "? y", "💥: 1"]) {
    expect(
      tokens(line)
        .map((token) => token.text)
        .join(""),
    ).toBe(line);
  }
});

test("an edited claim is sent after a pause, a broken one is marked at its line, and what is typed is never replaced", async () => {
  const { model, el } = plan();
  const open = [...el.querySelectorAll("button")].find((one) => one.textContent === "Edit")!;
  open.click();
  const area = el.querySelector("textarea")!;
  area.value = "kind: [\n";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  expect(model.sent.filter((one) => one.type === "edit-claim")).toEqual([]);
  pass(500);
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
  const follow = async (claim_text: string, claim_number: number) => (
    model.set("claim_text", claim_text), model.set("claim_number", claim_number), await drawn()
  );
  area.setSelectionRange(6, 6);
  await follow("a: 1\nkind: ResourceClaimTemplate\n", 0);
  expect([area.value, area.selectionStart]).toEqual(["a: 1\nkind: ResourceClaimTemplate\n", 11]);
  area.value = "a:   2\n";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  await follow("a: 3\n", 0);
  expect(area.value).toBe("a:   2\n");
  pass(500);
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
  area.dispatchEvent(new Event("input", { bubbles: true }));
  pass(500);
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
const fixButton = (el: Element) =>
  [...el.querySelectorAll<HTMLButtonElement>("button")].find(
    (one) => !one.hidden && /^Correct \d/.test(one.textContent!),
  );

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
  area.dispatchEvent(new Event("input", { bubbles: true }));
  pass(400);
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
  pass(1000);
  expect(model.sent.at(-1)).toEqual({ type: "fix-claim", text: "kind: wrong\n", number: 2 });
});

test("a correction that comes after more was typed does not overwrite it", async () => {
  const { el, model } = plan();
  button(el, "Edit").click();
  const area = el.querySelector("textarea")!;
  const type = (text: string) => (
    (area.value = text), area.dispatchEvent(new Event("input", { bubbles: true })), pass(400)
  );
  type("kind: wrong\n");
  model.set("claim_answer", { number: 1, fixes: [FIX] });
  await drawn();
  fixButton(el)!.click();
  area.value = "kind: typed on\n";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  model.set("claim_answer", { number: 2, fixes: [FIX], text: "kind: right\n" });
  await drawn();
  expect(area.value).toBe("kind: typed on\n");
});
