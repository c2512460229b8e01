import { expect, test } from "vitest";
import { joined as join, startLink } from "../src/canvas/edits";
import {
  addAlternative,
  addLink,
  addRequest,
  changePart,
  freeName,
  linksOf,
  moveAlternative,
  remove,
  removeAlternative,
  rename,
  requestsOf,
  selectorsFrom,
  step,
  stepQuantity,
  tie,
  withCount,
} from "../src/canvas/sketch";
import { describeChange } from "../src/canvas/wording";
import type { CanvasStatus, ClaimSketch } from "../src/generated/models";

const GPU = { key: "gpu", label: "A100", kind: "gpu", deviceClass: "gpu.nvidia.com", defaultCount: 2 };
const CPU = {
  key: "cpu",
  label: "CPU",
  kind: "cpu",
  deviceClass: "dra.cpu",
  capacityKey: "dra.cpu/cpu",
  defaultCapacity: "16",
};
const PAIR: ClaimSketch = {
  requests: [
    { name: "gpu", exactly: { deviceClassName: "gpu.nvidia.com", count: 2 } },
    { name: "nic", exactly: { deviceClassName: "dranet", count: 2 } },
  ],
  links: [{ name: "link-1", requests: ["gpu", "nic"], how: "pairwise" }],
};
const KINDS: CanvasStatus = { requests: { gpu: { kind: "gpu" }, nic: { kind: "nic" }, cpu: { kind: "cpu" } } };

test("a request is drawn with the class, selectors and count of its palette entry", () => {
  const { sketch, name } = addRequest({}, { ...GPU, selectors: ["device.driver == 'x'"] });
  expect(name).toBe("gpu");
  expect(requestsOf(sketch)[0]?.exactly).toEqual({
    deviceClassName: "gpu.nvidia.com",
    count: 2,
    selectors: [{ cel: { expression: "device.driver == 'x'" } }],
  });
});

test("a second request of a kind gets a name of its own, also where a link has the plain one", () => {
  const once = addRequest({}, GPU).sketch;
  expect(addRequest(once, GPU).name).toBe("gpu-2");
  expect(freeName({ links: [{ name: "gpu", requests: [] }] }, "gpu")).toBe("gpu-2");
});

test("devices shared by amount are asked for by amount, and the stepper changes the amount and not the count", () => {
  const { sketch } = addRequest({}, CPU);
  const [request] = requestsOf(step(sketch, "cpu", 1));
  expect(request?.exactly?.capacity).toEqual({ requests: { "dra.cpu/cpu": "17" } });
  expect(request?.exactly?.count).toBe(1);
});

test("the counts of a one-to-one link move together and keep their ratio", () => {
  const counts = (sketch: ClaimSketch) => requestsOf(sketch).map((request) => request.exactly?.count);
  const linked = (gpu: number, nic: number): ClaimSketch => ({
    requests: [
      { name: "gpu", exactly: { deviceClassName: "g", count: gpu } },
      { name: "nic", exactly: { deviceClassName: "n", count: nic } },
    ],
    links: [{ name: "k", requests: ["gpu", "nic"], how: "pairwise" }],
  });
  expect(counts(step(linked(2, 2), "gpu", 1))).toEqual([3, 3]);
  expect(counts(step(linked(4, 2), "gpu", 1))).toEqual([6, 3]);
  expect(counts(step(linked(1, 4), "gpu", 1))).toEqual([2, 8]);
  expect(counts(step(linked(2, 2), "gpu", 1, true))).toEqual([3, 2]);
  expect(counts(withCount(linked(2, 4), "nic", 12))).toEqual([6, 12]);
});

test("a typed count that cannot keep the ratio, and one group less than one, change that request alone", () => {
  const two: ClaimSketch = {
    requests: [
      { name: "gpu", exactly: { deviceClassName: "g", count: 2 } },
      { name: "nic", exactly: { deviceClassName: "n", count: 1 } },
    ],
    links: [{ name: "k", requests: ["gpu", "nic"], how: "pairwise" }],
  };
  const counts = (sketch: ClaimSketch) => requestsOf(sketch).map((request) => request.exactly?.count);
  expect(counts(withCount(two, "gpu", 5))).toEqual([5, 1]);
  expect(counts(step(two, "gpu", -1))).toEqual([1, 1]);
});

test("an alternative can be tried earlier or later", () => {
  const ways = [
    { name: "first", deviceClassName: "a" },
    { name: "second", deviceClassName: "b" },
  ];
  const sketch: ClaimSketch = { requests: [{ name: "gpu", firstAvailable: ways }] };
  const names = (of: ClaimSketch) => requestsOf(of)[0]?.firstAvailable?.map((way) => way.name);
  expect(names(moveAlternative(sketch, "gpu", 1, -1))).toEqual(["second", "first"]);
  expect(moveAlternative(sketch, "gpu", 1, 1)).toBe(sketch);
});

test("a count is never below one and a quantity keeps its suffix", () => {
  const one = changePart(PAIR, "gpu", 0, { count: 1 });
  expect(step(one, "gpu", -1)).toBe(one);
  expect(stepQuantity("40Gi", -1)).toBe("39Gi");
  expect(stepQuantity("1Gi", -1)).toBeNull();
  expect(stepQuantity("0.5", 1)).toBeNull();
});

