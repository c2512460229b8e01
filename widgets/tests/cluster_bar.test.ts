import { afterEach, expect, test } from "vitest";
import * as widget from "../src/bar/cluster_bar";
import { chooseFiles, MAX_BYTES, PIECE } from "../src/bar/files";
import type { ClusterBarModel } from "../src/generated/models";
import { drawn, HOSTILE, mount, press } from "./fake_model";

afterEach(() => document.body.replaceChildren());

const BAR: ClusterBarModel = {
  ask: {},
  what_if: [],
  leaving: "",
  pending: [],
  listing: {},
  offer: {},
  busy: "",
  counts: {},
  details: [["Cluster", "sample:a"]],
  example: true,
  meters: [{ kind: "GPUs", text: "18 of 32 free", used: 14, total: 32 }],
  node_use: [{ node: "n1", kind: "GPUs", used: 3, total: 8, text: "5 of 8 free" }],
  findings: [],
  follow: {},
  mode: "plan",
  modes: [
    ["plan", "Plan"],
    ["trace", "Trace"],
  ],
  problem: "",
  read_at: "14:02",
  refused: "",
  release: "1.36",
  releases: [
    ["1.35", "1.35"],
    ["1.36", "1.36"],
  ],
  source: "sample:a",
  sources: [
    { value: "sample:a", label: "A", group: "Samples", detail: "one" },
    { value: "sample:b", label: "B", group: "Samples" },
  ],
  summary: "4 nodes · 2 drivers",
  upgrade: {},
  upgrades: [["1.38", "1.38 (alpha)"]],
  uploaded: 0,
};
const bar = (values: Partial<ClusterBarModel> = {}) => mount(widget, { ...BAR, ...values });
function ask(el: Element, source: string) {
  el.querySelector<HTMLInputElement>(".dra-sources input")!.value = source;
  button(el.querySelector(".dra-sources")!, "Load").click();
}
const button = (el: Element, name: string) =>
  [...el.querySelectorAll("button")].find((one) =>
    (one.getAttribute("aria-label") ?? one.textContent ?? "").includes(name),
  )!;

test("everything that a view began ends with it", () => {
  const { model, el, end, outside } = bar();
  expect(model.listening).toBeGreaterThan(0);
  expect(outside.size).toBeGreaterThan(0);
  end();
  expect([model.listening, outside.size, el.childElementCount, el.className]).toEqual([0, 0, 0, ""]);
});

test("a chosen sample, a path and the release are told to Python", () => {
  const { el, model } = bar();
  (el.querySelector('[data-value="sample:b"]') as HTMLElement).click();
  const path = el.querySelector<HTMLInputElement>('input[type="text"]')!;
  path.value = "  ./cluster.json ";
  press(path, "Enter");
  path.value = "   ";
  press(path, "Enter");
  const select = el.querySelector("select")!;
  select.value = "1.35";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.sent).toEqual([
    { type: "load", source: "sample:b" },
    { type: "load", source: "./cluster.json" },
    { type: "release", version: "1.35" },
  ]);
});

test("findings are counted by severity, in words for those who do not see the signs", async () => {
  const { el, model } = bar();
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: none");
  model.set("counts", { error: 1, note: 2 });
  model.set("findings", [
    { severity: "error", message: "broken", subject: "pool", advice: "mend it", origin: "a.yaml:3" },
  ]);
  await drawn();
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: 1 error, 2 notes");
  expect(el.querySelector(".dra-finding")!.textContent).toBe("error poolbrokenmend ita.yaml:3");
});

test("a cluster that is still looked at is not called free of findings", async () => {
  const { el, model } = bar({ counts: { checking: true } });
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: still being checked");
  expect(el.querySelector(".dra-findings-panel")!.textContent).toContain("still checking the cluster");
  model.set("counts", {});
  await drawn();
  expect(button(el, "Findings").getAttribute("aria-label")).toBe("Findings: none");
});

test("a release chosen above the findings shows what changes, and the way to check again", async () => {
  const { el, model } = bar();
  const panel = el.querySelector(".dra-upgrade")!;
  const menu = panel.querySelector("select")!;
  menu.value = "1.38";
  menu.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.sent).toEqual([{ type: "check-upgrade", version: "1.38" }]);
  model.set("upgrade", { version: "1.38", working: "Kubernetes 1.38: selectors" });
  await drawn();
  button(panel, "Cancel").click();
  const findings = [{ severity: "error", subject: "pool a", message: HOSTILE, rule: "pool-invalid" }];
  model.set("upgrade", {
    version: "1.38",
    sentence: "1 answer changes from Kubernetes 1.37.1 to 1.38 (alpha).",
    stops: true,
    old: true,
    changes: [{ heading: "Stops working", total: 1, findings }],
  });
  await drawn();
  expect(panel.querySelector("summary")!.textContent).toBe("Stops working (1)");
  expect(panel.querySelector(".dra-finding")!.textContent).toContain(HOSTILE);
  button(panel, "Check again").click();
  expect(model.sent.slice(1)).toEqual([{ type: "cancel-upgrade" }, { type: "check-upgrade", version: "1.38" }]);
});

