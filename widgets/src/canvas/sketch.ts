// The edits of a drawing, each a pure function from one sketch to the next. What a sketch means is decided in Python.
import {
  type ClaimSketch,
  type DeviceRequest,
  type DeviceSubRequest,
  type ExactDeviceRequest,
  LINK_KINDS,
  type Link,
  type PaletteRow,
} from "../generated/models";

export type How = NonNullable<Link["how"]>;
const MARK = ":";

export const claimsOf = (sketch: ClaimSketch): readonly string[] => sketch.claims ?? [];
/** The claim that a request or link belongs to; "" in a drawing of one claim. */
export const claimOf = (name: string): string => (name.includes(MARK) ? (name.split(MARK)[0] ?? "") : "");
/** The name of a request or link in its claim. */
export const shortName = (name: string): string => name.slice(name.indexOf(MARK) + 1);
export const inClaim = (claim: string, name: string): string => (claim ? claim + MARK + name : name);

/** One way to serve a request: `exactly`, or an entry of `firstAvailable`. */
export type Part = ExactDeviceRequest | DeviceSubRequest;
export const ALL = "All";

export const requestsOf = (sketch: ClaimSketch): readonly DeviceRequest[] => sketch.requests ?? [];
export const linksOf = (sketch: ClaimSketch): readonly Link[] => sketch.links ?? [];
export const partsOf = (request: DeviceRequest): readonly Part[] =>
  request.exactly ? [request.exactly] : (request.firstAvailable ?? []);
export const requestNamed = (sketch: ClaimSketch, name: string) => requestsOf(sketch).find((r) => r.name === name);
export const linkNamed = (sketch: ClaimSketch, name: string) => linksOf(sketch).find((l) => l.name === name);
/** The request of a link's reference, which is `request` or `request/alternative`. */
export const requestOf = (reference: string): string => reference.split("/")[0] ?? reference;
export const whereOf = (link: Link): string => link.where ?? "pcieRoot";
const leastEnds = (how: How): number => LINK_KINDS.find((kind) => kind.value === how)?.leastEnds ?? 1;
export const howOf = (link: Link): How => link.how ?? "together";
export const mustOf = (link: Link): boolean => link.must ?? true;
export const countOf = (part: Part): number => part.count || 1;
export const isAll = (part: Part): boolean => part.allocationMode === ALL;
export const selectorsOf = (part: Part): string[] => (part.selectors ?? []).map((s) => s.cel?.expression ?? "");

/** The amount that a request asks of each device, where it asks for exactly one kind of amount. */
export function amountOf(part: Part): { key: string; amount: string } | null {
  const entries = Object.entries(part.capacity?.requests ?? {});
  const only = entries.length === 1 ? entries[0] : undefined;
  return only ? { key: only[0], amount: String(only[1]) } : null;
}

/** A name that no request and no link of the drawing has: the stem itself, else stem-2, stem-3, ... */
export function freeName(sketch: ClaimSketch, stem: string, always = false): string {
  const taken = new Set([...requestsOf(sketch), ...linksOf(sketch)].map((item) => item.name));
  if (!always && !taken.has(stem)) return stem;
  for (let n = always ? 1 : 2; ; n++) if (!taken.has(`${stem}-${n}`)) return `${stem}-${n}`;
}

const STEMS: Record<string, string> = { gpu: "gpu", nic: "nic", cpu: "cpu", memory: "memory" };

export function addRequest(sketch: ClaimSketch, row: PaletteRow, claim = ""): { sketch: ClaimSketch; name: string } {
  const name = freeName(sketch, inClaim(claim, STEMS[row.kind ?? ""] ?? "device"));
  const exactly: ExactDeviceRequest = {
    deviceClassName: row.deviceClass,
    ...(row.selectors?.length ? { selectors: row.selectors.map((expression) => ({ cel: { expression } })) } : {}),
    count: row.defaultCount ?? 1,
    ...(row.capacityKey ? { capacity: { requests: { [row.capacityKey]: row.defaultCapacity || "1" } } } : {}),
  };
  return { sketch: { ...sketch, requests: [...requestsOf(sketch), { name, exactly }] }, name };
}

export function changePart(
  sketch: ClaimSketch,
  name: string,
  index: number,
  change: Partial<ExactDeviceRequest>,
): ClaimSketch {
  return {
    ...sketch,
    requests: requestsOf(sketch).map((request) => {
      if (request.name !== name) return request;
      if (request.exactly) return { ...request, exactly: pruned({ ...request.exactly, ...change }) };
      const ways = request.firstAvailable ?? [];
      const { adminAccess: _notForAlternatives, ...shared } = change;
      return { ...request, firstAvailable: ways.map((way, i) => (i === index ? pruned({ ...way, ...shared }) : way)) };
    }),
  };
}

