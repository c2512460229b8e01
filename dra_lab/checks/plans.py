"""Hold a plan against the rules of DRA, device by device; shares no code with the solver that made it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dra_lab.cel.matching import Matching
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Placement, Plan
from dra_lab.model.pools import devices_on, gather_pools
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask, How, Link, asks, covers
from dra_lab.topology.locality import Locality, level_value, localities


def check_plan(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return every rule that a plan's placements break, as errors; nothing for a plan without placements.

    Checked: each device is on the node, matches class and selectors, tolerates taints, is free, has the capacity and is
    taken once unless it is shareable; counts, All and alternatives; the limit of 32; every must-link; the values of
    the goals. The cluster is to be the one that was planned on, with the device classes that the plan used.
    """
    if not plan.placements:
        return ()
    held = _Held(cluster, plan, release)
    rules = (_known, _eligible, _exclusive, _capacity, _served, _must_links, _goal_values)
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
        gate = self.release.enabled("DRAPartitionableDevices")
        pools = gather_pools(self.cluster, self.plan.node, partitionable_devices=gate)
        return {item.id: item.device for item in devices_on(pools)}

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

    def value(self, device: DeviceID, where: str) -> tuple[str, object] | None:
        value = level_value(self.places[device], where, self.devices[device])
        return None if value is None else (type(value).__name__, value)

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
    """Class, selectors, taints and exclusive use (dra-semantics 3.5 C1, C3, C4, C10)."""
    rules = held.release.enabled("DRADeviceTaintRules")
    for placement in held.plan.placements:
        device, ask = placement.device, held.ways[placement.request]
        if not held.matches(ask, device):
            yield _broken("selector", device, f"it does not match request {ask.reference}")
        if device in held.cluster.allocated.exclusive:
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


def _exclusive(held: _Held) -> Iterator[Finding]:
    """A device is taken once; a shareable one once by each request (3.11, rule 67)."""
    for device, count in Counter(p.device for p in held.plan.placements).items():
        if count > 1 and not held.shareable(device):
            yield _broken("taken-twice", device, f"it is taken {count} times")
    for (request, device), count in Counter((p.request, p.device) for p in held.plan.placements).items():
        if count > 1:
            yield _broken("taken-twice", device, f"request {request} takes it {count} times")


def _capacity(held: _Held) -> Iterator[Finding]:
    """`capacity.requests`: every key of the device, requested or whole, within what is left (3.11, rules 64 to 66)."""
    if not held.release.enabled("DRAConsumableCapacity"):
        return
    for device in dict.fromkeys(p.device for p in held.plan.placements):
        takers = [p for p in held.plan.placements if p.device == device]
        published = held.devices[device].capacity
        for taker in takers:
            lacking = [key for key in held.ways[taker.request].capacity if key not in published]
            if lacking:
                yield _broken("capacity", device, f"it has no capacity {', '.join(lacking)}")
        for key, capacity in published.items():
            asked = sum((_asked(held, p, key) for p in takers), Fraction())
            left = parse_quantity(capacity.value)
            left -= held.cluster.allocated.consumed.get(device, {}).get(key, Fraction())
            if asked > left:
                yield _broken("capacity", device, f"{float(asked):g} of {key} are taken, {float(left):g} are left")


def _asked(held: _Held, placement: Placement, key: str) -> Fraction:
    ask, published = held.ways[placement.request], held.devices[placement.device].capacity[key].value
    if _is_split(held, placement.request):
        return parse_quantity(placement.consumed.get(key, published))
    return parse_quantity(ask.capacity.get(key, published))


def _is_split(held: _Held, reference: str) -> bool:
    """Say whether a request for one large share was split over several devices that together give it."""
    ask, placements = held.ways[reference], held.taken.get(reference, ())
    if ask.all_devices or ask.count != 1 or len(placements) < 2 or len(ask.capacity) != 1:
        return False
    ((key, amount),) = ask.capacity.items()
    given = sum((parse_quantity(p.consumed.get(key, 0)) for p in placements), Fraction())
    return given == parse_quantity(amount)


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
    return [device for device in held.devices if held.matches(ask, device) and _can_give(held, ask, device, now=now)]


def _can_give(held: _Held, ask: Ask, device: DeviceID, *, now: bool) -> bool:
    if not held.release.enabled("DRAConsumableCapacity"):
        return True
    published = held.devices[device].capacity
    taken = held.cluster.allocated.consumed.get(device, {}) if now else {}
    return all(key in published for key in ask.capacity) and all(
        parse_quantity(ask.capacity.get(key, capacity.value)) + taken.get(key, 0) <= parse_quantity(capacity.value)
        for key, capacity in published.items()
    )


def _must_links(held: _Held) -> Iterator[Finding]:
    """`constraints[]`, and what links demand beyond them: pairs, and levels that no attribute tells."""
    for link in held.plan.sketch.links:
        if link.must:
            parts = held.tied(link)
            values = [held.value(device, link.where) for part in parts for device in part]
            if None in values:
                yield _broken("link", link.name, f"a device has no value at {link.where}")
            elif _losses(held, link, parts):
                yield _broken("link", link.name, f"the devices do not keep {link.how} at {link.where}")


def _losses(held: _Held, link: Link, parts: Sequence[tuple[DeviceID, ...]]) -> int:
    """Return 0 for a link that is kept; else 1, or the number of pairwise groups without a common place."""
    values = [held.value(device, link.where) for part in parts for device in part]
    if link.how is not How.PAIRWISE:
        wanted = 1 if link.how is How.TOGETHER else len(values)
        return int(None in values or (bool(values) and len(set(values)) != wanted))
    if len(parts) < 2:
        return 0
    groups = min(len(part) for part in parts)
    shares = [len(part) // groups for part in parts]
    if any(len(part) % groups for part in parts):
        return groups
    wheres = [link.where] if link.must else [link.where, *_also(held, link)]
    return groups - _most_groups(held, wheres, parts, shares)


def _also(held: _Held, link: Link) -> list[str]:
    return [
        other.where
        for other in held.plan.sketch.links
        if other.must and other.how is How.PAIRWISE and set(other.requests) == set(link.requests)
    ]


def _most_groups(
    held: _Held, wheres: Sequence[str], parts: Sequence[tuple[DeviceID, ...]], shares: Sequence[int]
) -> int:
    """Return how many groups find a common place: place by place, what the scarcest part allows."""
    at: list[Counter[tuple[object, ...]]] = []
    for part in parts:
        values = [tuple(held.value(device, where) for where in wheres) for device in part]
        at.append(Counter(value for value in values if None not in value))
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
        if goal.value != values[goal.goal]:
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
