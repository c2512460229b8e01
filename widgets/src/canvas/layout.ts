// Where boxes stand that have no place yet: a whole drawing by dagre, single new boxes beside what stands already.
import dagre from "@dagrejs/dagre";
import type { ClaimSketch, Link } from "../generated/models";
import { howOf, linksOf, requestOf, requestsOf, whereOf } from "./sketch";
import { placeLabel } from "./wording";

export type Place = readonly [number, number];
export type Places = Readonly<Record<string, Place>>;

/** Sizes in pixels for placing; the real ones are measured by the browser later and differ by little. */
export const BOX = { width: 212, height: 82 };
export const KNOT = { width: 190, height: 30 };
/** Between boxes under each other: room for a knot. */
const GAP = 62;
const NEAR = 32;
const CLEAR = 8;
/** Ways from the middle of a link to look for a free place, nearest first; downwards and to the right before the others. */
const STEPS: readonly Place[] = (() => {
  const steps = Array.from({ length: 61 }, (_, i) => (i - 30) * 12);
  const all = steps.flatMap((dx) => steps.map((dy): Place => [dx, dy]));
  return all.sort(([ax, ay], [bx, by]) => Math.hypot(ax, ay) - Math.hypot(bx, by) || by - ay || bx - ax);
})();
const knotSize = (link: Link) => ({
  ...KNOT,
  width: Math.round(Math.min(310, 54 + 7.1 * `${howOf(link)} . ${placeLabel(whereOf(link))}`.length)),
});

/** The key of a link's place; a link that shares its name with a request has a key of its own. */
export const linkKey = (sketch: ClaimSketch, name: string): string =>
  requestsOf(sketch).some((request) => request.name === name) ? `link/${name}` : name;

export function placeAll(sketch: ClaimSketch, known: Places): Places {
  const names = [...requestsOf(sketch).map((r) => r.name), ...linksOf(sketch).map((l) => linkKey(sketch, l.name))];
  if (!names.some((name) => known[name])) return arrange(sketch);
  const places: Record<string, Place> = {};
  for (const name of names) if (known[name]) places[name] = known[name];
  for (const { name } of requestsOf(sketch)) places[name] ??= below(places);
  for (const link of linksOf(sketch))
    places[linkKey(sketch, link.name)] ??= between(link, sketch, places);
  return places;
}

function arrange(sketch: ClaimSketch): Places {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 34 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { name } of requestsOf(sketch)) graph.setNode(`r:${name}`, { ...BOX });
  for (const link of linksOf(sketch)) {
    graph.setNode(`l:${link.name}`, knotSize(link));
    link.requests.map(requestOf).forEach((name, i) => {
      if (i === 0) graph.setEdge(`r:${name}`, `l:${link.name}`);
      else graph.setEdge(`l:${link.name}`, `r:${name}`);
    });
  }
  dagre.layout(graph);
  const places: Record<string, Place> = {};
  const corner = (id: string, size: typeof BOX): Place => {
    const at = graph.node(id);
    return [Math.round((at.x ?? 0) - size.width / 2), Math.round((at.y ?? 0) - size.height / 2)];
  };
  for (const { name } of requestsOf(sketch)) places[name] = corner(`r:${name}`, BOX);
  for (const link of linksOf(sketch)) places[linkKey(sketch, link.name)] = corner(`l:${link.name}`, knotSize(link));
  return places;
}

/** Under everything that stands already, at its left edge. */
function below(places: Readonly<Record<string, Place>>): Place {
  const all = Object.values(places);
  if (!all.length) return [0, 0];
  return [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([, y]) => y)) + BOX.height + GAP];
}

/** As near as is free to the middle of the boxes a link ties; under the box where it ties only one. */
function between(link: Link, sketch: ClaimSketch, places: Readonly<Record<string, Place>>): Place {
  const size = knotSize(link);
  const centres = link.requests
    .map(requestOf)
    .flatMap((name) => (places[name] ? [places[name]] : []))
    .map(([x, y]) => [x + BOX.width / 2, y + BOX.height / 2]);
  if (!centres.length) return below(places);
  const mean = (axis: 0 | 1) => centres.reduce((sum, at) => sum + (at[axis] ?? 0), 0) / centres.length;
  const x = Math.round(mean(0) - size.width / 2);
  const y = Math.round(centres.length === 1 ? mean(1) + BOX.height / 2 + NEAR : mean(1) - size.height / 2);
  const knots = new Map(linksOf(sketch).map((other) => [linkKey(sketch, other.name), knotSize(other)]));
  const isFree = ([left, top]: Place) =>
    Object.entries(places).every(([name, [px, py]]) => {
      const there = knots.get(name) ?? BOX;
      const beside = left >= px + there.width + CLEAR || px >= left + size.width + CLEAR;
      return beside || top >= py + there.height + CLEAR || py >= top + size.height + CLEAR;
    });
  return STEPS.map(([dx, dy]): Place => [x + dx, y + dy]).find(isFree) ?? below(places);
}
