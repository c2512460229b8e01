import { afterEach, expect, test, vi } from "vitest";
import type { ExportRow, GangSheetRow } from "../src/generated/models";
import { drawn, press, type } from "./fake_model";
import { button, plan } from "./plan_view_model";

afterEach(() => document.body.replaceChildren());

const ROW: ExportRow = {
  name: "six",
  cluster: "dgx-h100",
  choice: {},
  release: "1.36",
  extras: [
    { name: "list", words: "list of devices" },
    { name: "report", words: "README and picture of the plan", chosen: true },
  ],
  plain: { achieves: false, sentence: "kube-scheduler allocates 5 of 6 pairs.", detail: "Nothing pairs them." },
  pinned: { achieves: true, sentence: "kube-scheduler allocates 6 of 6 pairs." },
  pins: [{ text: "gpu + nic", reason: "why", price: "it still fits on all 8 nodes" }],
  pin: true,
  price: "it still fits on all 8 nodes",
  files: [
    { name: "claim.yaml", state: "changed", added: 1, removed: 1, lines: [" kind: A", "-old: 1", "+new: 1"] },
    { name: "pod.yaml", state: "edited", added: 1, removed: 0, lines: ["+x: 1"] },
  ],
  releases: [
    ["1.36", "1.36"],
    ["1.37", "1.37"],
  ],
};
const sheet = (row: Partial<ExportRow> = {}) => plan({ export: { ...ROW, ...row } });
const field = (el: Element, label: string) => {
  const found = [...el.querySelectorAll("label")].find((one) => one.textContent?.startsWith(label))!;
  return (found.control ?? found.querySelector("input")) as HTMLInputElement;
};

test("what is chosen is sent when the field is left, each alone", () => {
  const { el, model } = sheet();
  const folder = field(el, "Folder");
  type(folder, "out");
  press(folder, "Enter");
  field(el, "Pin so").click();
  expect(model.sent).toEqual([
    { type: "choose-export", folder: "out" },
    { type: "choose-export", pin: false },
  ]);
});

test("the diff shows both, and the whole file has the new lines only", async () => {
  const { el } = sheet();
  const text = () => [...el.querySelectorAll(".dra-diff-line")].map((line) => line.lastChild!.textContent);
  expect(text()).toEqual(["kind: A", "old: 1", "new: 1"]);
  field(el, "Whole file").click();
  await drawn();
  expect(text()).toEqual(["kind: A", "new: 1"]);
});

test("files that miss the plan are written beside a sentence that says so", () => {
  const { el, model } = sheet({ pin: false, worse: "kube-scheduler allocates 5 of 6 pairs." });
  expect(el.querySelector(".dra-sheet-words")!.textContent).toContain("5 of 6 pairs");
  button(el, "Export anyway").click();
  expect(model.sent).toEqual([{ type: "write-export", allowWorse: true }]);
});

test("while kube-scheduler is simulated nothing can be written, and the search can be cancelled", () => {
  const { el, model } = sheet({ stage: "Simulating kube-scheduler", plain: null, pinned: null, files: [] });
  expect((button(el, "Export 0 files") as HTMLButtonElement).disabled).toBe(true);
  button(el, "Cancel").click();
  expect(model.sent).toEqual([{ type: "cancel-export" }]);
});

test("my two numbers are sent once both are above 0", async () => {
  const { el, model } = sheet({ measure: { words: "0.45 to 0.64 on 1 of 2 GPUs", folder: "manifests-measure" } });
  const [near, far] = [...el.querySelectorAll<HTMLInputElement>('input[type="number"]')];
  type(near!, "46.1");
  await drawn();
  expect((button(el, "Use my numbers") as HTMLButtonElement).disabled).toBe(true);
  type(far!, "25.3");
  await drawn();
  button(el, "Use my numbers").click();
  button(el, "Export two Jobs to manifests-measure").click();
  expect(model.sent).toEqual([{ type: "use-measured", withLink: 46.1, withoutLink: 25.3 }, { type: "write-measure" }]);
});

