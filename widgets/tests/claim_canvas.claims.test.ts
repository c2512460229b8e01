// The claims of a pod on the canvas: edits of names and frames, as pure functions.

import { describe, expect, it } from "vitest";
import { addClaim, claimsOf, moveRequests, removeClaim, renameClaim, renamedPlaces } from "../src/canvas/claims";
import { candidatesFrom, isAcross } from "../src/canvas/edits";
import { apart, claimAt, frameOf, type Places, placed } from "../src/canvas/layout";
import { addLink, addRequest, linksOf, requestsOf } from "../src/canvas/sketch";
import { describeChange } from "../src/canvas/wording";
import type { ClaimSketch } from "../src/generated/models";

const request = (name: string) => ({ name, exactly: { deviceClassName: "c", count: 1 } });
const ONE: ClaimSketch = {
  name: "train",
  requests: [request("gpu"), request("nic")],
  links: [{ name: "link-1", requests: ["gpu", "nic"] }],
  config: [{ requests: [] }, { requests: ["gpu"] }],
};
const TWO = addClaim(ONE).sketch;
const names = (sketch: ClaimSketch) => requestsOf(sketch).map(({ name }) => name);
const isClear = (sketch: ClaimSketch, places: ReturnType<typeof placed>) => {
  const frames = claimsOf(sketch).map((claim) => frameOf(sketch, claim, places, {}));
  return frames.every((a, i) =>
    frames
      .slice(i + 1)
      .every((b) => a.x + a.width < b.x || b.x + b.width < a.x || a.y + a.height < b.y || b.y + b.height < a.y),
  );
};

describe("claims", () => {
  it("gives the first claim a name when a second one is added", () => {
    expect(TWO.claims).toEqual(["claim-1", "claim-2"]);
    expect(names(TWO)).toEqual(["claim-1:gpu", "claim-1:nic"]);
    expect(linksOf(TWO)[0]).toMatchObject({ name: "claim-1:link-1", requests: ["claim-1:gpu", "claim-1:nic"] });
    expect(TWO.config?.map((entry) => entry.requests)).toEqual([["claim-1:"], ["claim-1:gpu"]]);
  });

  it("is the drawing as it was when the second claim is deleted again", () => {
    const { sketch } = removeClaim(TWO, "claim-2");
    expect({ ...sketch, claims: undefined }).toEqual({ ...ONE, claims: undefined });
  });

  it("deletes a claim with its requests, links and configuration", () => {
    const three = addClaim(TWO).sketch;
    const { sketch } = removeClaim(three, "claim-1");
    expect(sketch).toMatchObject({ claims: ["claim-2", "claim-3"], requests: [], links: [], config: [] });
  });

  it("renames a claim in every name that it stands before", () => {
    const { sketch } = renameClaim(TWO, "claim-1", "gpus");
    expect(sketch.claims).toEqual(["gpus", "claim-2"]);
    expect(linksOf(sketch)[0]?.requests).toEqual(["gpus:gpu", "gpus:nic"]);
  });

  it("names requests freely within a claim only", () => {
    const row = { key: "k", label: "GPU", deviceClass: "c", kind: "gpu" };
    expect(addRequest(TWO, row, "claim-2").name).toBe("claim-2:gpu");
    expect(addRequest(TWO, row, "claim-1").name).toBe("claim-1:gpu-2");
    expect(addLink(TWO, { requests: ["claim-1:gpu"], where: "numaNode", how: "together" }).name).toBe("claim-1:link-2");
  });

  it("cuts the links of a request that moves alone, and says which", () => {
    const moved = moveRequests(TWO, ["claim-1:gpu"], "claim-2");
    expect(names(moved.sketch)).toEqual(["claim-2:gpu", "claim-1:nic"]);
    expect([moved.cut, linksOf(moved.sketch)]).toEqual([["gpu + nic"], []]);
    expect(moved.sketch.config?.map((entry) => entry.requests)).toEqual([["claim-1:"], ["claim-2:gpu"]]);
  });

  it("takes a link along if all its ends move", () => {
    const moved = moveRequests(TWO, ["claim-1:gpu", "claim-1:nic"], "claim-2");
    expect(moved.cut).toEqual([]);
    expect(linksOf(moved.sketch)[0]).toMatchObject({
      name: "claim-2:link-1",
      requests: ["claim-2:gpu", "claim-2:nic"],
    });
  });

  it("offers no partner of another claim for a link", () => {
    const both = moveRequests(TWO, ["claim-1:gpu"], "claim-2").sketch;
    expect(candidatesFrom(both, "r:claim-2:gpu")).toEqual(["r:claim-2:gpu"]);
    expect(isAcross("r:claim-2:gpu", "r:claim-1:nic")).toBe(true);
  });

  it("says what has become of claims", () => {
    expect(describeChange(ONE, TWO)).toBe("the pod has 2 claims: claim-1, claim-2");
    const moved = moveRequests(TWO, ["claim-1:gpu"], "claim-2").sketch;
    expect(describeChange(TWO, moved)).toBe("moved gpu to claim claim-2");
  });
});

describe("frames", () => {
  const three = addClaim(TWO).sketch;

  it("never lie on each other, whatever is known of places", () => {
    const knowns: Places[] = [{}, { "claim-1:gpu": [0, 0] as const }, { "claim/claim-2": [10, 10] as const }];
    for (const known of knowns) expect(isClear(three, placed(three, known))).toBe(true);
  });

  it("make room for a box that is dropped into one of them", () => {
    const row = { key: "k", label: "NIC", deviceClass: "c", kind: "nic" };
    const { sketch, name } = addRequest(three, row, "claim-1");
    const places = { ...placed(three, {}), [name]: [180, 190] as const };
    expect(isClear(sketch, apart(sketch, places, [name]))).toBe(true);
  });

  it("keep the places of boxes when a second claim is added", () => {
    const before = { gpu: [40, 50], nic: [300, 50], "link-1": [120, 160] } as const;
    const { sketch, renamed } = addClaim(ONE);
    const after = placed(sketch, renamedPlaces(before, ONE, renamed));
    expect([after["claim-1:gpu"], after["claim-1:nic"], after["claim-1:link-1"]]).toEqual(Object.values(before));
  });

  it("are found by a point in them", () => {
    const places = placed(three, {});
    const frames = new Map(claimsOf(three).map((claim) => [claim, frameOf(three, claim, places, {})]));
    const of = frames.get("claim-2");
    expect(claimAt(frames, { x: (of?.x ?? 0) + 5, y: (of?.y ?? 0) + 5 })).toBe("claim-2");
    expect(claimAt(frames, { x: -5000, y: 0 })).toBe("");
  });
});
