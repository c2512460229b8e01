"""One look at every node for a fleet: its hardware, and what is free of each group of equal devices."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.index.node_binding import Tie
from dra_lab.index.node_index import node_index, shape_key
from dra_lab.model.names import DeviceID, part_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.eligible import Rules, eligibility
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.node_classes import Layout, layout_of, thinned
from dra_lab.planner.problem import AllocationProblem, DeviceGroup
from dra_lab.planner.refuse import refuse_devices
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.states.counted import Counted, counted_layout
from dra_lab.planner.states.node_state import NodeState, common_unit, inspectors

Left = dict[Hashable, tuple[tuple[str, Fraction], ...]]
"""What is left of a group, by layout, group, and what is taken."""

_ALL_COUNTERS = 10**12
"""So many pods could use up any counter: none is left out of the hardware, as one may be nearly used up somewhere."""


@dataclass
class Survey:
    """A scan, and where the rules are plain each node's state; a node without one is known by its problem alone.

    Plain are rules under which what is in use is only missing, of devices, of shared devices or of counters: no devices
    that several nodes see, no node selectors of many terms, no shared devices that draw on counters, that are asked for
    with all others or looked into (`adminAccess`), and no admin access of pods with several claims. `positions`
    remembers where the devices of each group of a problem are among those of a node, by what the node is exactly.
    """

    scan: Scan
    states: dict[str, NodeState] = field(default_factory=dict)
    positions: dict[Hashable, tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Say whether every node's state is known."""
        return bool(self.states)

    def devices(self, node: str, *, held_too: bool = False) -> Mapping[int, list[DeviceID]]:
        """Return the free devices of a node by group of its layout, or with `held_too` all of them."""
        views = self.scan.views
        held = frozenset[int]() if held_too else views.held_on(node, self.scan.rules.allocated)[0]
        layout = self.scan.layouts[self.states[node].layout]
        found: dict[int, list[DeviceID]] = {}
        for at, (item, group) in enumerate(zip(views.view(node).devices, layout.group_of, strict=True)):
            if group >= 0 and at not in held:
                found.setdefault(group, []).append(item.id)
        return found


def survey(rules: Rules, budget: Budget) -> Survey:
    """Look at every node once. Raises UnsupportedFeature as `scan_nodes` does."""
    views = node_index(rules.cluster, rules.release)
    if rules.cluster.network_slices or _looks_from_several_claims(rules):
        return Survey(scan_nodes(rules, budget))
    scan = Scan(rules, views)
    wheres = tuple(dict.fromkeys(link.where for link in rules.sketch.links if not link.is_level))
    shapes: dict[tuple[int, ...], int] = {}
    counted: dict[int, Counted] = {}
    seen, devices = Survey(scan), KnownDevices(rules, views)
    known: Left = {}
    for number, name in enumerate(rules.cluster.node_names):
        if budget.reached:
            break
        shape = shape_key(views, name, rules.asks, wheres)
        if shape not in shapes:
            layout = devices.layout(name)
            if layout is None:
                layout = idle_layout(scan, name)
                counters = counted_layout(scan, layout, name)
                if not _is_plain(layout.problem) or counters is None:
                    return Survey(scan_nodes(rules, budget))
                devices.learn(name, layout)
                if counters.counters:
                    counted[len(scan.layouts)] = counters
            shapes[shape] = len(scan.layouts)
            scan.layouts[shapes[shape]] = layout
        at = shapes[shape]
        state = state_on(scan, at, scan.layouts[at], name, known)
        seen.states[name] = counted[at].on(scan, name, state) if at in counted else state
        if number % 500 == 499:
            budget.tell("nodes", f"looked at {number + 1} of {len(rules.cluster.node_names)} nodes")
    scan.complete = len(seen.states) == len(rules.cluster.node_names)
    scan.unseen = tuple(name for name in rules.cluster.node_names if name not in seen.states)
    return seen


def _looks_from_several_claims(rules: Rules) -> bool:
    """Say whether a pod of several claims asks for admin access: claims of one pod do not see one another."""
    # `pods.look_at` names them after the workload and the claim: "0.0", "0.1"
    several = {part_of(ask.reference)[0].partition(".")[0] for ask in rules.asks if _is_later(ask.reference)}
    return any(ask.admin_access and part_of(ask.reference)[0].partition(".")[0] in several for ask in rules.asks)


def _is_later(reference: str) -> bool:
    return part_of(reference)[0].partition(".")[2] not in ("", "0")


def _is_plain(problem: AllocationProblem) -> bool:
    for group in problem.groups:
        special = [ask for ask in group.asks if problem.asks[ask].admin_access or problem.asks[ask].all_devices]
        inspected = inspectors(problem, group)
        if group.tie is Tie.TERMS or (group.shareable and (group.draws or special)) or (group.draws and inspected):
            return False
    return True


def idle_layout(scan: Scan, name: str) -> Layout:
    """Return a node's hardware with nothing in use, and all its counters."""
    idle = eligibility(replace(scan.rules, idle=True, replicas=_ALL_COUNTERS), name)
    refuse_devices(scan.rules, idle)
    problem = scan.build(idle)
    groups = _put_together(problem)
    drawn = {counter for group in groups for counter, _ in group.draws}
    counters = tuple(row for row in problem.counters if row[0] in drawn)
    return layout_of(
        replace(problem, groups=groups, counters=counters), [item.id for item in scan.views.view(name).devices]
    )


def _put_together(problem: AllocationProblem) -> tuple[DeviceGroup, ...]:
    """Return the groups, with devices that may be looked into told apart by nothing but that.

    Pods of one claim look into other devices than those that they take: of equal ones only the number counts.
    """
    alike: dict[object, DeviceGroup] = {}
    for at, group in enumerate(problem.groups):
        plain = not group.shareable and not group.draws and inspectors(problem, group)
        key: object = replace(group, devices=()) if plain else at
        known = alike.get(key)
        alike[key] = group if known is None else replace(known, devices=(*known.devices, *group.devices))
    return tuple(alike.values())


def state_on(scan: Scan, number: int, layout: Layout, name: str, known: Left) -> NodeState:
    """Return what a node offers of a layout, which is numbered `number`; `known` remembers what is left of shares."""
    alone, shares = scan.views.held_on(name, scan.rules.allocated)
    if not scan.rules.gates.consumable_capacity:
        return NodeState(number, thinned(layout, [*alone, *(at for at, _ in shares if at not in alone)]))
    left = []
    for at, taken in shares:
        group = layout.group_of[at]
        if group >= 0 and at not in alone:
            key = (number, group, *taken)
            if key not in known:
                known[key] = _left_of(layout.problem.groups[group], dict(taken))
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
