"""Which devices of a node may serve each way of asking, why the others may not, and the fields that are refused."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.cel.matching import Matching
from dra_lab.drivers.profiles import profile
from dra_lab.errors import UnsupportedFeature
from dra_lab.index.in_use import allocated_alone, held_alone
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import Pool, PoolDevice, Tie, devices_on, pools_of, tie_of
from dra_lab.model.claims import AllocatedDevices, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, part_of, split_request
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import LIST_ATTRIBUTES, Gates, KubernetesRelease, gates_of
from dra_lab.model.sketch import Ask, ClaimSketch, Link, asks, covers
from dra_lab.planner.node.device_tests import (
    Amounts,
    CounterBooks,
    Stage,
    counter_books,
    device_use,
    hiding_gate,
    is_tolerated,
    why_not_all,
)


class AskEligibility(Struct, frozen=True):
    """One ask on one node.

    `stages` maps every device that was looked at to the first test that it fails (FREE: none). `uses` is what the ask
    would take of each shareable device. `listed` are the devices of an ask for All (docs/semantics.md 3.6). `errors`
    are those on which a selector fails at run time, with the message. `blocked` is the reason why the ask cannot be
    served here.
    """

    ask: Ask
    stages: Mapping[DeviceID, Stage]
    uses: Mapping[DeviceID, Amounts] = field(default_factory=dict)
    listed: tuple[DeviceID, ...] = ()
    errors: tuple[tuple[DeviceID, str, str], ...] = ()
    blocked: str = ""

    @property
    def devices(self) -> tuple[DeviceID, ...]:
        """Return the devices that the ask may take, in kube-scheduler's order."""
        return tuple(device for device, stage in self.stages.items() if stage is Stage.FREE)

    def passing(self, test: Stage) -> int:
        """Return how many devices pass a test and those before it."""
        return sum(1 for reached in self.stages.values() if reached > test)


class NodeEligibility(Struct, frozen=True):
    """All asks on one node; `seen` are the devices that passed class and selectors of some ask.

    `remaining` is what is left of capacity, `books` what is left of shared counters; `lists` says whether list-typed
    attributes count (gate DRAListTypeAttributes); `ties` is empty unless some device has a node selector of many terms.
    """

    node: str
    asks: tuple[AskEligibility, ...]
    seen: Mapping[DeviceID, Device]
    remaining: Mapping[DeviceID, Amounts]
    pools: tuple[Pool, ...] = ()
    books: CounterBooks = field(default_factory=CounterBooks)
    lists: bool = False
    ties: Mapping[DeviceID, Tie] = field(default_factory=dict)


class Rules(Struct, frozen=True, dict=True):
    """The inputs of eligibility besides the node: the claim, the release's gates, and what is in use.

    `idle` looks at the cluster as if no claim held a device. `held` replaces what was read as held. `replicas` is how
    many identical pods may be on one node at once: devices that only several of them can use must still be
    distinguished. `only` are the nodes on which pods may start, None for all.
    """

    cluster: Cluster
    sketch: ClaimSketch
    release: KubernetesRelease
    matching: Matching
    idle: bool = False
    held: AllocatedDevices | None = None
    replicas: int = 1
    only: frozenset[str] | None = None

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of the nodes that are examined, sorted: all, or those in `only`."""
        names = self.cluster.node_names
        return names if self.only is None else tuple(name for name in names if name in self.only)

    @cached_property
    def allocated(self) -> AllocatedDevices:
        """Return what counts as in use."""
        if self.idle:
            return AllocatedDevices()
        if not self.gates.from_1_38:
            return self.cluster.allocated if self.held is None else self.held
        return allocated_alone(self.cluster) if self.held is None else held_alone(self.cluster, self.held)

    @cached_property
    def gates(self) -> Gates:
        """Return what the release changes."""
        return gates_of(self.release)

    @property
    def lists(self) -> bool:
        """Say whether list-typed attributes count in links: the gate, as meant, also where 1.36 forgets it.

        Rule: docs/semantics.md 3.9.12.
        """
        return self.release.enabled(LIST_ATTRIBUTES)

    @cached_property
    def claims(self) -> int:
        """Return the number of claims that are planned together."""
        return len({part_of(request.name)[0] for request in self.sketch.requests}) or 1

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes on which links hold, levels apart."""
        return tuple(dict.fromkeys(link.where for link in self.sketch.links if not link.is_level))

    @cached_property
    def asks(self) -> tuple[Ask, ...]:
        """Return every way to serve every request, in the claim's order."""
        return tuple(ask for request in self.sketch.requests for ask in asks(request))

    @cached_property
    def selecting(self) -> tuple[Ask, ...]:
        """Return one ask of all that have the same class and selectors."""
        return tuple({(ask.device_class_name, ask.selectors): ask for ask in reversed(self.asks)}.values())[::-1]


