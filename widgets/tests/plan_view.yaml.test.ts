import { expect, test, vi } from "vitest";
import { tokens } from "../src/plan/yaml_text";
import { drawn, pass, press } from "./fake_model";
import { button, fakeTimers, lit, plan, YAML } from "./plan_view_model";

fakeTimers();

test("one tab is chosen at a time, and the arrows go round", () => {
  const { el } = plan();
  const tabs = [...el.querySelectorAll<HTMLElement>('[role="tab"]')];
  tabs[0]!.focus();
  press(tabs[0]!, "ArrowLeft");
  expect(document.activeElement).toBe(tabs.at(-1));
  expect(tabs.map((tab) => tab.getAttribute("aria-selected"))).toEqual([...tabs.slice(1).map(() => "false"), "true"]);
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
  pass(100);
  expect([model.get("highlight"), model.saved]).toEqual(["nic", 1]);
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