test("all devices have no count to step", () => {
  const all = changePart(PAIR, "gpu", 0, { allocationMode: "All", count: undefined });
  expect(requestsOf(all)[0]?.exactly).toEqual({ deviceClassName: "gpu.nvidia.com", allocationMode: "All" });
  expect(step(all, "gpu", 1)).toBe(all);
});

test("deleting a request unties it; a pair of one becomes together, a link without ends goes", () => {
  const left = remove(PAIR, { requests: ["nic"] });
  expect(linksOf(left)).toEqual([{ name: "link-1", requests: ["gpu"], how: "together" }]);
  expect(linksOf(remove(left, { requests: ["gpu"] }))).toEqual([]);
});

test("untying one end leaves the other links alone", () => {
  const two = addLink(PAIR, { requests: ["gpu"], where: "numaNode", how: "together" }).sketch;
  const after = remove(two, { ends: [{ link: "link-1", reference: "nic" }] });
  expect(linksOf(after).map((link) => link.requests)).toEqual([["gpu"], ["gpu"]]);
});

test("renaming a request takes its links and configuration along, alternatives included", () => {
  const before: ClaimSketch = {
    ...PAIR,
    links: [{ name: "l", requests: ["gpu/big", "nic"] }],
    config: [{ requests: ["gpu"] }],
  };
  const after = rename(before, "gpu", "accelerator");
  expect(linksOf(after)[0]?.requests).toEqual(["accelerator/big", "nic"]);
  expect(after.config?.[0]?.requests).toEqual(["accelerator"]);
});

test("an alternative is a copy of the last way; taking it away again gives back the exact request", () => {
  const more = addAlternative(PAIR, "gpu");
  expect(requestsOf(more)[0]?.firstAvailable?.map((way) => way.name)).toEqual(["first", "choice-2"]);
  expect(requestsOf(removeAlternative(more, "gpu", 1))[0]).toEqual(requestsOf(PAIR)[0]);
});

test("taking away a tied alternative unties it", () => {
  const more = { ...addAlternative(PAIR, "gpu"), links: [{ name: "l", requests: ["gpu/choice-2", "nic"] }] };
  expect(linksOf(removeAlternative(more, "gpu", 1))[0]?.requests).toEqual(["nic"]);
});

test("changing an alternative changes only that one", () => {
  const changed = changePart(addAlternative(PAIR, "gpu"), "gpu", 1, { deviceClassName: "other", adminAccess: true });
  expect(requestsOf(changed)[0]?.firstAvailable?.map((way) => way.deviceClassName)).toEqual([
    "gpu.nvidia.com",
    "other",
  ]);
  expect(JSON.stringify(changed)).not.toContain("adminAccess");
});

test("empty selectors are left out", () => {
  expect(selectorsFrom(["", " ", "true"])).toEqual([{ cel: { expression: "true" } }]);
});

test("a GPU and a NIC are linked pairwise on the PCIe root, everything else together", () => {
  expect(startLink(KINDS, ["gpu", "nic"])).toEqual({ requests: ["gpu", "nic"], how: "pairwise", where: "pcieRoot" });
  expect(startLink(KINDS, ["gpu", "cpu"])).toEqual({ requests: ["gpu", "cpu"], how: "together", where: "numaNode" });
});

test("a new link starts at the first place that is possible between its requests", () => {
  const pairs = {
    "gpu|nic": [
      { where: "switch", label: "s", enabled: false },
      { where: "a/b", label: "a/b" },
    ],
  };
  expect(startLink({ ...KINDS, pairs }, ["nic", "gpu"]).where).toBe("a/b");
});

test("a link never changes a count", () => {
  const { sketch } = join({ requests: PAIR.requests }, KINDS, "r:gpu", "r:nic");
  expect(sketch.requests).toEqual(PAIR.requests);
});

test("joining a knot and a box ties the box once", () => {
  const more = addRequest(PAIR, CPU).sketch;
  const tied = join(more, KINDS, "l:link-1", "r:cpu").sketch;
  expect(linksOf(tied)[0]?.requests).toEqual(["gpu", "nic", "cpu"]);
  expect(tie(tied, "link-1", "cpu")).toBe(tied);
  expect(join(more, KINDS, "l:link-1", "l:link-1").link).toBe("");
});

test("every change has a description in words", () => {
  expect(describeChange({}, PAIR)).toBe(
    "added request gpu, count 2; added request nic, count 2; added link gpu + nic: must, one to one, PCIe root",
  );
  expect(describeChange(PAIR, step(PAIR, "gpu", 1))).toBe("count of gpu is 3; count of nic is 3");
  expect(describeChange(PAIR, remove(PAIR, { links: ["link-1"] }))).toBe("removed link gpu + nic");
  expect(describeChange(PAIR, { ...PAIR })).toBe("");
});

test("the same drawing with its fields in another order is no change", () => {
  const turned = {
    ...PAIR,
    requests: PAIR.requests!.map(({ name, exactly }) => ({
      exactly: { count: exactly!.count, deviceClassName: exactly!.deviceClassName },
      name,
    })),
  };
  expect(describeChange(PAIR, turned)).toBe("");
});
