"""Hold a plan against the rules of DRA, device by device; shares no code with the solver that made it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dra_lab.cel.matching import Matching
from dra_lab.checks.plan_amounts import capacity_taken, overdrawn
from dra_lab.drivers import level_attributes
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Placement, Plan
from dra_lab.model.pools import Pool, devices_on, gather_pools
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask, How, Link, asks, covers
from dra_lab.topology.locality import Locality, level_value, localities


def check_plan(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return every rule that a plan's placements break, as errors; nothing for a plan without placements.

    Checked: each device is on the node, matches class and selectors, tolerates taints, is free, has the capacity and is
    taken once unless it is shareable; shared counters; counts, All and alternatives; the limit of 32; every must-link;
    the values of the goals. The cluster is to be the one that was planned on, with the device classes of the plan.
    """
    if not plan.placements:
        return ()
    held = _Held(cluster, plan, release)
    rules = (_known, _eligible, _exclusive, _capacity, _counters, _served, _must_links, _goal_values)
    found: list[Finding] = []
    for rule in rules:
        found.extend(rule(held))
        if found and rule is _known:
            break
    return sort_findings(found)


@dataclass(frozen=True)
class _Held:
    """A plan beside what it is held against."""

    cluster: Cluster
    plan: Plan
    release: KubernetesRelease

    @cached_property
    def devices(self) -> Mapping[DeviceID, Device]:
        return {item.id: item.device for item in devices_on(self.pools)}

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        gate = self.release.enabled("DRAPartitionableDevices")
        return gather_pools(self.cluster, self.plan.node, partitionable_devices=gate)

    @cached_property
    def places(self) -> Mapping[DeviceID, Locality]:
        return localities(self.cluster, self.plan.node)

    @cached_property
    def matching(self) -> Matching:
        return Matching(self.cluster, self.release)

    @cached_property
    def ways(self) -> Mapping[str, Ask]:
        return {ask.reference: ask for request in self.plan.sketch.requests for ask in asks(request)}

    @cached_property
    def taken(self) -> Mapping[str, tuple[Placement, ...]]:
        """Return the placements by reference."""
        found: dict[str, list[Placement]] = defaultdict(list)
        for placement in self.plan.placements:
            found[placement.request].append(placement)
        return {reference: tuple(placements) for reference, placements in found.items()}

    def shareable(self, device: DeviceID) -> bool:
        return bool(self.devices[device].allow_multiple_allocations) and self.release.enabled("DRAConsumableCapacity")

    def matches(self, ask: Ask, device: DeviceID) -> bool:
        return self.matching.match(ask, device.driver, self.devices[device]).stage == "match"

    def values(self, device: DeviceID, link: Link) -> frozenset[tuple[str, object]]:
        """Return all values at a link's place: several for a list with DRAListTypeAttributes (3.9 M7), else one."""
        published = self.devices[device]
        names = level_attributes(device.driver, link.where) if link.is_level else (link.where,)
        found = next((a for name in names if (a := published.lookup(name, device.driver)) is not None), None)
        if found is not None and isinstance(found.value, tuple) and self.release.enabled("DRAListTypeAttributes"):
            plain = [int(v) if link.is_level and isinstance(v, str) and v.isdecimal() else v for v in found.value]
            return frozenset((type(v).__name__ if link.is_level else found.kind.rstrip("s"), v) for v in plain)
        value = level_value(self.places[device], link.where, published)
        if value is not None:
            return frozenset({(type(value).__name__ if link.is_level or found is None else found.kind, value)})
        # A list that the release does not read equals nothing, and every other list where values must differ (M6).
        unread = found is not None and found.is_list
        return frozenset({("", "" if link.how is How.APART else device)}) if unread else frozenset()

    def tied(self, link: Link) -> list[tuple[DeviceID, ...]]:
        """Return the devices that a link ties, one part for each request; parts of a split request stand alone."""
        parts: list[tuple[DeviceID, ...]] = []
        for name, placements in self.taken.items():
            if any(covers(reference, self.ways[name]) for reference in link.requests):
                members = tuple(p.device for p in placements)
                parts.extend([(m,) for m in members] if _is_split(self, name) else [members])
        return parts


