import { afterEach, beforeEach, vi } from "vitest";
import type { CompareRow, ExportRow, PlanViewModel } from "../src/generated/models";
import * as widget from "../src/plan/plan_view";
import { mount } from "./fake_model";

/** Let the tests of a file decide how much time passes, and begin each with an empty page. */
export function fakeTimers(): void {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => {
    vi.useRealTimers();
    document.body.replaceChildren();
  });
}

export const YAML = "apiVersion: v1\nrequests:\n- name: gpu\n- name: nic\n";
export const PLAN: PlanViewModel = {
  fleet_adding: {},
  moves: {},
  moves_kind: "",
  moves_width: 0,
  can_undo: false,
  can_redo: false,
  fleet_answer: {},
  fleet_domain: "",
  fleet_domain_card: {},
  fleet_rails: [],
  fleet_domains: {},
  fleet_gang: "",
  fleet_side: "domains",
  fleet_workloads: [],
  fleet_layers: [],
  fleet_scenarios: {},
  fleet_bars: {},
  fleet_heat: {},
  fleet_filters: [],
  fleet_terms: {},
  export_terms: {},
  fleet_card: {},
  fleet_kind: "",
  fleet_by: "",
  fleet_chosen: "",
  fleet_picture: false,
  answer: {
    state: "fits",
    sentence: "Fits on 3 of 4 nodes.",
    asked: "You ask for 2 GPUs.",
    scheduler: "Without your link, kube-scheduler pairs only 1 of 2 GPUs.",
    differs: true,
    tiles: [
      { caption: "GPUs paired", value: "2 of 2", tone: "ok", title: "GPUs paired", lines: ["What it counts."] },
      { caption: "copies fit, proven", value: "3", title: "Copies that fit" },
    ],
  },
  claim_answer: {},
  claim_fixes: [],
  claim_number: 0,
  claim_text: "kind: ResourceClaimTemplate\n",
  badges: {
    gpu: { letter: "A", colour: "#0072b2", textColour: "#ffffff" },
    nic: { letter: "B", colour: "#d55e00", textColour: "#000000" },
  },
  chosen: { "d/p/g0": "gpu" },
  compare: {} as CompareRow,
  export: {} as ExportRow,
  devices: { columns: ["device"], ids: ["d/p/g0", "d/p/n0"], rows: [["g0"], ["n0"]], total: 2 },
  findings: [],
  goals: [],
  kept: 0,
  goals_changed: false,
  highlight: "",
  mode: "plan",
  nodes: [],
  outgoing: [],
  pin_offer: {},
  problem: "",
  reasons: [],
  regret: {},
  suggestions: [],
  why: {},
  why_not: {},
  yaml: YAML,
  listing: {},
  printed: {},
  yaml_marks: { "3": "A", "4": "B" },
};
export const plan = (values: Partial<PlanViewModel> = {}) => mount(widget, { ...PLAN, ...values });
export const button = (el: Element, words: string) =>
  [...el.querySelectorAll("button")].find((one) => one.textContent!.includes(words))!;
export const lit = (el: Element) =>
  [...el.querySelectorAll(".dra-code-line.is-lit .dra-code")].map((line) => line.textContent);
