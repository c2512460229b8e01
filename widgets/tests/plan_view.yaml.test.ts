import { expect, test } from "vitest";
import { tokens } from "../src/plan/yaml_panel";
import { drawn } from "./fake_model";
import { fakeTimers, lit, plan, YAML } from "./plan_view_model";

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
