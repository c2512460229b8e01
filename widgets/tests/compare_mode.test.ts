import { afterEach, expect, test } from "vitest";
import type { CompareRow } from "../src/generated/models";
import { plan } from "./plan_view_model";

afterEach(() => document.body.replaceChildren());

const ROW: CompareRow = {
  sentence: "“a” is aligned best.",
  lines: [
    { key: "cluster", label: "Cluster", differs: false, cells: [{ text: "c" }, { text: "c" }] },
    { key: "numa", label: "NUMA nodes", differs: true, cells: [{ text: "1", best: true }, { text: "2" }] },
    { key: "yaml", label: "YAML", differs: true, cells: [{ text: "1 line" }, { text: "1 line" }] },
  ],
  plans: [
    { name: "a", sentence: "Fits.", node: "n", drawn: true, places: [] },
    { name: "b", sentence: "Fits.", node: "n", diff: ["-x: 1", "+x: 2"] },
  ],
  most: 4,
  markdown: "| row |",
  csv: "row",
};
const compare = (row: Partial<CompareRow> = {}) => plan({ mode: "compare", compare: { ...ROW, ...row } });

test("a row that differs and the best value have a sign and a word, not a colour alone", () => {
  const { el } = compare();
  const line = [...el.querySelectorAll("tr")].find((row) => row.textContent!.includes("NUMA nodes"))!;
  expect(line.querySelector("th")!.textContent).toMatch(/^≠NUMA nodes.* \(differs\)$/);
  expect([...line.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["★ best: 1", "2"]);
});

test("what was asked alike stands once above the columns", () => {
  const { el } = compare();
  expect(el.querySelector(".dra-head")!.textContent).toContain("Cluster: c.");
  expect([...el.querySelectorAll("tbody th")].some((head) => head.textContent!.includes("Cluster"))).toBe(false);
});

test("of more than four kept plans those that stand side by side are chosen", () => {
  const every = ["1", "2", "3", "4", "5"];
  const plans = every.slice(1).map((name) => ({ name, sentence: "" }));
  const { el, model } = compare({ plans, every, lines: [] });
  const boxes = [...el.querySelectorAll<HTMLInputElement>(".dra-compare-chosen input")];
  expect(boxes.map((box) => [box.checked, box.disabled])).toEqual([[false, true], ...plans.map(() => [true, false])]);
  boxes[1]!.click();
  expect(model.sent.at(-1)).toEqual({ type: "choose-kept", names: ["3", "4", "5"] });
});

test("an empty comparison says what to do", () => {
  const empty = compare({ plans: [], lines: [], sentence: "Keep at least two plans to compare them." });
  expect(empty.el.querySelector(".dra-compare-empty")!.textContent).toContain("Draw a claim in Plan");
});
