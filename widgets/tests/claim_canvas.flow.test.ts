// The drawing as nodes and edges of React Flow, and the places that are kept of it.
import { expect, test } from "vitest";
import { addClaim } from "../src/canvas/claims";
import { candidatesFrom, candidateWords } from "../src/canvas/edits";
import { framesOf, GANG, placesOf, SAME, sizesOf, toEdges, toNodes } from "../src/canvas/flow";
import { partnersOf } from "../src/canvas/sketch";
import type { ClaimSketch } from "../src/generated/models";

const request = (name: string) => ({ name, exactly: { deviceClassName: "c", count: 1 } });
const PAIR: ClaimSketch = {
  requests: [request("gpu"), request("nic")],
  links: [{ name: "link-1", requests: ["gpu", "nic/big"], must: false }],
};
const NOTHING = { status: {}, palette: [], positions: {}, problems: [], gang: {}, highlight: "", readOnly: false };
const known = (more: object = {}) => ({ ...NOTHING, sketch: PAIR, ...more }) as Parameters<typeof toNodes>[0];
const SHOWN = { active: "r:gpu", candidate: "" };
const nodesOf = (more: object = {}) => toNodes(known(more), SHOWN, []);

test("a request is a box, a link a knot, and each of its ends a line", () => {
  expect(nodesOf().map(({ id, type }) => [id, type])).toEqual([
    ["r:gpu", "request"],
    ["r:nic", "request"],
    ["l:link-1", "link"],
  ]);
  const [, end] = toEdges(known(), []);
  expect(end).toMatchObject({ source: "l:link-1", target: "r:nic", data: { must: false, alternative: "big" } });
});

test("one box is the tab stop, and a drawing that is read-only cannot be dragged", () => {
  const nodes = nodesOf({ readOnly: true });
  expect(nodes.filter((node) => node.domAttributes?.tabIndex === 0).map(({ id }) => id)).toEqual(["r:gpu"]);
  expect(nodes.some((node) => node.draggable || node.connectable)).toBe(false);
});

test("a device that is pointed at lights the requests that match it", () => {
  const status = { requests: { gpu: { matchingIds: ["d/n/gpu-0"] }, nic: { matchingIds: [] } } };
  const lit = nodesOf({ status, highlight: "d/n/gpu-0" }).filter((node) => node.type === "request" && node.data.lit);
  expect(lit.map(({ id }) => id)).toEqual(["r:gpu"]);
});

test("a box or a line shows what keeps the claim from fitting", () => {
  const problems = [
    { kind: "request", name: "gpu", text: "No GPU." },
    { kind: "link", name: "link-1", text: "No root." },
  ];
  expect(nodesOf({ problems }).flatMap(({ data }) => ("cause" in data ? [data.cause] : []))).toEqual([
    "No GPU.",
    "",
    "No root.",
  ]);
  expect(toEdges(known({ problems }), []).every((edge) => edge.data?.problem)).toBe(true);
});

test("a box that is dragged stays under the mouse, whatever else is drawn again", () => {
  const old = nodesOf().map((node) => ({ ...node, dragging: node.id === "r:nic", position: { x: 777, y: 5 } }));
  expect(toNodes(known(), SHOWN, old).find(({ id }) => id === "r:nic")?.position).toEqual({ x: 777, y: 5 });
});

test("a claim lies in its pod, and the pod in its gang, whose link ties what it binds", () => {
  const gang = {
    words: "8 pods",
    link: "same rail",
    same: ["rail"],
    sames: [{ name: "rail", requests: ["claim-1:gpu"] }],
  };
  const more = { sketch: addClaim(PAIR).sketch, gang };
  const nodes = nodesOf(more);
  const frame = (id: string) => nodes.find((node) => node.id === id)!;
  const holds = (outer: string, inner: string) => {
    const [a, b] = [frame(outer), frame(inner)];
    return (
      a.position.x < b.position.x &&
      a.position.y < b.position.y &&
      a.position.x + a.width! > b.position.x + b.width! &&
      a.position.y + a.height! > b.position.y + b.height!
    );
  };
  expect([holds(GANG, "p:"), holds("p:", "c:claim-1"), holds("p:", "c:claim-2")]).toEqual([true, true, true]);
  expect([...framesOf(nodes).keys()]).toEqual(["claim-1", "claim-2"]);
  const bound = toEdges(known(more), []).filter((edge) => edge.source === SAME);
  expect(bound.map((edge) => edge.target)).toEqual(["r:claim-1:gpu"]);
});

test("places are kept in whole pixels, those of pod and gang are not", () => {
  const more = { sketch: addClaim(PAIR).sketch, gang: { words: "8 pods", link: "same rail" } };
  const moved = nodesOf(more).map((node) => ({ ...node, position: { x: 1.4, y: 2.6 } }));
  const places = placesOf({ sketch: more.sketch }, moved);
  expect(Object.keys(places).sort()).toEqual([
    "claim-1:gpu",
    "claim-1:link-1",
    "claim-1:nic",
    "claim/claim-1",
    "claim/claim-2",
  ]);
  expect(places["claim-1:gpu"]).toEqual([1, 3]);
});

test("the size of a box is the one that the browser has measured", () => {
  const [box] = nodesOf();
  expect(sizesOf(PAIR, [box!])).toEqual({});
  expect(sizesOf(PAIR, [{ ...box!, measured: { width: 212, height: 99 } }])).toEqual({
    gpu: { width: 212, height: 99 },
  });
});

test("counts move together along a chain of one-to-one links", () => {
  const chain = (a: string, b: string) => ({ name: `${a}-${b}`, requests: [a, b], how: "pairwise" as const });
  const sketch = { requests: ["a", "b", "c", "d"].map(request), links: [chain("a", "b"), chain("b", "c")] };
  expect([partnersOf(sketch, "a"), partnersOf(sketch, "d")]).toEqual([["b", "c"], []]);
});

test("a link that is made by keyboard names its next end, and that it stays in its claim", () => {
  const sketch = addClaim(PAIR).sketch;
  const from = "r:claim-1:gpu";
  const words = candidateWords(sketch, { from, candidates: candidatesFrom(sketch, from), index: 0 });
  expect(words).toMatch(/^Link gpu with nic \(1 of 2\)\. .* Only claim claim-1/);
});
