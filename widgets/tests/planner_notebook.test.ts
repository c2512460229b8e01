import { describe, expect, it } from "vitest";
import {
  freshName,
  isClusterFile,
  isPlannerCell,
  plannerNotebook,
  runsOnOpen,
} from "../labextension/src/planner_notebook";

const cell = (call: string) => `from dra_lab import Lab\nlab = ${call}\nlab`;
const sourceOf = (file: string | null) => plannerNotebook("plan", file).cells[1]!.source as string;

describe("a fresh planner notebook", () => {
  it("opens the planner on a drawing of its own name and asks to run", () => {
    expect(sourceOf(null)).toBe(cell('Lab(file="plan.dralab.yaml")'));
    expect(runsOnOpen(plannerNotebook("plan", null).metadata)).toBe(true);
  });

  it.each([
    "a.yaml",
    'x"); import os #.json',
    "sample:x.yaml",
    "-.json",
    "ü ☃ 😀.yml",
    "back\\slash.json",
    "a\r\nb.json",
  ])("keeps the hostile file name %j a name, and the cell one that may run", (name) => {
    const source = sourceOf(name);
    expect(source.split("\n")).toHaveLength(3);
    expect(isPlannerCell(source)).toBe(true);
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

describe("a planner cell", () => {
  it.each([
    cell("Lab()"),
    cell('Lab("sample:eks-p4d")'),
    cell('Lab("sample:eks-p4d", file="mine.dralab.yaml")'),
    cell('Lab("dumps/cluster.json")'),
    "# a comment\n\nfrom dra_lab import Lab, ClaimCanvas\nlab = Lab()\nlab.plan",
  ])("may run by itself: %j", (source) => {
    expect(isPlannerCell(source)).toBe(true);
  });

  it.each([
    "",
    "print(1)",
    "from dra_lab import Lab\nlab",
    "import os\n" + cell("Lab()"),
    cell("Lab()") + "\nlab.clear()",
    cell("Lab(open('x'))"),
    cell('Lab("context:production")'),
    cell('Lab("/etc/cluster.yaml")'),
    cell('Lab("//host/share/x.yaml")'),
    cell('Lab("\\\\\\\\host\\\\share\\\\x.yaml")'),
    cell('Lab("../x.yaml")'),
    cell('Lab("./..\\\\x.yaml")'),
    cell('Lab("~/x.yaml")'),
    cell('Lab(file="x.txt")'),
    cell('Lab(file="../x.dralab.yaml")'),
    cell("Lab('x.yaml')"),
    cell('Lab("x" + y)'),
    "# quiet\rimport os\n" + cell("Lab()"),
    "%%bash\n" + cell("Lab()"),
    "!ls\n" + cell("Lab()"),
    cell("Lab()") + ";x",
    cell("Lab()") + "\n" + cell("Lab()"),
  ])("is nothing else: %j waits", (source) => {
    expect(isPlannerCell(source)).toBe(false);
  });
});

it("offers a plan on YAML and JSON, and not on a drawing", () => {
  expect(["a.yaml", "a.YML", "a.json"].every(isClusterFile)).toBe(true);
  expect(["a.txt", "a.ipynb", "plan.dralab.yaml", "yaml"].some(isClusterFile)).toBe(false);
});
