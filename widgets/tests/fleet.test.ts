import { afterEach, describe, expect, it, vi } from "vitest";
import { arranged, type BarRow, podsOf } from "../src/fleet/bars";
import { kept } from "../src/fleet/domains";
import type { DomainRow, PlanViewModel } from "../src/generated/models";
import * as widget from "../src/plan/plan_view";
import { mount } from "./fake_model";
import { PLAN } from "./plan_view_model";

afterEach(() => document.body.replaceChildren());

describe("bars", () => {
  const ROWS: readonly BarRow[] = [
    ["node-2", "node-2", "", 1, 2, 2, 4, 0, 0, "1 × large"],
    ["node-10", "node-10", "", 1, 0, 0, 3, 5, 0, ""],
    ["node-1", "node-1", "", 1, 8, 0, 0, 0, 0, ""],
  ];
  const names = (rows: readonly BarRow[]) => rows.map((row) => row[0]);
  const NONE: ReadonlySet<string> = new Set();

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
      fleet_answer: { state: "fits", sentence: "All 3 pods fit.", gap: [3, 4] },
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

  it("shows why a change does not apply, and removes it", () => {
    const { el, model } = fleet();
    const send = vi.spyOn(model, "send");
    expect(el.querySelector(".dra-fleet-chips .is-refused")?.getAttribute("title")).toContain("no node");
    el.querySelector<HTMLButtonElement>('[aria-label="Remove the change: Drain n7"]')?.click();
    expect(send).toHaveBeenCalledWith({ type: "remove-layer", number: 0, count: 1 });
  });
});

describe("domains", () => {
  const ROWS: readonly DomainRow[] = [
    { id: "b1", name: "b1", state: "outer", nodes: 4, words: "1 gang" },
    {
      id: "b1\nr1",
      name: "r1",
      depth: 1,
      state: "chosen",
      nodes: 2,
      holds: "holds 4",
      boxes: [["n1", 2, 0, 0, 0, false]],
    },
    { id: "b1\nr2", name: "r2", depth: 1, state: "refused", nodes: 2, holds: "3 of 4", words: "NICs in use on n3" },
    { id: "b2", name: "b2", state: "outer", nodes: 2 },
    { id: "b2\nr3", name: "r3", depth: 1, state: "fits", nodes: 2, holds: "holds 4", sums: [0, 4, 0, 0, 0] },
  ];
  const ids = (rows: readonly DomainRow[]) => rows.map((row) => row.id);
  const GANG = {
    size: 4,
    level: "rack",
    hierarchy: "fabric",
    levels: [
      { level: "rack", hierarchy: "fabric", label: "rack" },
      { level: "block", hierarchy: "fabric", label: "block" },
      { label: "none" },
    ],
    prefers: [{ label: "none" }],
  };

  function fleet(rows: readonly DomainRow[] = ROWS, more: Partial<PlanViewModel> = {}) {
    const shown = mount(widget, {
      ...PLAN,
      mode: "fleet",
      fleet_answer: { state: "fits", sentence: "All 4 pods fit in rack r1." },
      fleet_workloads: [{ name: "train", detail: "4 gpu", wanted: 1, placed: 1, more: "1", gang: GANG }],
      fleet_domains: { gang: "train", gangs: ["train"], level: "rack", title: "Pods of train", rows: [...rows] },
      ...more,
    });
    return { ...shown, send: vi.spyOn(shown.model, "send") };
  }

  it("keeps the domains that refuse the gang, with those around them", () => {
    expect(ids(kept(ROWS, "", true))).toEqual(["b1", "b1\nr2"]);
    expect(ids(kept(ROWS, "r3", false))).toEqual(["b2", "b2\nr3"]);
    expect(kept(ROWS, "", false)).toHaveLength(5);
  });

  it("shows a node as a box with a part for each pod", () => {
    const { el } = fleet();
    const box = el.querySelector('.dra-domain[data-id="b1\\a r1"] .dra-pods-node');
    expect(box?.getAttribute("title")).toBe("n1: 2 placed");
    expect(box?.querySelectorAll('[data-part="placed"]')).toHaveLength(2);
  });

  it("says the state of a domain in words", () => {
    const { el } = fleet();
    const row = el.querySelector('.dra-domain[data-id="b1\\a r2"]');
    expect(row?.getAttribute("aria-label")).toBe("r2, does not fit, 3 of 4, NICs in use on n3, 2 nodes");
  });

  it("chooses a domain by a click and by the arrow keys", () => {
    const { el, model } = fleet();
    el.querySelector<HTMLElement>('.dra-domain[data-id="b1\\a r1"]')?.click();
    expect(model.get("fleet_domain")).toBe("b1\nr1");
    const list = el.querySelector<HTMLElement>(".dra-domain-list");
    list?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    expect(model.get("fleet_domain")).toBe("b1\nr2");
  });
});
