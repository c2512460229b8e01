import { expect, test } from "vitest";
import { inSight, viewOf } from "../src/canvas/board";
import { neighbour } from "../src/canvas/canvas_keys";
import { candidatesFrom } from "../src/canvas/edits";
import { BOX, linkKey, placeAll, pushedApart } from "../src/canvas/layout";
import { endsOf } from "../src/canvas/nodes";
import type { ClaimSketch } from "../src/generated/models";
import { actionOf, CANVAS_KEYS } from "../src/view/keys";

const request = (name: string) => ({ name, exactly: { deviceClassName: "c" } });
const PAIR: ClaimSketch = { requests: [request("a"), request("b")], links: [{ name: "k", requests: ["a", "b"] }] };

test("a drawing without places is laid out with the knot under its boxes, where it can be shown large", () => {
  const { a, b, k } = placeAll(PAIR, {});
  expect(a![1]).toBe(b![1]);
  expect(a![0] + BOX.width).toBeLessThan(b![0]);
  expect(k![1]).toBeGreaterThanOrEqual(a![1] + BOX.height);
  expect(placeAll(PAIR, {})).toEqual(placeAll(PAIR, {}));
});

test("what would be far too wide beside each other is laid out one after the other", () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const links = names.slice(1).map((name, i) => ({ name: `k${i}`, requests: [names[0]!, name] }));
  const places = placeAll({ requests: names.map(request), links }, {});
  expect(new Set(names.map((name) => places[name]![1])).size).toBeGreaterThan(1);
});

test("known places stay, and a new box lies on none of them", () => {
  const known = { a: [10, 20], k: [30, 140] } as const;
  const places = placeAll(PAIR, known);
  expect([places.a, places.k]).toEqual([known.a, known.k]);
  expect(places.b![0]).toBeGreaterThanOrEqual(10 + BOX.width);
});

test("a link that shares its name with a request has a place of its own", () => {
  const sketch = { requests: [request("a")], links: [{ name: "a", requests: ["a"] }] };
  expect(linkKey(sketch, "a")).toBe("link/a");
  const places = placeAll(sketch, { a: [0, 0] });
  expect(places["link/a"]).not.toEqual(places.a);
});

test("several links between the same boxes do not lie on each other", () => {
  const sketch = { ...PAIR, links: ["k", "l", "m"].map((name) => ({ name, requests: ["a", "b"] })) };
  const places = placeAll(sketch, { a: [0, 0], b: [0, 300] });
  expect(new Set(["k", "l", "m"].map((name) => places[name]!.join())).size).toBe(3);
});

test("a new knot lies on no box and no other knot, also where a box stands in the middle of what it ties", () => {
  const three = { requests: [...PAIR.requests!, request("c")] };
  const links = [
    { name: "k", requests: ["a", "b"] },
    { name: "all", requests: ["a", "b", "c"] },
  ];
  const known = { a: [0, 0], b: [240, 180], k: [150, 110], c: [0, 242] } as const;
  const { a, b, k, c, all } = placeAll({ ...three, links }, known);
  const size = { width: 160, height: 30 };
  const overlaps = ([x, y]: readonly [number, number], there: typeof size) =>
    all![0] < x + there.width && x < all![0] + size.width && all![1] < y + there.height && y < all![1] + size.height;
  expect([a, b, c].filter((place) => overlaps(place!, BOX))).toEqual([]);
  expect(overlaps(k!, size)).toBe(false);
});

test("new boxes stand two in a row, the next row leaves room for the knots of the one above", () => {
  const sketch = { requests: ["a", "b", "c", "d"].map(request), links: PAIR.links! };
  const { a, b, c, d, k } = placeAll(sketch, { a: [0, 0] });
  expect([a![1], c![1]]).toEqual([b![1], d![1]]);
  expect([a![0], b![0]]).toEqual([c![0], d![0]]);
  expect(k![1]).toBeGreaterThanOrEqual(a![1] + BOX.height);
  expect(k![1] + 30).toBeLessThanOrEqual(c![1]);
});

test("what a box is dropped on moves aside, and what that lies on as well", () => {
  const three: ClaimSketch = { requests: [request("a"), request("b"), request("c")] };
  const places = pushedApart(three, { a: [0, 0], b: [40, 10], c: [250, 10] }, ["a"]);
  const clear = (one: readonly [number, number], other: readonly [number, number]) =>
    Math.abs(one[0] - other[0]) >= BOX.width || Math.abs(one[1] - other[1]) >= BOX.height;
  expect(places.a).toEqual([0, 0]);
  expect([clear(places.a!, places.b!), clear(places.b!, places.c!), clear(places.a!, places.c!)]).toEqual([
    true,
    true,
    true,
  ]);
});