def rules_of(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, only: frozenset[str] | None = None
) -> Rules:
    """Return the rules of a claim. Raises CelCompileError for a selector that does not compile."""
    rules = Rules(cluster, sketch, release, node_index(cluster, release).matching, only=only)
    for problem in (p for ask in rules.asks for p in rules.matching.problems(ask)):
        raise problem
    return rules


def eligibility(rules: Rules, node_name: str) -> NodeEligibility:
    """Return which devices of a node may serve each ask, and at which test the others fail.

    Needs one pass over the devices that the node sees (`gather_pools`); raises CelCompileError for a selector that
    does not compile.
    """
    pools = pools_of(rules.cluster, node_name, rules.gates)
    devices = tuple(devices_on(pools))
    consumable = rules.gates.consumable_capacity
    remaining = {item.id: _remaining(rules, item) for item in devices if item.device.capacity} if consumable else {}
    shares = rules.allocated.shares
    shared = {item.id for item in devices if item.id in shares and is_shareable(item.device, rules)} if shares else {}
    books = counter_books(
        rules.cluster,
        pools if rules.gates.partitionable_devices else (),
        rules.allocated,
        frozenset(shared),
        rules.claims * rules.replicas,
        skip_groups=rules.gates.skip_groups,
    )
    state = _State(devices, remaining, pools, books)
    found = _all_or_none(tuple(_asks(rules, state)), pools)
    seen = {
        item.id: item.device
        for item in devices
        if any(part.stages.get(item.id, Stage.CLASS) > Stage.SELECTOR for part in found)
    }
    left = {i: a for i, a in remaining.items() if i in seen}
    ties = {item.id: tie_of(item) for item in devices if item.slice.spec.node_name is None and item.id in seen}
    ties = ties if Tie.TERMS in ties.values() else {}
    return NodeEligibility(node_name, found, seen, left, pools, books, rules.lists, ties)


def _all_or_none(found: tuple[AskEligibility, ...], pools: Sequence[Pool]) -> tuple[AskEligibility, ...]:
    """Block every alternative to an ask for all devices that cannot be told: a broken pool, a failing selector.

    kube-scheduler then gives up the pod before any search, also for an alternative that it would never reach
    (docs/semantics.md 3.4.7, 3.4.8, 3.6.9). The other requests can be served by themselves, and are not what is in the
    way.
    """
    every = [part for part in found if part.ask.all_devices and part.blocked]
    if not every:
        return found
    whole = all(pool.complete and not pool.invalid for pool in pools)
    stuck = {part.ask.request: part.blocked for part in every if part.errors or not whole}
    blocked = [part.blocked or stuck.get(part.ask.request, "") for part in found]
    return tuple(replace(part, blocked=why) for part, why in zip(found, blocked, strict=True))


class _State(Struct, frozen=True):
    """What a node offers now."""

    devices: tuple[PoolDevice, ...]
    remaining: Mapping[DeviceID, Amounts]
    pools: tuple[Pool, ...]
    books: CounterBooks


def _remaining(rules: Rules, item: PoolDevice) -> Amounts:
    whole = {key: parse_quantity(capacity.value) for key, capacity in item.device.capacity.items()}
    taken = rules.allocated.consumed.get(item.id)
    # Nearly all devices are untouched, and subtracting nothing from fractions takes longer than all the rest.
    return {key: amount - taken.get(key, 0) for key, amount in whole.items()} if taken else whole


def _asks(rules: Rules, state: _State) -> Iterator[AskEligibility]:
    """Yield what each ask may take; those that ask for the same, as replicas do, are looked at once."""
    known: dict[Hashable, AskEligibility] = {}
    for ask in rules.asks:
        same = ask.device_class_name, ask.selectors, ask.tolerations, ask.admin_access, tuple(ask.capacity.items())
        found = known.get(same)
        # the message about a failing selector, or about a request for all, names the request
        if found is None or found.errors or ask.all_devices:
            found = _ask(rules, ask, state)
            if not ask.all_devices:
                known[same] = found
            yield found
        else:
            yield replace(found, ask=ask, blocked=_refusal(rules, ask))