test("without a newer release there is no check of an upgrade", async () => {
  const { el } = bar({ upgrades: [] });
  expect(el.querySelector(".dra-upgrade")).toBeNull();
});

test("a context with a long name is named once", async () => {
  const { el, model } = bar();
  const name = "arn:aws:eks:eu-central-1:123456789012:cluster/prod";
  model.set("sources", [
    { value: `context:${name}`, label: name },
    { value: "context:dev", label: "dev" },
  ]);
  await drawn();
  expect([...el.querySelectorAll(".dra-option code")].map((code) => code.textContent)).toEqual(["", "context:dev"]);
});

test("files that can be read are chosen, others are named", () => {
  const names = ["a.yaml", "b.json", "c.tar.gz", "d.tgz", "hwloc.xml", "topo.txt"];
  const chosen = chooseFiles([...names, "x.png"].map((name) => new File([], name)));
  expect(chosen.files.map((file) => file.name)).toEqual(names);
  expect(chosen.problem).toContain("x.png");
});

test("more than is taken from the browser is refused with what to do instead", () => {
  const large = new File([], "large.json");
  Object.defineProperty(large, "size", { value: MAX_BYTES + 1 });
  const chosen = chooseFiles([large]);
  expect(chosen.files).toEqual([]);
  expect(chosen.problem).toMatch(/256 MB.*give its path/);
  expect(PIECE).toBeLessThan(10 * 1024 * 1024);
});

test("a table in a message keeps its columns", () => {
  const table = "no right:\n  KIND   LIST\n  nodes  no";
  const { el } = bar({ problem: table, refused: table });
  expect([...el.querySelectorAll("pre.dra-told")].map((pre) => pre.textContent)).toContain(table);
});

test("a cluster that was opened by its path is offered among the recent ones", async () => {
  localStorage.clear();
  const { el, model } = bar();
  ask(el, "./x.json");
  model.set("busy", "Reading ./x.json ...");
  await drawn();
  model.set("busy", "");
  await drawn();
  expect(el.querySelector<HTMLElement>(".dra-sources")!.hidden).toBe(true);
  button(el, "sample:a").click();
  model.set("sources", BAR.sources.slice(1));
  await drawn();
  expect(el.querySelector('.dra-option[data-value="./x.json"]')!.textContent).toBe("./x.json");
  expect(el.querySelector(".dra-sources .dra-group")!.textContent).toBe("Recent clusters");
});

test("a view that did not ask leaves its choice closed: the message is in the view that asked", async () => {
  const { el, model } = bar({ busy: "Reading ./x.json ..." });
  model.set("refused", "there is nothing at ./x.json");
  model.set("busy", "");
  await drawn();
  expect(el.querySelector<HTMLElement>(".dra-sources")!.hidden).toBe(true);
});

test("a source that is meant can be loaded from the message", async () => {
  const { el, model } = bar({ refused: "there is no sample 'ekp4d'; did you mean 'sample:eks-p4d'?" });
  button(el.querySelector(".dra-loading")!, "Load sample:eks-p4d").click();
  expect(model.sent).toContainEqual({ type: "load", source: "sample:eks-p4d" });
});

test("what a file holds to be drawn is offered, and each drawing can be opened", async () => {
  const options: [string, string][] = [
    ["Pod p: claim gpus", "2 requests"],
    ["Pod p: claim nics", ""],
  ];
  const { el, model } = bar({ offer: { text: "pod.yaml holds no cluster.", options } });
  const buttons = [...el.querySelectorAll<HTMLElement>(".dra-offer button")];
  expect(el.querySelector(".dra-offer")!.textContent).toContain("Pod p: claim gpus");
  buttons[1]!.click();
  expect(model.sent).toContainEqual({ type: "open-drawing", number: 1 });
});

test("what is open stands in the choice line by line", () => {
  const { el } = bar();
  expect(el.querySelector(".dra-details")!.textContent).toBe("Clustersample:a");
});

test("near the lower edge of the window a panel opens upwards, and elsewhere downwards", async () => {
  const { el } = bar();
  const panel = el.querySelector<HTMLElement>("[popover]")!;
  const open = el.querySelector<HTMLElement>(`[popovertarget="${panel.id}"]`)!;
  const at = async (top: number) => {
    open.getBoundingClientRect = () => new DOMRect(0, top, 100, 28);
    open.click();
    await new Promise(requestAnimationFrame);
    const { top: from, bottom } = panel.style;
    open.click();
    return [from, bottom];
  };
  expect(await at(100)).toEqual(["132px", "auto"]);
  const low = window.innerHeight - 120;
  expect(await at(low)).toEqual(["auto", "124px"]);
});
