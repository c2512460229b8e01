"""One look at every node for a fleet: its hardware, and what is free of each group of devices and each counter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.index.counter_draws import Counter, consumption, counted_pools
from dra_lab.index.node_binding import Tie
from dra_lab.index.node_index import Taken, node_index, shape_key
from dra_lab.model.names import DeviceID, part_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.eligible import Rules, eligibility, is_shareable
from dra_lab.planner.node.refuse import refuse_devices
from dra_lab.planner.node_classes import Layout, layout_of, thinned
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.states.node_state import NodeState, common_unit, inspectors

_LARGE = 2**50
"""More units of a counter than this do not go into the words in which amounts are compared."""


@dataclass(frozen=True)
class Counted:
    """The counters of a layout, in the order of its problem: their `units`, in the amounts that devices publish.

    `draws` is what a device of each group takes of them, `pools` the pools (by position) that a device of each group
    has to pay.
    """

    counters: tuple[Counter, ...]
    units: tuple[int, ...]
    draws: tuple[tuple[tuple[int, int], ...], ...]
    pools: tuple[frozenset[int], ...]

    def on(self, scan: Scan, name: str, state: NodeState) -> NodeState:
        """Return a state with what is left of the counters on a node, less the devices that these keep away.

        One that takes more than is left does not fit, and none of a pool of which a counter is overdrawn does
        (docs/semantics.md 3.10.4).
        """
        left = scan.left_on(name)
        overdrawn = {position for (position, _, _), amount in left.items() if amount < 0}
        have = [max(0, left[counter]) // unit for counter, unit in zip(self.counters, self.units, strict=True)]
        free = tuple(
            0 if size and self._is_barred(group, have, overdrawn) else size for group, size in enumerate(state.free)
        )
        return replace(state, free=free, counters=tuple(have))

    def _is_barred(self, group: int, have: Sequence[int], overdrawn: set[int]) -> bool:
        return bool(self.pools[group] & overdrawn) or any(amount > have[at] for at, amount in self.draws[group])


def counted_layout(scan: Scan, layout: Layout, name: str) -> Counted | None:
    """Return the counters of a layout, which is a node's; None where more than amounts counts, or these are large."""
    view, problem = scan.views.view(name), layout.problem
    number = {(pool.driver, pool.name): position for position, pool in enumerate(counted_pools(view.counted))}
    at = {counter: position for position, (counter, _) in enumerate(problem.counters)}
    drawn = {counter: amount for group in problem.groups for counter, amount in group.draws}
    units = dict.fromkeys(at, 1)
    first: dict[int, frozenset[int]] = {}
    draws = {group: tuple((at[c], amount) for c, amount in found.draws) for group, found in enumerate(problem.groups)}
    for item, group in zip(view.devices, layout.group_of, strict=True):
        if not item.device.consumes_counters:
            continue
        if is_shareable(item.device, scan.rules):
            # it pays once for all its shares: what is left does not say whether it has to pay
            return None
        if scan.rules.gates.skip_groups and any(use.compatibility_groups for use in item.device.consumes_counters):
            return None  # once it is allocated it keeps others away, whatever is left
        if group < 0:
            continue
        mine = consumption(item.device, number[item.driver, item.id.pool])
        if not mine:
            # it takes nothing, and yet it has to pay: other devices of its group may not have to
            return None
        first.setdefault(group, frozenset(position for (position, _, _), _ in mine))
        for counter, amount in mine:
            drawn_in_units = dict(problem.groups[group].draws).get(counter)
            if drawn_in_units:
                units[counter] = amount // drawn_in_units
    if any(amount > _LARGE for amount in [*drawn.values(), *(left for _, left in problem.counters)]):
        return None
    return Counted(
        tuple(at),
        tuple(units.values()),
        tuple(draws[group] for group in range(len(problem.groups))),
        tuple(first.get(group, frozenset()) for group in range(len(problem.groups))),
    )


Left = dict[Hashable, tuple[Taken, Taken]]
"""What is taken and what is left of a group, by layout, group, and where the first stands in memory."""

_ALL_COUNTERS = 10**12
"""Enough pods could use up any counter, so none is left out of the hardware, as one may be nearly used up somewhere."""