def _ask(rules: Rules, ask: Ask, state: _State) -> AskEligibility:
    stages: dict[DeviceID, Stage] = {}
    uses: dict[DeviceID, Amounts] = {}
    errors: list[tuple[DeviceID, str, str]] = []
    driver, match_of = "", rules.matching.matcher(ask, "")
    for item in state.devices:
        if item.driver != driver:
            driver, match_of = item.driver, rules.matching.matcher(ask, item.driver)
        match, use = match_of(item.device), None
        if match.stage == "error":
            errors.append((item.id, match.expression, match.error))
        if match.stage != "match":
            own = match.stage == "selector" or (match.stage == "error" and match.expression in ask.selectors)
            stages[item.id] = Stage.SELECTOR if own else Stage.CLASS
        elif hiding_gate(rules.gates, item.device):
            stages[item.id] = Stage.CLASS
        else:
            use = device_use(rules.gates, ask, item.device, item.driver)
            stages[item.id] = _stage(rules, ask, item, use, state)
        if stages[item.id] is Stage.FREE and item.id in state.books.barred:
            stages[item.id] = Stage.IN_USE if state.books.barred[item.id] else Stage.CAPACITY
        if use is not None and is_shareable(item.device, rules):
            uses[item.id] = use
    listed = _listed(rules, ask, state, stages) if ask.all_devices else ()
    blocked = _refusal(rules, ask) or why_not_all(ask, stages, listed, errors, state.pools)
    return AskEligibility(ask, stages, uses, listed, tuple(errors), blocked)


def is_shareable(device: Device, rules: Rules) -> bool:
    """Say whether several requests may share a device: `allowMultipleAllocations` with DRAConsumableCapacity on."""
    return bool(device.allow_multiple_allocations) and rules.gates.consumable_capacity


def _stage(rules: Rules, ask: Ask, item: PoolDevice, use: Amounts | None, state: _State) -> Stage:
    """Return the first test that a device fails: `taints`, what holds it (unless `adminAccess`), capacity."""
    # Nearly no device has a taint, and a node may see thousands.
    tainted = item.device.taints or rules.cluster.taint_rules
    if tainted and rules.gates.device_taints and not is_tolerated(rules.cluster, rules.release, ask, item):
        return Stage.TAINT
    held = rules.allocated
    used = item.id in held.exclusive or (item.id in held.shares and not rules.gates.consumable_capacity)
    if used and not ask.admin_access:
        return Stage.IN_USE
    if use is None or (item.device.consumes_counters and not rules.gates.partitionable_devices):
        return Stage.CAPACITY
    if not use:
        return Stage.FREE
    left = state.remaining.get(item.id, {})
    if any(amount > left[key] for key, amount in use.items() if key in left):
        # Capacity that the idle device would have is in use, capacity that it never has is missing.
        whole = all(parse_quantity(item.device.capacity[key].value) >= amount for key, amount in use.items())
        return Stage.IN_USE if whole else Stage.CAPACITY
    return Stage.FREE


def _listed(rules: Rules, ask: Ask, state: _State, stages: Mapping[DeviceID, Stage]) -> tuple[DeviceID, ...]:
    """Return what `allocationMode` All takes: what matches, less (to 1.36) what lacks capacity now.

    Rule: docs/semantics.md 3.6.5.
    """
    newer = not rules.gates.defects
    found = []
    for item in state.devices:
        if stages[item.id] < Stage.TAINT:
            continue
        use = device_use(rules.gates, ask, item.device, item.driver)
        # The list knows nothing of exclusive use: such a device stays in it and makes the request fail
        # (docs/semantics.md 3.6.1).
        left = {key: parse_quantity(c.value) for key, c in item.device.capacity.items()} if newer else {}
        left = left or dict(state.remaining.get(item.id, {}))
        if use is not None and all(amount <= left[key] for key, amount in use.items() if key in left):
            found.append(item.id)
    return tuple(found)