test("each row of extra files is a choice of its own", () => {
  const { el, model } = sheet();
  field(el, "list of devices").click();
  expect(model.sent).toEqual([{ type: "choose-export", extra: ["report", "list"] }]);
});

const GANG: GangSheetRow = {
  name: "train",
  words: "1 gang of 4 pods, all in one rack",
  gangs: ["train"],
  scheduler: "kueue",
  schedulers: [
    ["kueue", "Kueue 0.20"],
    ["kai", "KAI 0.17"],
  ],
  queue: "team/train",
  queueHint: "The LocalQueue of Kueue, which needs one.",
  domain: "spine-1/rack-2",
};
const gangSheet = (gang: Partial<GangSheetRow> = {}, row: Partial<ExportRow> = {}) =>
  sheet({ pinned: null, pins: [], gang: { ...GANG, ...gang }, ...row });
const choose = (select: HTMLSelectElement, value: string) => {
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
};

test("a gang has a scheduler, a queue and a pin in place of the choices for pods", () => {
  const { el, model } = gangSheet();
  choose(field(el, "Scheduler") as unknown as HTMLSelectElement, "kai");
  const queue = field(el, "Queue");
  type(queue, " team/other ");
  press(queue, "Enter");
  field(el, "Pin the planned domain").click();
  expect(model.sent).toEqual([
    { type: "choose-gang-export", scheduler: "kai" },
    { type: "choose-gang-export", queue: "team/other" },
    { type: "choose-export", pin: true },
  ]);
});

test("what only pods can have is not offered for a gang", () => {
  const { el } = gangSheet();
  const labels = [...el.querySelectorAll(".dra-sheet-left .dra-label")].map((one) => one.textContent);
  expect(labels).toEqual(["Scheduler", "Queue", "Release", "Namespace", "Workload", "Folder"]);
});

test("a gang without a planned domain cannot be pinned, and the reason is beside the switch", () => {
  const { el } = gangSheet({ noDomain: "This gang requires no level." });
  expect(field(el, "Pin the planned domain").disabled).toBe(true);
  expect(el.querySelector(".dra-outcome-pin")!.textContent).toContain("This gang requires no level.");
});

test("one of several gangs is chosen by its name", () => {
  const { el, model } = gangSheet({ gangs: ["train", "serve"], others: "serve is planned with it." });
  choose(field(el, "Gang") as unknown as HTMLSelectElement, "serve");
  expect(model.sent).toEqual([{ type: "choose-gang-export", name: "serve" }]);
});

test("what the scheduler cannot express is listed under its name", () => {
  const { el } = gangSheet({ notExpressed: ["A PodGroup has no preferred level."] });
  const card = el.querySelector('[aria-label="What Kueue 0.20 cannot express"]')!;
  expect([...card.querySelectorAll("li")].map((line) => line.textContent)).toEqual([
    "A PodGroup has no preferred level.",
  ]);
});

test("an error opens the findings, and the files are written only anyway", () => {
  const finding = { rule: "kueue-queue-missing", severity: "error", subject: "train", message: "no queue", advice: "" };
  const { el } = gangSheet({}, { findings: [finding], worse: "Correct the error above." });
  expect(el.querySelector<HTMLDetailsElement>(".dra-sheet-left details")!.open).toBe(true);
  expect(el.querySelector(".dra-sheet-words")!.textContent).toBe("Correct the error above.");
  expect(button(el, "Export anyway").disabled).toBe(false);
});

test("a part of a configuration is not copied with what is applied", async () => {
  const copied = vi.fn(async () => undefined);
  vi.stubGlobal("navigator", { clipboard: { writeText: copied } });
  const file = (name: string) => ({ name, state: "new" as const, lines: [`+kind: ${name}`] });
  const files = [file("job.yaml"), { ...file("kueue-configuration.yaml"), fragment: true }];
  const { el } = gangSheet({}, { files });
  button(el, "Copy all").click();
  await drawn();
  vi.unstubAllGlobals();
  expect(copied).toHaveBeenCalledWith("kind: job.yaml\n");
});