/** Leave out what says nothing, as the API would: empty lists, false, null. */
function pruned<T extends object>(part: T): T {
  const says = ([, value]: [string, unknown]) =>
    value !== undefined &&
    value !== null &&
    value !== "" &&
    value !== false &&
    !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(part).filter(says)) as T;
}

export const selectorsFrom = (texts: readonly string[]) =>
  texts.filter((text) => text.trim()).map((expression) => ({ cel: { expression } }));

/** Turn a request into one with a further way to serve it, tried after the others. */
export function addAlternative(sketch: ClaimSketch, name: string): ClaimSketch {
  const change = (request: DeviceRequest): DeviceRequest => {
    const ways: readonly DeviceSubRequest[] = request.exactly
      ? [{ ...withoutAdmin(request.exactly), name: "first" }]
      : (request.firstAvailable ?? []);
    const last = ways[ways.length - 1];
    if (!last) return request;
    const names = new Set(ways.map((way) => way.name));
    let n = ways.length + 1;
    while (names.has(`choice-${n}`)) n++;
    return { name: request.name, firstAvailable: [...ways, { ...last, name: `choice-${n}` }] };
  };
  return { ...sketch, requests: requestsOf(sketch).map((r) => (r.name === name ? change(r) : r)) };
}

function withoutAdmin({ adminAccess: _dropped, ...rest }: ExactDeviceRequest): Omit<DeviceSubRequest, "name"> {
  return rest;
}

/** Try a way earlier (-1) or later (1) than now. */
export function moveAlternative(sketch: ClaimSketch, name: string, index: number, by: -1 | 1): ClaimSketch {
  const ways = [...(requestNamed(sketch, name)?.firstAvailable ?? [])];
  const [one, other] = [ways[index], ways[index + by]];
  if (!one || !other) return sketch;
  [ways[index], ways[index + by]] = [other, one];
  return { ...sketch, requests: requestsOf(sketch).map((r) => (r.name === name ? { ...r, firstAvailable: ways } : r)) };
}

/** Drop one way; with one left the request asks exactly for that. Links to the dropped way are untied. */
export function removeAlternative(sketch: ClaimSketch, name: string, index: number): ClaimSketch {
  const gone: string[] = [];
  const requests = requestsOf(sketch).map((request): DeviceRequest => {
    if (request.name !== name || !request.firstAvailable) return request;
    const rest = request.firstAvailable.filter((_, i) => i !== index);
    const dropped = request.firstAvailable[index];
    if (dropped) gone.push(`${name}/${dropped.name}`);
    const [only] = rest;
    if (rest.length !== 1 || !only) return { name, firstAvailable: rest };
    gone.push(`${name}/${only.name}`);
    const { name: _alone, ...exactly } = only;
    return { name, exactly };
  });
  return withoutReferences({ ...sketch, requests }, (reference) => gone.includes(reference));
}

export function withoutReferences(sketch: ClaimSketch, isGone: (reference: string) => boolean): ClaimSketch {
  const links = linksOf(sketch)
    .map((link) => {
      const requests = link.requests.filter((reference) => !isGone(reference));
      if (requests.length === link.requests.length) return link;
      // A pair of one is no pair: what is left says that its own devices are together.
      return {
        ...link,
        requests,
        ...(requests.length < leastEnds(howOf(link)) ? { how: "together" as const } : {}),
      };
    })
    .filter((link) => link.requests.length > 0);
  return { ...sketch, links };
}

export interface Removal {
  requests?: readonly string[];
  links?: readonly string[];
  ends?: readonly { link: string; reference: string }[];
}

/** Take requests, links and single ends out; a link without ends goes as well. */
export function remove(sketch: ClaimSketch, { requests = [], links = [], ends = [] }: Removal): ClaimSketch {
  let next: ClaimSketch = {
    ...sketch,
    requests: requestsOf(sketch).filter((r) => !requests.includes(r.name)),
    links: linksOf(sketch).filter((l) => !links.includes(l.name)),
  };
  next = withoutReferences(next, (reference) => requests.includes(requestOf(reference)));
  for (const end of ends) {
    const apart = linksOf(next).filter((l) => l.name === end.link);
    const kept = withoutReferences({ ...next, links: apart }, (reference) => reference === end.reference);
    next = { ...next, links: linksOf(next).flatMap((l) => (l.name === end.link ? linksOf(kept) : [l])) };
  }
  return next;
}