def refusing_gate(rules: Rules, ask: Ask) -> tuple[str, str]:
    """Return the field of a request that a gate refuses because it is off, and the gate; empty texts if none does.

    Rule: docs/semantics.md 3.4.
    """
    if ask.capacity and not rules.release.enabled("DRAConsumableCapacity"):
        return "capacity", "DRAConsumableCapacity"
    exactly = rules.sketch.request(ask.request).exactly
    if exactly is not None and exactly.admin_access is not None and not rules.gates.admin_access:
        return "adminAccess", "DRAAdminAccess"
    if "/" in ask.reference and not rules.release.enabled("DRAPrioritizedList"):
        return "firstAvailable", "DRAPrioritizedList"
    return "", ""


def _refusal(rules: Rules, ask: Ask) -> str:
    field, gate = refusing_gate(rules, ask)
    return f"{field} {rules.release.needs(gate)}" if gate else ""


_NEXT = "change the claim so that it does not need it"


def refuse_claim(sketch: ClaimSketch) -> None:
    """Raise UnsupportedFeature when the claim itself needs a rule that is not there yet, whatever the devices are."""
    for request in sketch.requests:
        parts: list[ExactDeviceRequest | DeviceSubRequest] = [request.exactly] if request.exactly else []
        parts.extend(request.first_available)
        if any(part.derived_attributes for part in parts):
            raise UnsupportedFeature("derivedAttributes", f"request {request.name!r} uses derivedAttributes; {_NEXT}")
        if any(part.allocation_mode not in ("", "ExactCount", "All") for part in parts):
            raise UnsupportedFeature(
                "allocationMode", f"request {request.name!r}: unknown allocationMode; use ExactCount or All"
            )
    _refuse_rings(tuple(link for link in sketch.links if link.kind.paired))


def _refuse_rings(links: tuple[Link, ...]) -> None:
    """Refuse pairwise links that form a ring: their groups would have to agree all the way round."""
    ends: dict[frozenset[str], list[Link]] = {}
    for link in links:
        ends.setdefault(frozenset(link.requests), []).append(link)
    joined: list[set[str]] = []
    for tied, same in ends.items():
        names = " and ".join(repr(link.name) for link in same)
        if sum(1 for link in same if not link.must) > 1:
            raise UnsupportedFeature(
                "pairwise links", f"links {names} prefer two pairings of the same requests; keep one of them"
            )
        mine = {split_request(reference)[0] for reference in tied}
        touched = [known for known in joined if known & mine]
        if len(mine) < len(tied) or any(len(known & mine) > 1 for known in touched):
            raise UnsupportedFeature(
                "pairwise links",
                f"pairwise link {names} closes a ring of pairwise links; leave one of them out or use together",
            )
        joined = [*(known for known in joined if known not in touched), mine.union(*touched)]


def refuse_devices(rules: Rules, eligible: NodeEligibility) -> None:
    """Raise UnsupportedFeature when a device that matches needs such a rule; other drivers' devices do not matter."""
    for part in eligible.asks:
        for device_id, stage in part.stages.items():
            if stage > Stage.SELECTOR and (refused := _refused(rules, part.ask, device_id, eligible.seen[device_id])):
                feature, why = refused
                raise UnsupportedFeature(
                    feature,
                    f"request {part.ask.reference!r} may take {device_id}, which {why}; the planner does not know that "
                    "rule yet: add a selector that leaves such devices out",
                )


def _refused(rules: Rules, ask: Ask, device_id: DeviceID, device: Device) -> tuple[str, str] | None:
    """Return the feature of a device that is not known, and what the device does."""
    groups = rules.release.enabled("DRADeviceCompatibilityGroups")
    if groups and any(use.compatibility_groups for use in device.consumes_counters):
        return "compatibilityGroups", "has compatibilityGroups"
    allocatable = device.node_allocatable_resources or device.node_allocatable_resource_mappings
    if allocatable and rules.release.enabled("DRANodeAllocatableResources"):
        return "nodeAllocatableResources", "takes of the node's own resources (nodeAllocatableResources)"
    for link in rules.sketch.links if rules.lists else ():
        if not link.kind.paired or not any(covers(reference, ask) for reference in link.requests):
            continue
        known = profile(device_id.driver, rules.cluster.profiles)
        for name in known.attributes_at(link.where) if link.is_level else (link.where,):
            attribute = device.lookup(name, device_id.driver)
            if attribute is not None and attribute.is_list:
                return "listTypeAttributes", f"publishes {name} as a list, which a pairwise link names"
    return None