def _broken(rule: str, subject: object, message: str) -> Finding:
    return Finding(f"plan-{rule}", Severity.ERROR, str(subject), message, "Please report the claim and the cluster.")


def _known(held: _Held) -> Iterator[Finding]:
    """Placements name a request of the drawing and a device that the node sees."""
    for placement in held.plan.placements:
        if placement.request not in held.ways:
            yield _broken("request", placement.request, "the drawing has no such request")
        if placement.device not in held.devices:
            yield _broken("device", placement.device, f"node {held.plan.node} does not see this device")


def _eligible(held: _Held) -> Iterator[Finding]:
    """Class, selectors, gates, taints and exclusive use (3.5 C1 to C4, C8, C10); admin access may take what is held."""
    rules = held.release.enabled("DRADeviceTaintRules")
    for placement in held.plan.placements:
        device, ask = placement.device, held.ways[placement.request]
        if not held.matches(ask, device):
            yield _broken("selector", device, f"it does not match request {ask.reference}")
        if not _is_visible(held, device):
            yield _broken("gate", device, "a feature gate that is off hides it")
        if device in held.cluster.allocated.exclusive and not ask.admin_access:
            yield _broken("in-use", device, f"claim {held.cluster.allocated.exclusive[device]} holds it")
        if not held.release.enabled("DRADeviceTaints"):
            continue
        for taint in held.cluster.taints_of(device, held.devices[device], rules=rules):
            if taint.effect in ("NoSchedule", "NoExecute") and not any(
                t.key in ("", taint.key)
                and t.effect in ("", taint.effect)
                and (t.operator == "Exists" or t.value == taint.value)
                for t in ask.tolerations
            ):
                yield _broken("taint", device, f"request {ask.reference} does not tolerate {taint}")


def _is_visible(held: _Held, device: DeviceID) -> bool:
    published, gate = held.devices[device], held.release.enabled
    if published.binding_conditions and not gate("DRADeviceBindingConditions"):
        return False
    grouped = any(use.compatibility_groups for use in published.consumes_counters)
    if grouped and held.release.version == "1.37" and not gate("DRADeviceCompatibilityGroups"):
        return False
    return gate("DRAPartitionableDevices") or not published.consumes_counters


def _exclusive(held: _Held) -> Iterator[Finding]:
    """A device is taken once; a shareable one once by each request (3.11, rule 67)."""
    for device, count in Counter(p.device for p in held.plan.placements).items():
        if count > 1 and not held.shareable(device):
            yield _broken("taken-twice", device, f"it is taken {count} times")
    for (request, device), count in Counter((p.request, p.device) for p in held.plan.placements).items():
        # The parts of a split request are requests of their own.
        if count > 1 and not _is_split(held, request):
            yield _broken("taken-twice", device, f"request {request} takes it {count} times")


def _capacity(held: _Held) -> Iterator[Finding]:
    """`capacity`: every key of the device, by request and `requestPolicy`, within what is left (3.11, 64 to 66)."""
    if not held.release.enabled("DRAConsumableCapacity"):
        return
    for device in dict.fromkeys(p.device for p in held.plan.placements):
        takers = [p for p in held.plan.placements if p.device == device]
        taken = [_taken(held, taker) for taker in takers]
        for taker, amounts in zip(takers, taken, strict=True):
            if amounts is None:
                yield _broken("capacity", device, f"it cannot give what request {taker.request} asks for")
            elif any(parse_quantity(v) != amounts.get(k) for k, v in taker.consumed.items()):
                yield _broken("capacity", device, f"request {taker.request} does not consume what the plan says")
        for key, capacity in held.devices[device].capacity.items():
            asked = sum((amounts[key] for amounts in taken if amounts is not None), Fraction())
            left = parse_quantity(capacity.value)
            left -= held.cluster.allocated.consumed.get(device, {}).get(key, Fraction())
            if asked > left:
                yield _broken("capacity", device, f"{float(asked):g} of {key} are taken, {float(left):g} are left")