@dataclass
class Survey:
    """A scan, and where the rules are plain each node's state; a node without one is known by its problem alone.

    Under plain rules, what is in use is only missing, of devices, of shared devices or of counters. They have no
    devices that several nodes see, no node selectors of many terms, and no admin access of pods with several claims.
    They have no shared devices that draw on counters, that are requested with all others, that are looked into
    (`adminAccess`), or that a claim holds without a share. `problems` remembers the problem of a node, and where the
    devices of its groups are among the node's, by what it is exactly.
    """

    scan: Scan
    states: dict[str, NodeState] = field(default_factory=dict)
    problems: dict[Hashable, tuple[AllocationProblem, tuple[tuple[int, ...], ...]]] = field(default_factory=dict)
    _members: dict[int, list[list[int]]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Say whether every node's state is known."""
        return bool(self.states)

    def devices(
        self, node: str, groups: Iterable[int] | None = None, *, held_too: bool = False
    ) -> dict[int, list[DeviceID]]:
        """Return the free devices of a node by group of its layout, or of some groups; with `held_too` all of them."""
        views, number = self.scan.views, self.states[node].layout
        layout, every = self.scan.layouts[number], views.view(node).devices
        wanted = range(len(layout.problem.groups)) if groups is None else groups
        if layout.kinds and layout.problem.node == node:
            # It was made from this node, so its groups have the devices of the node in their order.
            found = {group: [*layout.problem.groups[group].devices] for group in wanted}
        else:
            members = self._members_of(number)
            found = {group: [every[at].id for at in members[group]] for group in wanted}
        for at in () if held_too else views.held_on(node, self.scan.rules.allocated)[0]:
            group = layout.group_of[at]
            if group in found:
                found[group].remove(every[at].id)
        return found

    def _members_of(self, number: int) -> list[list[int]]:
        """Return the positions of the devices of each group of a layout."""
        found = self._members.get(number)
        if found is None:
            layout = self.scan.layouts[number]
            found = self._members[number] = [[] for _ in layout.problem.groups]
            for at, group in enumerate(layout.group_of):
                if group >= 0:
                    found[group].append(at)
        return found


def survey(rules: Rules, budget: Budget) -> Survey:
    """Look at every node once. Raises UnsupportedFeature as `scan_nodes` does."""
    views = node_index(rules.cluster, rules.release)
    if rules.cluster.network_slices or _looks_from_several_claims(rules):
        return Survey(scan_nodes(rules, budget))
    scan = Scan(rules, views)
    shapes: dict[tuple[int, ...], int] = {}
    counted: dict[int, Counted] = {}
    seen, devices = Survey(scan), KnownDevices(rules, views)
    known: Left = {}
    for number, name in enumerate(rules.nodes):
        if budget.reached:
            break
        shape = shape_key(views, name, rules.selecting, rules.attributes)
        if shape not in shapes:
            made = devices.layout(name)
            if made is None:
                made = idle_layout(scan, name)
                counters = counted_layout(scan, made, name)
                if not _is_plain(made.problem) or counters is None:
                    return Survey(scan_nodes(rules, budget))
                devices.learn(name, made)
                if counters.counters:
                    counted[len(scan.layouts)] = counters
            shapes[shape] = len(scan.layouts)
            scan.layouts[shapes[shape]] = made
        at = shapes[shape]
        layout = scan.layouts[at]
        held = {layout.group_of[position] for position in views.held_on(name, rules.allocated)[0]} - {-1}
        if any(layout.problem.groups[group].shareable for group in held):
            # A claim holds a shareable device without a share: it is in use, and its amounts do not say so
            # (docs/semantics.md 3.11.9).
            return Survey(scan_nodes(rules, budget))
        state = state_on(scan, at, layout, name, known)
        if any(_asks_for_none(layout.problem.groups[group], left) for group, left in state.left):
            return Survey(scan_nodes(rules, budget))
        seen.states[name] = counted[at].on(scan, name, state) if at in counted else state
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1} of {len(rules.nodes)} nodes")
    scan.complete = len(seen.states) == len(rules.nodes)
    scan.unseen = tuple(name for name in rules.nodes if name not in seen.states)
    return seen


def _asks_for_none(group: DeviceGroup, left: Sequence[tuple[str, Fraction]]) -> bool:
    """Say whether a request is for 0 of an amount of which too much is consumed: not even that can be had."""
    over = {key for key, amount in left if amount < 0}
    return any(key in over and not amount for _, uses in group.uses for key, amount in uses)


def _looks_from_several_claims(rules: Rules) -> bool:
    """Say whether a pod of several claims asks for admin access: claims of one pod do not see one another."""
    # `pods.look_at` names them after the workload and the claim: "0.0", "0.1"
    pods = [(ask, part_of(ask.reference)[0].partition(".")) for ask in rules.asks]
    several = {pod for _, (pod, _, claim) in pods if claim not in ("", "0")}
    return any(ask.admin_access and pod in several for ask, (pod, _, _) in pods)


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
    identical: dict[object, DeviceGroup] = {}
    for at, group in enumerate(problem.groups):
        plain = not group.shareable and not group.draws and inspectors(problem, group)
        key: object = replace(group, devices=()) if plain else at
        known = identical.get(key)
        identical[key] = group if known is None else replace(known, devices=(*known.devices, *group.devices))
    return tuple(identical.values())


def state_on(scan: Scan, number: int, layout: Layout, name: str, known: Left) -> NodeState:
    """Return what a node offers of a layout, which is numbered `number`; `known` remembers what is left of shares."""
    alone, shares = scan.views.held_on(name, scan.rules.allocated)
    if not scan.rules.gates.consumable_capacity:
        return NodeState(number, thinned(layout, [*alone, *(at for at, _ in shares if at not in alone)]))
    left = []
    for at, taken in shares:
        group = layout.group_of[at]
        if group >= 0 and at not in alone:
            key = (number, group, id(taken))
            if key not in known:
                # with what is taken, so that its place in memory is not used again
                known[key] = (taken, _left_of(layout.problem.groups[group], dict(taken)))
            left.append((group, known[key][1]))
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
