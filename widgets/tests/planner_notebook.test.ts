import { describe, expect, it } from "vitest";
import { codeOf, freshName, isClusterFile, markOf, plannerNotebook } from "../labextension/src/planner_notebook";

const sourceOf = (file: string | null) => codeOf(plannerNotebook("plan", file));

describe("a fresh planner notebook", () => {
  it("opens the planner on a drawing of its own name", () => {
    expect(sourceOf(null)).toBe('from dra_lab import Lab\nlab = Lab(file="plan.dralab.yaml")\nlab');
  });

  it("has a mark that no other notebook has", () => {
    const marks = [1, 2].map(() => markOf(plannerNotebook("plan", null)));
    expect(marks).toEqual([1, 2].map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
    expect(marks[0]).not.toBe(marks[1]);
  });

  it.each([
    "a.yaml",
    'x"); import os #.json',
    "sample:x.yaml",
    "-.json",
    "ü ☃ 😀.yml",
    "back\\slash.json",
    "a\r\nb.json",
  ])("keeps the hostile file name %j a name", (name) => {
    const source = sourceOf(name);
    expect(source.split("\n")).toHaveLength(3);
    const literal = /^lab = Lab\((".*"), file="plan\.dralab\.yaml"\)$/.exec(source.split("\n")[1]!)![1]!;
    expect(JSON.parse(literal)).toBe(`./${name}`);
  });

  it("shows a hostile file name in the title as text", () => {
    const title = plannerNotebook("plan", "<img src=x onerror=alert(1)>\n# x.yaml").cells[0]!.source as string;
    expect(title).toBe("# A plan on \\<img src=x onerror=alert\\(1\\)\\> \\# x\\.yaml");
  });

  it("takes the first name of which neither notebook nor drawing exists", () => {
    expect(freshName([])).toBe("plan");
    expect(freshName(["plan.ipynb", "plan-2.dralab.yaml"])).toBe("plan-3");
  });
});

it("offers a plan on YAML and JSON, and not on a drawing", () => {
  expect(["a.yaml", "a.YML", "a.json"].every(isClusterFile)).toBe(true);
  expect(["a.txt", "a.ipynb", "plan.dralab.yaml", "yaml"].some(isClusterFile)).toBe(false);
});