def _taken(held: _Held, placement: Placement) -> dict[str, Fraction] | None:
    ask = held.ways[placement.request]
    parts = len(held.taken[placement.request]) if _is_split(held, placement.request) else 1
    amounts = {key: parse_quantity(amount) / parts for key, amount in ask.capacity.items()}
    return capacity_taken(held.devices[placement.device], amounts, held.release)


def _counters(held: _Held) -> Iterator[Finding]:
    """`consumesCounters`: what the devices draw is left, in pools of which no counter is overdrawn (3.10)."""
    shares = held.cluster.allocated.shares
    for pool in held.pools:
        mine = dict.fromkeys(p.device for p in held.plan.placements if p.device[:2] == (pool.driver, pool.name))
        # A device with shares has paid with the first of them (rule 60).
        pays = [held.devices[d] for d in mine if not (held.shareable(d) and d in shares)]
        pays = [device for device in pays if device.consumes_counters]
        for counter, drawn, left in overdrawn(held.cluster, pool, held.cluster.allocated, pays) if pays else ():
            text = f"{float(drawn):g} of counter {counter} are drawn, {float(left):g} are left"
            yield _broken("counters", f"{pool.driver}/{pool.name}", text)


def _is_split(held: _Held, reference: str) -> bool:
    """Say whether a request for one large share was split over several devices that together give it."""
    ask, placements = held.ways[reference], held.taken.get(reference, ())
    if ask.all_devices or ask.count != 1 or len(placements) < 2 or len(ask.capacity) != 1:
        return False
    ((key, amount),) = ask.capacity.items()
    part = {key: parse_quantity(amount) / len(placements)}
    for placement in placements:
        amounts = capacity_taken(held.devices[placement.device], part, held.release)
        told = amounts is not None and amounts[key] == parse_quantity(placement.consumed.get(key, 0))
        if amounts is None or (held.shareable(placement.device) and not told):
            return False
    return any(placement.consumed for placement in placements)


def _served(held: _Held) -> Iterator[Finding]:
    """`count`, `allocationMode`, `firstAvailable` and the limit of 32 devices."""
    if len(held.plan.placements) > MAX_DEVICES:
        yield _broken("limit", "claim", f"{len(held.plan.placements)} devices are more than {MAX_DEVICES}")
    for request in held.plan.sketch.requests:
        used = [reference for reference in held.taken if split_request(reference)[0] == request.name]
        if len(used) != 1:
            yield _broken("alternative", request.name, f"it is served in {len(used)} ways")
            continue
        ask, have = held.ways[used[0]], len(held.taken[used[0]])
        wanted = len(_all_devices(held, ask)) if ask.all_devices else ask.count
        if have != wanted and not _is_split(held, used[0]):
            yield _broken("count", ask.reference, f"{have} devices are taken, {wanted} are asked for")


def _all_devices(held: _Held, ask: Ask) -> Sequence[DeviceID]:
    """Return the devices that All means: what matches and, up to 1.36, has the capacity now (3.6, rule 31)."""
    now = held.release.version in ("1.34", "1.35", "1.36")
    return [
        device
        for device in held.devices
        if held.matches(ask, device) and _is_listed(held, device) and _can_give(held, ask, device, now=now)
    ]


def _is_listed(held: _Held, device: DeviceID) -> bool:
    # Devices with counters stay listed while their gate is off, and make the request fail (rule 28).
    return _is_visible(held, device) or not held.release.enabled("DRAPartitionableDevices")


def _can_give(held: _Held, ask: Ask, device: DeviceID, *, now: bool) -> bool:
    if not held.release.enabled("DRAConsumableCapacity"):
        return True
    amounts = capacity_taken(held.devices[device], ask.capacity, held.release)
    taken = held.cluster.allocated.consumed.get(device, {}) if now else {}
    return amounts is not None and all(
        amounts[key] + taken.get(key, 0) <= parse_quantity(capacity.value)
        for key, capacity in held.devices[device].capacity.items()
    )


