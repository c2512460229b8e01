// @vitest-environment jsdom

import { afterEach, expect, it, vi } from "vitest";
import { arranged, type BarRow, podsOf } from "../src/fleet/bars";
import * as widget from "../src/plan/plan_view";
import { mount } from "./fake_model";
import { PLAN } from "./plan_view_model";

const ROWS: readonly BarRow[] = [
  ["node-2", "node-2", "", 1, 2, 2, 4, 0, 0, "1 × large"],
  ["node-10", "node-10", "", 1, 0, 0, 3, 5, 0, ""],
  ["node-1", "node-1", "", 1, 8, 0, 0, 0, 0, ""],
];
const names = (rows: readonly BarRow[]) => rows.map((row) => row[0]);
const NONE: ReadonlySet<string> = new Set();

afterEach(() => document.body.replaceChildren());

it("sorts nodes by name as people count, or the most stranded first and idle nodes last", () => {
  expect(names(arranged(ROWS, "", NONE, "name"))).toEqual(["node-1", "node-2", "node-10"]);
  expect(names(arranged(ROWS, "", NONE, "worst"))).toEqual(["node-10", "node-1", "node-2"]);
});

it("keeps the rows that every filter allows", () => {
  expect(names(arranged(ROWS, "large", NONE, "name"))).toEqual(["node-2"]);
  expect(names(arranged(ROWS, "", new Set(["stranded"]), "name"))).toEqual(["node-10"]);
  expect(names(arranged(ROWS, "node-1", new Set(["free"]), "name"))).toEqual(["node-10"]);
});

it("reads the pods of a node from its words", () => {
  expect(podsOf("1,200 × large, 2 × small")).toEqual([
    ["large", 1200],
    ["small", 2],
  ]);
  expect(podsOf("")).toEqual([]);
});

function fleet() {
  const many = Array.from({ length: 5000 }, (_, at): BarRow => [`n${at}`, `n${at}`, "", 1, 1, 2, 3, 2, 0, ""]);
  return mount(widget, {
    ...PLAN,
    mode: "fleet",
    fleet_answer: { state: "fits", verdict: "All 3 pods fit.", gap: [3, 4], working: "" },
    fleet_workloads: [{ name: "large", detail: "4 gpu", wanted: 3, placed: 3, more: "1" }],
    fleet_layers: [{ words: "Drain n7", problem: "there is no node 'n7'" }],
    fleet_bars: { kind: "gpu", by: "nodes", kinds: [["gpu", "GPUs"]], groupings: [["nodes", "nodes"]], rows: many },
  });
}

it("draws only the bars in sight, and the sum of all", () => {
  const { el } = fleet();
  expect(el.querySelectorAll(".dra-fleet-row").length).toBeLessThan(60);
  expect(el.querySelector(".dra-fleet-total")?.textContent).toContain("5,000 nodes");
  expect(el.querySelector(".dra-fleet-total")?.textContent).toContain("= 40,000 GPUs");
});

it("gives the name of a workload a line of its own", () => {
  const name = fleet().el.querySelector<HTMLTableCellElement>(".dra-fleet-workloads tbody th")!;
  expect([name.colSpan, name.scope, name.closest("tr")!.querySelector("input")]).toEqual([4, "rowgroup", null]);
});

it("shows why a change does not apply, and removes it", () => {
  const { el, model } = fleet();
  const send = vi.spyOn(model, "send");
  expect(el.querySelector(".dra-fleet-chips .is-refused")?.getAttribute("title")).toContain("no node");
  el.querySelector<HTMLButtonElement>('[aria-label="Remove the change: Drain n7"]')?.click();
  expect(send).toHaveBeenCalledWith({ type: "remove-layer", number: 0, count: 1 });
});
