// The claims of a pod in one drawing: their requests and links are called `claim:name`. A drawing of one claim names
// none. Each edit is a pure function; one that renames also says which name became which, for the places of the boxes.
import type { ClaimSketch, DeviceClaimConfiguration } from "../generated/models";
import type { Places } from "./layout";
import {
  claimOf,
  claimsOf,
  freeName,
  inClaim,
  linksOf,
  remove,
  requestOf,
  requestsOf,
  shortName,
  withoutReferences,
} from "./sketch";

const FIRST = "claim-1";

export { claimOf, claimsOf, inClaim, shortName };

/** The requests and links of one claim, under the names that they have in the drawing. */
export function partOf(sketch: ClaimSketch, claim: string): ClaimSketch {
  return {
    name: claim,
    requests: requestsOf(sketch).filter((request) => claimOf(request.name) === claim),
    links: linksOf(sketch).filter((link) => claimOf(link.name) === claim),
  };
}

export interface Renamed {
  sketch: ClaimSketch;
  /** The new name of a request or link. */
  renamed(name: string): string;
}

const same: Renamed["renamed"] = (name) => name;

function withNames(sketch: ClaimSketch, renamed: (name: string) => string): ClaimSketch {
  return {
    ...sketch,
    requests: requestsOf(sketch).map((request) => ({ ...request, name: renamed(request.name) })),
    links: linksOf(sketch).map((link) => ({ ...link, name: renamed(link.name), requests: link.requests.map(renamed) })),
  };
}

const withConfig = (sketch: ClaimSketch, change: (requests: readonly string[]) => readonly string[]): ClaimSketch => ({
  ...sketch,
  ...(sketch.config
    ? { config: sketch.config.map((entry) => ({ ...entry, requests: [...change(entry.requests ?? [])] })) }
    : {}),
});

/** Another claim, empty; a drawing of one claim gets a name for that one too. */
export function addClaim(sketch: ClaimSketch): Renamed & { claim: string } {
  if (claimsOf(sketch).length) {
    const claim = freeClaim(sketch);
    return { sketch: { ...sketch, claims: [...claimsOf(sketch), claim] }, renamed: same, claim };
  }
  const renamed = (name: string) => inClaim(FIRST, name);
  const named = withConfig(withNames(sketch, renamed), (names) => (names.length ? names : [""]).map(renamed));
  return { sketch: { ...named, claims: [FIRST, "claim-2"] }, renamed, claim: "claim-2" };
}

function freeClaim(sketch: ClaimSketch): string {
  for (let n = claimsOf(sketch).length + 1; ; n++) if (!claimsOf(sketch).includes(`claim-${n}`)) return `claim-${n}`;
}

export function renameClaim(sketch: ClaimSketch, from: string, to: string): Renamed {
  const renamed = (name: string) => (claimOf(name) === from ? inClaim(to, shortName(name)) : name);
  const named = withConfig(withNames(sketch, renamed), (names) => names.map(renamed));
  return { sketch: { ...named, claims: claimsOf(sketch).map((claim) => (claim === from ? to : claim)) }, renamed };
}

/** The drawing without a claim; the last one that stays needs no name. */
export function removeClaim(sketch: ClaimSketch, claim: string): Renamed {
  const rest = claimsOf(sketch).filter((other) => other !== claim);
  const own = partOf(sketch, claim);
  const left: ClaimSketch = {
    ...remove(sketch, { requests: requestsOf(own).map((request) => request.name) }),
    ...(sketch.config
      ? { config: sketch.config.filter((entry) => !entry.requests?.some((name) => claimOf(name) === claim)) }
      : {}),
    claims: rest,
  };
  if (rest.length !== 1) return { sketch: left, renamed: same };
  const alone = withConfig(withNames(left, shortName), (names) => names.map(shortName).filter(Boolean));
  return { sketch: { ...alone, claims: [] }, renamed: shortName };
}

interface Moved extends Renamed {
  /** The names of the requests in the other claim. */
  names: readonly string[];
  /** Links that would join two claims, by what they connect: they are gone. */
  cut: readonly string[];
}

/** Move requests to another claim. A link goes with them if all its ends do; else they are taken out of it. */
export function moveRequests(sketch: ClaimSketch, moved: readonly string[], claim: string): Moved {
  const going = moved.filter((name) => claimOf(name) !== claim);
  const names = new Map<string, string>();
  let next = sketch;
  const cut: string[] = [];
  for (const link of linksOf(sketch)) {
    const ends = link.requests.map(requestOf);
    if (ends.every((end) => going.includes(end)) || !ends.some((end) => going.includes(end))) continue;
    cut.push(link.requests.map(shortName).join(" + "));
    const apart = withoutReferences({ ...next, links: linksOf(next).filter(({ name }) => name === link.name) }, (one) =>
      going.includes(requestOf(one)),
    );
    // What held two requests together says nothing of one of them alone.
    const kept = linksOf(apart).filter((one) => one.requests.length > 1);
    next = { ...next, links: linksOf(next).flatMap((one) => (one.name === link.name ? kept : [one])) };
  }
  const taken: string[] = [];
  const unused = (name: string) => {
    const own = inClaim(claim, shortName(name));
    const free = freeName(
      { ...sketch, links: [...linksOf(sketch), ...taken.map((one) => ({ name: one, requests: [] }))] },
      own,
    );
    taken.push(free);
    names.set(name, free);
  };
  for (const name of going) unused(name);
  for (const link of linksOf(next)) if (link.requests.every((end) => going.includes(requestOf(end)))) unused(link.name);
  const renamed = (name: string) =>
    (names.get(requestOf(name)) ?? requestOf(name)) + name.slice(requestOf(name).length);
  const config = next.config?.flatMap((entry) => divided(entry, going, renamed));
  const named = withNames(next, renamed);
  return { sketch: { ...named, ...(config ? { config } : {}) }, renamed, names: going.map(renamed), cut };
}

/** Configuration of requests of which some go to another claim: an entry for each claim. */
function divided(
  entry: DeviceClaimConfiguration,
  going: readonly string[],
  renamed: (name: string) => string,
): DeviceClaimConfiguration[] {
  const requests = entry.requests ?? [];
  const [away, here] = [true, false].map((is) => requests.filter((name) => going.includes(requestOf(name)) === is));
  return [here ?? [], (away ?? []).map(renamed)].flatMap((own) => (own.length ? [{ ...entry, requests: own }] : []));
}

/** The places of a drawing whose names have changed. Those under the old names stay, for undo. */
export function renamedPlaces(places: Places, before: ClaimSketch, renamed: (name: string) => string): Places {
  const names = [...requestsOf(before), ...linksOf(before)].flatMap(({ name }) => [name, `link/${name}`]);
  const kept = names.flatMap((key) => {
    const place = places[key];
    const to = key.startsWith("link/") ? `link/${renamed(key.slice(5))}` : renamed(key);
    return place ? [[to, place] as const] : [];
  });
  return { ...places, ...Object.fromEntries(kept) };
}