def _must_links(held: _Held) -> Iterator[Finding]:
    """`constraints[]`, and what links demand beyond them: pairs, and levels that no attribute tells."""
    for link in held.plan.sketch.links:
        if link.must:
            parts = held.tied(link)
            if not all(held.values(device, link) for part in parts for device in part):
                yield _broken("link", link.name, f"a device has no value at {link.where}")
            elif _losses(held, link, parts):
                yield _broken("link", link.name, f"the devices do not keep {link.how} at {link.where}")


def _losses(held: _Held, link: Link, parts: Sequence[tuple[DeviceID, ...]]) -> int:
    """Return 0 for a link that is kept; else 1, or the number of pairwise groups without a common place."""
    values = [held.values(device, link) for part in parts for device in part]
    if link.how is How.TOGETHER:
        return int(bool(values) and not frozenset.intersection(*values))
    if link.how is How.APART:
        clashes = any(not a.isdisjoint(b) for a, b in combinations(values, 2))
        return int(clashes or not all(values))
    if len(parts) < 2:
        return 0
    groups = min(len(part) for part in parts)
    shares = [len(part) // groups for part in parts]
    if any(len(part) % groups for part in parts):
        return groups
    links = [link] if link.must else [link, *_also(held, link)]
    return groups - _most_groups(held, links, parts, shares)


def _also(held: _Held, link: Link) -> list[Link]:
    return [
        other
        for other in held.plan.sketch.links
        if other.must and other.how is How.PAIRWISE and set(other.requests) == set(link.requests)
    ]


def _most_groups(
    held: _Held, links: Sequence[Link], parts: Sequence[tuple[DeviceID, ...]], shares: Sequence[int]
) -> int:
    """Return how many groups find a common place: place by place, what the scarcest part allows."""
    at: list[Counter[tuple[object, ...]]] = []
    for part in parts:
        values = [tuple(tuple(held.values(device, link)) for link in links) for device in part]
        at.append(Counter(value for value in values if all(value)))
    return sum(min(c[v] // s for c, s in zip(at, shares, strict=True)) for v in set().union(*at))


def _goal_values(held: _Held) -> Iterator[Finding]:
    """The goals as design 5 defines them."""
    chosen = [held.places[device] for device in dict.fromkeys(p.device for p in held.plan.placements)]
    values = {
        "alternatives": sum(held.ways[reference].rank for reference in held.taken),
        "preferences": sum(_losses(held, link, held.tied(link)) for link in held.plan.sketch.links if not link.must),
        "numa": _spanned([place for place in chosen if place.kind in ("gpu", "nic", "cpu")], "numaNode"),
        "unpaired": _unpaired(held, chosen),
        "roots": _spanned([place for place in chosen if place.kind in ("gpu", "nic")], "pcieRoot"),
    }
    for goal in held.plan.goals:
        # What is left for other replicas (`damage`) is not decided by these devices alone.
        if goal.goal in values and goal.value != values[goal.goal]:
            yield _broken("goal", goal.goal, f"the plan says {goal.value}, its devices have {values[goal.goal]}")


def _spanned(chosen: Sequence[Locality], level: str) -> int:
    places = [locality.place(level) for locality in chosen]
    return len({place.value for place in places if place is not None}) + places.count(None)


def _unpaired(held: _Held, chosen: Sequence[Locality]) -> int:
    gpus = [locality.pcie_root for locality in chosen if locality.kind == "gpu"]
    nics = Counter(locality.pcie_root.value for locality in chosen if locality.kind == "nic" and locality.pcie_root)
    if not gpus or not _asks_for_nics(held):
        return 0
    known = Counter(root.value for root in gpus if root is not None)
    return gpus.count(None) + sum(max(0, count - nics[root]) for root, count in known.items())


def _asks_for_nics(held: _Held) -> bool:
    """Say whether some request may take a NIC anywhere in the cluster; a claim without has no GPU to pair."""
    for node in held.cluster.node_names:
        places = localities(held.cluster, node)
        for item in devices_on(gather_pools(held.cluster, node)):
            if places[item.id].kind == "nic" and any(
                held.matching.match(ask, item.driver, item.device).stage == "match" for ask in held.ways.values()
            ):
                return True
    return False
