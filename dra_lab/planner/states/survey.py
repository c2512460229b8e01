"""One look at every node for a fleet: its hardware, and what is free of each group of equal devices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm

from dra_lab.model.names import DeviceID
from dra_lab.planner.eligible import Rules, eligibility
from dra_lab.planner.node_classes import Layout, canonical, layout_of, thinned
from dra_lab.planner.problem import AllocationProblem, DeviceGroup
from dra_lab.planner.progress import Limits
from dra_lab.planner.refuse import refuse_devices
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.stages import Tie
from dra_lab.planner.views import shape_key, views_of

Shares = tuple[tuple[int, tuple[tuple[str, Fraction], ...]], ...]
"""What is left of shared devices: (group of the layout, amount by key), for those of which something is in use."""

Left = dict[Hashable, tuple[tuple[str, Fraction], ...]]
"""What is left of a group, by layout, group, and what is taken."""


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a node offers: which hardware, how many devices of each of its groups are free, what is left of shares."""

    layout: int
    free: tuple[int, ...]
    left: Shares = ()


@dataclass
class Survey:
    """A scan, and where the rules are plain each node's state; a node without one is known by its problem alone.

    Plain are rules under which a device in use is only missing: no request for all devices, no admin access, no shared
    counters, no node selectors of many terms, no devices that several nodes see. `positions` remembers where the
    devices of each group of a problem are among those of a node, by what the node is exactly.
    """

    scan: Scan
    states: dict[str, NodeState] = field(default_factory=dict)
    positions: dict[Hashable, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Say whether every node's state is known."""
        return bool(self.states)

    def devices(self, node: str) -> Mapping[int, list[DeviceID]]:
        """Return the free devices of a node by group of its layout."""
        held = self.scan.rules.allocated.exclusive
        layout = self.scan.layouts[self.states[node].layout]
        found: dict[int, list[DeviceID]] = {}
        for item, group in zip(self.scan.views.view(node).devices, layout.group_of, strict=True):
            if group >= 0 and item.id not in held:
                found.setdefault(group, []).append(item.id)
        return found


def survey(rules: Rules, limits: Limits) -> Survey:
    """Look at every node once. Raises UnsupportedFeature as `scan_nodes` does."""
    views = views_of(rules.cluster, rules.release)
    special = any(ask.all_devices or ask.admin_access for ask in rules.asks) or rules.cluster.network_slices
    if special:
        return Survey(scan_nodes(rules, limits))
    scan = Scan(rules, views)
    wheres = tuple(dict.fromkeys(link.where for link in rules.sketch.links if not link.is_level))
    shapes: dict[tuple[int, ...], int] = {}
    seen = Survey(scan)
    known: Left = {}
    for number, name in enumerate(rules.cluster.node_names):
        if limits.reached:
            break
        if views.view(name).counted:
            return Survey(scan_nodes(rules, limits))
        shape = shape_key(views, name, rules.asks, wheres)
        if shape not in shapes:
            layout = idle_layout(scan, name)
            shapes[shape] = len(scan.layouts)
            scan.layouts[shapes[shape]] = layout
            if any(group.tie is Tie.TERMS for group in layout.problem.groups):
                return Survey(scan_nodes(rules, limits))
        seen.states[name] = state_on(scan, shapes[shape], scan.layouts[shapes[shape]], name, known)
        if number % 500 == 499:
            limits.tell("nodes", f"looked at {number + 1} of {len(rules.cluster.node_names)} nodes")
    scan.complete = len(seen.states) == len(rules.cluster.node_names)
    scan.unseen = tuple(name for name in rules.cluster.node_names if name not in seen.states)
    return seen


def idle_layout(scan: Scan, name: str) -> Layout:
    """Return a node's hardware with nothing in use."""
    idle = eligibility(replace(scan.rules, idle=True), name)
    refuse_devices(scan.rules, idle)
    return layout_of(scan.build(idle), [item.id for item in scan.views.view(name).devices])


def state_on(scan: Scan, number: int, layout: Layout, name: str, known: Left) -> NodeState:
    """Return what a node offers of a layout, which is numbered `number`; `known` remembers what is left of shares."""
    held = scan.rules.allocated
    consumable = scan.rules.gates.consumable_capacity
    ids = [item.id for item in scan.views.view(name).devices]
    exclusive, shares = held.exclusive, held.shares
    alone = [at for at, device in enumerate(ids) if device in exclusive]
    shared = [at for at, device in enumerate(ids) if device in shares and device not in exclusive] if shares else []
    if not consumable:
        return NodeState(number, thinned(layout, alone + shared))
    left = []
    for at in shared:
        group = layout.group_of[at]
        if group >= 0:
            taken = held.consumed.get(ids[at], {})
            key = (number, group, *taken.items())
            if key not in known:
                known[key] = _left_of(layout.problem.groups[group], taken)
            left.append((group, known[key]))
    return NodeState(number, thinned(layout, alone), tuple(left))


def _left_of(group: DeviceGroup, taken: Mapping[str, Fraction]) -> tuple[tuple[str, Fraction], ...]:
    """Return what is left of a shared device, rounded down to what the requests can tell apart."""
    left = []
    for key, whole in group.remaining:
        amounts = [amount for _, uses in group.uses for name, amount in uses if name == key]
        rest = whole - taken.get(key, Fraction())
        unit = common_unit(amounts)
        left.append((key, rest if not unit or rest < 0 else rest // unit * unit))
    return tuple(left)


def common_unit(amounts: Iterable[Fraction]) -> Fraction:
    """Return the largest amount of which all amounts are whole multiples, 0 where there is none."""
    some = [amount for amount in amounts if amount > 0]
    if not some:
        return Fraction()
    bottom = lcm(*(amount.denominator for amount in some))
    return Fraction(gcd(*(int(amount * bottom) for amount in some)), bottom)


def state_problem(layout: Layout, state: NodeState) -> tuple[AllocationProblem, tuple[int, ...]]:
    """Return the problem of a state, and the group of the layout behind each of its groups.

    The groups hold as many devices as are free, not those that are.
    """
    left = dict(state.left)
    groups, kept = [], []
    for at, (group, size) in enumerate(zip(layout.problem.groups, state.free, strict=True)):
        if not size:
            continue
        found = group if size == group.size else replace(group, devices=group.devices[:size])
        if at in left:
            able = [ask for ask, uses in group.uses if all(amount <= dict(left[at])[k] for k, amount in uses)]
            if not able:
                continue
            uses = tuple((ask, use) for ask, use in group.uses if ask in able)
            found = replace(found, remaining=left[at], asks=tuple(able), uses=uses)
        groups.append(found)
        kept.append(at)
    return replace(layout.problem, groups=tuple(groups)), tuple(kept)


def ordered(
    problem: AllocationProblem, kept: tuple[int, ...], replicas: int
) -> tuple[object, AllocationProblem, tuple[int, ...]]:
    """Return a problem's fingerprint, the problem with its groups in the fingerprint's order, and those groups."""
    key, order = canonical(problem, None, replicas)
    moved = replace(problem, groups=tuple(problem.groups[at] for at in order))
    return key, moved, tuple(kept[at] for at in order)