test("boxes without a link stand in rows that the board has room for", () => {
  const names = ["a", "b", "c", "d", "e"];
  const places = placeAll({ requests: names.map(request) }, {});
  expect(new Set(names.map((name) => places[name]![0])).size).toBe(2);
});

test("a line leaves a knot below for a box under it and sideways for a box beside it", () => {
  const knot = { x: 0, y: 0, width: 100, height: 30 };
  expect(endsOf(knot, { x: 0, y: 100, width: 200, height: 80 }).map((end) => end.side)).toEqual(["bottom", "top"]);
  expect(endsOf(knot, { x: 200, y: -20, width: 200, height: 80 }).map((end) => end.side)).toEqual(["right", "left"]);
});

test("a line goes round the corner of a box that stands well beside its knot", () => {
  const box = { x: 0, y: 0, width: 200, height: 80 };
  expect(endsOf({ x: 250, y: 90, width: 100, height: 30 }, box).map((end) => end.side)).toEqual(["top", "right"]);
  expect(endsOf({ x: -200, y: -60, width: 100, height: 30 }, box).map((end) => end.side)).toEqual(["bottom", "left"]);
});

test("an arrow follows a link before it takes a nearer box", () => {
  const spots = [
    { id: "a", x: 0, y: 0 },
    { id: "near", x: 50, y: 0 },
    { id: "linked", x: 200, y: 10 },
  ];
  expect(neighbour(spots, "a", "right", new Set(["linked"]))).toBe("linked");
  expect(neighbour(spots, "a", "right", new Set())).toBe("near");
});

test("every box can be reached by arrows, also where nothing lies in their direction", () => {
  const spots = [
    { id: "a", x: 0, y: 0 },
    { id: "b", x: 0, y: -50 },
  ];
  expect(neighbour(spots, "a", "right", new Set())).toBe("b");
  expect(neighbour(spots, "b", "left", new Set())).toBe("a");
  expect(neighbour([], "gone", "left", new Set())).toBeNull();
});

const key = (name: string, more = {}) =>
  actionOf(CANVAS_KEYS, { key: name, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

test("keys with Ctrl or Alt that are not ours stay the notebook's", () => {
  expect(key("n", { ctrlKey: true })).toBeNull();
  expect(key("s", { ctrlKey: true })).toBeNull();
  expect(key("ArrowLeft", { altKey: true })).toBeNull();
  expect(key("Tab")).toBeNull();
});

test("the keys of the list do what it says", () => {
  expect(key("Z", { ctrlKey: true, shiftKey: true })).toEqual({ do: "redo" });
  expect(key("z", { metaKey: true })).toEqual({ do: "undo" });
  expect(key("ArrowUp", { shiftKey: true })).toEqual({ do: "move", to: "up" });
  expect([key("n"), key("N")]).toEqual([{ do: "add" }, { do: "add" }]);
  expect([key("N", { shiftKey: true }), key("m")]).toEqual([{ do: "claim" }, { do: "to-claim" }]);
  expect(key("?", { shiftKey: true })).toEqual({ do: "keys" });
});

test("a link can go from a box to the others, into links that do not tie it, and to itself alone", () => {
  const sketch = { ...PAIR, requests: [...PAIR.requests!, request("c")] };
  expect(candidatesFrom(sketch, "r:c")).toEqual(["r:a", "r:b", "l:k", "r:c"]);
  expect(candidatesFrom(sketch, "l:k")).toEqual(["r:c"]);
});

test("by itself a drawing is never shown smaller than 0.85, and the box whose card is open is in sight", () => {
  const [board, box] = [
    { width: 490, height: 150 },
    { x: 248, y: 300, ...BOX },
  ];
  const view = inSight(viewOf({ x: 0, y: 0, width: 460, height: 382 }, board), box, board);
  expect(view.zoom).toBe(0.85);
  expect(view.y + box.y * view.zoom).toBeGreaterThanOrEqual(0);
  expect(view.y + (box.y + box.height) * view.zoom).toBeLessThanOrEqual(board.height);
  expect(viewOf({ x: 0, y: 0, width: 460, height: 100 }, { width: 490, height: 400 }).zoom).toBe(1);
});