/** Give a request another name, in its links and configuration as well. */
export function rename(sketch: ClaimSketch, from: string, to: string): ClaimSketch {
  const moved = (reference: string) => (requestOf(reference) === from ? to + reference.slice(from.length) : reference);
  return {
    ...sketch,
    requests: requestsOf(sketch).map((r) => (r.name === from ? { ...r, name: to } : r)),
    links: linksOf(sketch).map((l) => ({ ...l, requests: l.requests.map(moved) })),
    ...(sketch.config ? { config: sketch.config.map((c) => ({ ...c, requests: (c.requests ?? []).map(moved) })) } : {}),
  };
}

export interface NewLink {
  requests: readonly string[];
  where: string;
  how: How;
}

export function addLink(sketch: ClaimSketch, link: NewLink): { sketch: ClaimSketch; name: string } {
  const name = freeName(sketch, inClaim(claimOf(link.requests[0] ?? ""), "link"), true);
  return { sketch: { ...sketch, links: [...linksOf(sketch), { name, ...link, must: true }] }, name };
}

export function changeLink(sketch: ClaimSketch, name: string, change: Partial<Link>): ClaimSketch {
  return { ...sketch, links: linksOf(sketch).map((l) => (l.name === name ? { ...l, ...change } : l)) };
}

/** Tie a further request to a link; the same sketch where it is tied already. */
export function tie(sketch: ClaimSketch, name: string, reference: string): ClaimSketch {
  const link = linkNamed(sketch, name);
  if (!link || link.requests.some((r) => requestOf(r) === requestOf(reference))) return sketch;
  return changeLink(sketch, name, { requests: [...link.requests, reference] });
}

/** The number of devices that a request asks for in one way; null for alternatives and for all that match. */
function countIn(sketch: ClaimSketch, name: string): number | null {
  const request = requestNamed(sketch, name);
  const [part, ...others] = request ? partsOf(request) : [];
  return part && !others.length && !isAll(part) ? countOf(part) : null;
}

/** The requests whose counts move together with one: linked one to one with it, directly or through others. */
export function partnersOf(sketch: ClaimSketch, name: string): readonly string[] {
  const found = new Set([name]);
  for (const one of found)
    for (const link of linksOf(sketch)) {
      const ends = link.requests.map(requestOf);
      if (howOf(link) === "pairwise" && ends.includes(one)) for (const end of ends) found.add(end);
    }
  found.delete(name);
  return [...found].filter((one) => countIn(sketch, one) !== null);
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** How many devices of a request belong to one group of its one-to-one links: 2 where two GPUs share a NIC. */
function shareOf(sketch: ClaimSketch, name: string): number {
  const own = countIn(sketch, name) ?? 1;
  return own / partnersOf(sketch, name).reduce((all, one) => divisor(all, countIn(sketch, one) ?? 1), own);
}

/**
 * Ask for another number of devices. The other ends of one-to-one links keep their ratio, unless the change is `alone`
 * or the ratio cannot be kept.
 */
export function withCount(sketch: ClaimSketch, name: string, count: number, alone = false): ClaimSketch {
  const share = shareOf(sketch, name);
  const own = countIn(sketch, name);
  if (own === null || count < 1) return sketch;
  const others = alone || count % share ? [] : partnersOf(sketch, name);
  return others.reduce(
    (next, other) => changePart(next, other, 0, { count: ((countIn(sketch, other) ?? 1) * count) / own }),
    changePart(sketch, name, 0, { count }),
  );
}

/** One group more or one less: of the devices, or one unit of the amount where the devices are shared by amount. */
export function step(sketch: ClaimSketch, name: string, by: number, alone = false): ClaimSketch {
  const request = requestNamed(sketch, name);
  const part = request && partsOf(request)[0];
  if (!part || (request?.firstAvailable?.length ?? 0) > 1 || isAll(part)) return sketch;
  const amount = amountOf(part);
  if (!amount) {
    const share = alone ? 1 : shareOf(sketch, name);
    const group = countOf(part) + by * share;
    return group > 0 ? withCount(sketch, name, group, alone) : withCount(sketch, name, countOf(part) + by, true);
  }
  const stepped = stepQuantity(amount.amount, by);
  return stepped === null ? sketch : changePart(sketch, name, 0, { capacity: { requests: { [amount.key]: stepped } } });
}

/**
 * A quantity one whole unit of its own suffix more or less ("16", "40Gi"); null below one or where it is no such text.
 */
export function stepQuantity(text: string, by: number): string | null {
  const match = /^(\d+)([A-Za-z]*)$/.exec(text.trim());
  if (!match) return null;
  const value = Number(match[1]) + by;
  return value < 1 || !Number.isSafeInteger(value) ? null : `${value}${match[2] ?? ""}`;
}
