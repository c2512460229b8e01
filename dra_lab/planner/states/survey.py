"""One look at every node for a fleet: kinds of hardware with a number each, and what a node offers of its kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.index.in_use import Counter, consumption, counted_pools
from dra_lab.index.node_index import NodeIndex, node_index, shape_key
from dra_lab.index.pools import Tie
from dra_lab.model.names import DeviceID, part_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import LIST, AllocationProblem, DeviceGroup
from dra_lab.planner.node.eligible import Rules, eligibility, is_shareable, refuse_devices
from dra_lab.planner.node_classes import Layout, Print, layout_of, thinned
from dra_lab.planner.scan import Kind, Scan, coupled_devices, coupled_pools, look_at_nodes, sort_nodes
from dra_lab.planner.states.node_state import NodeState, common_unit, inspectors
from dra_lab.topology.locality import localities, numa_and_root

_LARGE = 2**50
"""More units of a counter than this do not go into the words in which amounts are compared."""

_ALL_COUNTERS = 10**12
"""Enough pods could use up any counter, so none is left out of the hardware, as one may be nearly used up somewhere."""

_LEVELS = ("pcieRoot", "numaNode")
_NOBODY, _EACH_NODE = -1, -2
"""No ask may take such a device; and: what it is has to be looked at on each node."""

_Key = tuple[object, ...]


@dataclass
class KnownDevices:
    """The groups that devices belong to, by what they publish and which asks match them.

    A look at 5,000 nodes of which no two are identical takes three times as long without them (`bench_pairs`).
    """

    rules: Rules
    views: NodeIndex
    _groups: dict[_Key, int] = field(default_factory=dict)
    _templates: list[DeviceGroup] = field(default_factory=list)
    _numbers: dict[DeviceGroup, int] = field(default_factory=dict)
    _published: dict[int, bool] = field(default_factory=dict)
    _first: AllocationProblem | None = None

    def __post_init__(self) -> None:
        """Note whether the rules look at each device by itself."""
        rules = self.rules
        links = rules.sketch.links
        self._apart = not any(ask.all_devices or ask.admin_access for ask in rules.asks) and all(
            not link.is_level or link.where in _LEVELS for link in links
        )

    def layout(self, name: str) -> Layout | None:
        """Return a node's hardware with nothing in use; None if it has to be looked at device by device."""
        if self._first is None or not self._is_simple(name):
            return None
        view = self.views.view(name)
        if not self._published.keys() >= {*view.numbers}:
            return None
        numbers = [self._groups.get(key, _EACH_NODE) for key in self._keys(name)]
        if _EACH_NODE in numbers:
            return None
        found: dict[int, list[int]] = {}
        for at, number in enumerate(numbers):
            if number >= 0:
                # Shared devices are told apart; negative numbers are those of single devices.
                found.setdefault(~at if self._templates[number].shareable else number, []).append(at)
        groups: list[DeviceGroup] = []
        kinds = tuple([numbers[members[0]] for members in found.values()])
        group_of = [_NOBODY] * len(numbers)
        for kind, members in zip(kinds, found.values(), strict=True):
            for at in members:
                group_of[at] = len(groups)
            devices = tuple([view.devices[at].id for at in members])
            groups.append(replace(self._templates[kind], devices=devices))
        return Layout(replace(self._first, node=name, groups=tuple(groups)), tuple(group_of), kinds)

    def learn(self, name: str, layout: Layout) -> None:
        """Keep what was found out about the devices of a node."""
        if not self._is_simple(name) or layout.problem.counters:
            return
        places, view = localities(self.rules.cluster, name), self.views.view(name)
        for number, item in zip(view.numbers, view.devices, strict=True):
            where = (places[item.id].numa_node, places[item.id].pcie_root)
            self._published[number] = all(place is not None and not place.derived for place in where)
        for at, key in enumerate(self._keys(name)):
            number = layout.group_of[at]
            if number < 0:
                self._groups[key] = _NOBODY
                continue
            group = layout.problem.groups[number]
            listed = any(kind == LIST for values in group.places for kind, _ in values)
            if group.tie is Tie.TERMS or group.draws or listed:
                self._groups[key] = _EACH_NODE
                continue
            template = replace(group, devices=())
            self._groups[key] = self._numbers.setdefault(template, len(self._templates))
            if self._groups[key] == len(self._templates):
                self._templates.append(template)
        self._first = layout.problem

    def _is_simple(self, name: str) -> bool:
        return self._apart and not self.views.view(name).counted and name not in self.rules.cluster.file_places

    def _keys(self, name: str) -> Iterable[_Key]:
        view = self.views.view(name)
        published = [self._published[number] for number in view.numbers]
        places: list[object] = [()] * len(published)
        if False in published:
            # What a device does not publish, others on the same node may tell.
            found = numa_and_root(self.rules.cluster, name)
            places = [() if known else found[item.id] for known, item in zip(published, view.devices, strict=True)]
        stages = [self.views.stages(ask, name) for ask in self.rules.selecting]
        values = [[item.device.lookup(where, item.driver) for item in view.devices] for where in self.rules.attributes]
        return zip(view.numbers, places, *stages, *values, strict=True)


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
        barred = [
            bool(pools & overdrawn) or any(amount > have[at] for at, amount in draws)
            for pools, draws in zip(self.pools, self.draws, strict=True)
        ]
        free = tuple(0 if kept_away else size for kept_away, size in zip(barred, state.free, strict=True))
        return replace(state, free=free, counters=tuple(have))


_NO_COUNTERS = Counted((), (), (), ())


@dataclass
class Layouts:
    """Kinds of hardware that are known by the numbers of their devices; holds no cluster.

    `numbers` has the number of each kind among `made`, -1 if more than amounts decides there, or it is not accepted.
    `counted` are those with shared counters.
    """

    accepts: Callable[[AllocationProblem], bool]
    numbers: dict[Kind, int] = field(default_factory=dict)
    made: dict[int, Layout] = field(default_factory=dict)
    counted: dict[int, Counted] = field(default_factory=dict)

    def add(self, scan: Scan, devices: KnownDevices, kind: Kind, name: str) -> int:
        """Return the number of a kind of hardware, which a node has. Raises UnsupportedFeature as `refuse_devices`."""
        if kind in self.numbers:
            return self.numbers[kind]
        layout, counters = devices.layout(name), _NO_COUNTERS
        if layout is None:
            layout = _idle_layout(scan, name)
            devices.learn(name, layout)
            found = _counted_layout(scan, layout, name)
            if found is None:
                return self.numbers.setdefault(kind, -1)
            counters = found
        if not self.accepts(layout.problem):
            return self.numbers.setdefault(kind, -1)
        number = self.numbers[kind] = len(self.made)
        self.made[number] = layout
        if counters.counters:
            self.counted[number] = counters
        return number

    def state(self, scan: Scan, kind: Kind, name: str) -> NodeState | None:
        """Return what a node offers of its kind of hardware, None if numbers do not say that."""
        number = self.numbers.get(kind, -1)
        if number < 0:
            return None
        layout, (alone, shares) = self.made[number], scan.views.held_on(name, scan.rules.allocated)
        groups, left = layout.problem.groups, []
        for at, taken in shares if scan.rules.gates.consumable_capacity else ():
            group = layout.group_of[at]
            if group >= 0 and at not in alone:
                key = (number, group, id(taken))
                if key not in scan.shares:
                    # with what is taken, so that its place in memory is not used again
                    scan.shares[key] = (taken, _left_of(groups[group], dict(taken)))
                left.append((group, scan.shares[key][1]))
        if any(_asks_for_none(groups[group], rest) for group, rest in left):
            return None
        state = NodeState(number, thinned(layout, in_use(scan, name)), tuple(left))
        return self.counted[number].on(scan, name, state) if number in self.counted else state


def holds_shareable(scan: Scan, layout: Layout, name: str) -> bool:
    """Say whether a claim holds a shareable device of a node without a share (docs/semantics.md 3.11.9)."""
    groups = {layout.group_of[at] for at in scan.views.held_on(name, scan.rules.allocated)[0]} - {-1}
    return any(layout.problem.groups[group].shareable for group in groups)


def in_use(scan: Scan, name: str) -> frozenset[int]:
    """Return the positions of the devices of a node that no further claim may have, shares apart."""
    alone, shares = scan.views.held_on(name, scan.rules.allocated)
    return alone if scan.rules.gates.consumable_capacity or not shares else alone.union(at for at, _ in shares)


def devices_by_group(
    scan: Scan, layout: Layout, name: str, groups: Iterable[int] | None = None, *, held_too: bool = False
) -> dict[int, list[DeviceID]]:
    """Return the free devices of a node by group of its layout, or of some groups; with `held_too` all of them."""
    every, held = scan.views.view(name).devices, frozenset() if held_too else in_use(scan, name)
    wanted = range(len(layout.problem.groups)) if groups is None else groups
    return {group: [every[at].id for at in layout.members[group] if at not in held] for group in wanted}


def _asks_for_none(group: DeviceGroup, left: Sequence[tuple[str, Fraction]]) -> bool:
    """Say whether a request is for 0 of an amount of which too much is consumed: not even that can be had."""
    over = {key for key, amount in left if amount < 0}
    return any(key in over and not amount for _, uses in group.uses for key, amount in uses)


def _left_of(group: DeviceGroup, taken: Mapping[str, Fraction]) -> tuple[tuple[str, Fraction], ...]:
    """Return what is left of a shared device, rounded down to what the requests can tell apart."""
    left = []
    for key, whole in group.remaining:
        amounts = [amount for _, uses in group.uses for name, amount in uses if name == key]
        rest = whole - taken.get(key, Fraction())
        unit = common_unit(amounts)
        left.append((key, rest if not unit or rest < 0 else rest // unit * unit))
    return tuple(left)


def _idle_layout(scan: Scan, name: str) -> Layout:
    """Return a node's hardware with nothing in use, and all its counters.

    Devices that may be looked into are told apart by nothing but that: pods of one claim look into other devices than
    those that they take, and of equal ones only the number counts.
    """
    idle = eligibility(replace(scan.rules, idle=True, replicas=_ALL_COUNTERS), name)
    refuse_devices(scan.rules, idle)
    problem = scan.build(idle)
    identical: dict[object, DeviceGroup] = {}
    for at, group in enumerate(problem.groups):
        plain = not group.shareable and not group.draws and inspectors(problem, group)
        key: object = replace(group, devices=()) if plain else at
        known = identical.get(key)
        identical[key] = group if known is None else replace(known, devices=(*known.devices, *group.devices))
    drawn = {counter for group in problem.groups for counter, _ in group.draws}
    counters = tuple(row for row in problem.counters if row[0] in drawn)
    problem = replace(problem, groups=tuple(identical.values()), counters=counters)
    return layout_of(problem, [item.id for item in scan.views.view(name).devices])


def _counted_layout(scan: Scan, layout: Layout, name: str) -> Counted | None:
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


@dataclass
class Survey:
    """A scan, and the state of each node on which rules are plain; the other nodes are known by their problems alone.

    Under plain rules, what is in use is only missing, of devices, of shared devices or of counters. Pods may not take
    devices that other nodes see, nor such with node selectors of many terms, and pods with several claims have no admin
    access. There are no shared devices that draw on counters, that are requested with all others, that are looked into
    (`adminAccess`), or that a claim holds without a share. `problems` remembers the problem of a node, and where the
    devices of its groups are among the node's, by what it is exactly.
    """

    scan: Scan
    states: dict[str, NodeState] = field(default_factory=dict)
    problems: dict[Hashable, tuple[AllocationProblem, tuple[tuple[int, ...], ...], Print]] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Say whether the state of every node is known that was looked at."""
        return bool(self.states) and not self.scan.classes

    def devices(
        self, node: str, groups: Iterable[int] | None = None, *, held_too: bool = False
    ) -> dict[int, list[DeviceID]]:
        """Return the free devices of a node by group of its layout, or of some groups; with `held_too` all of them."""
        layout = self.scan.layouts[self.states[node].layout]
        return devices_by_group(self.scan, layout, node, groups, held_too=held_too)


def survey(rules: Rules, budget: Budget) -> Survey:
    """Look at every node once. Raises UnsupportedFeature as `sort_nodes` does."""
    scan, names, apart = Scan(rules, node_index(rules.cluster, rules.release)), rules.nodes, set[str]()
    if rules.cluster.network_slices:
        scan = look_at_nodes(rules, budget)
        names = tuple(name for name in names if name in scan.kind_of)
        apart.update(*coupled_devices(scan).values(), *coupled_pools(scan).values())
    if _looks_from_several_claims(rules):
        apart.update(names)
    layouts, seen, devices = Layouts(_is_plain), Survey(scan), KnownDevices(rules, scan.views)
    scan.layouts = layouts.made
    others: dict[str, Kind] = {}
    for number, name in enumerate(names):
        if budget.reached:
            break
        kind = shape_key(scan.views, name, rules.selecting, rules.attributes)
        layout = -1 if name in apart else layouts.add(scan, devices, kind, name)
        state = None if layout < 0 else layouts.state(scan, kind, name)
        # A shareable device that a claim holds without a share is in use, and its amounts do not say so.
        if state is None or holds_shareable(scan, layouts.made[layout], name):
            others[name] = kind
        else:
            seen.states[name] = state
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1} of {len(rules.nodes)} nodes")
    _by_problem(scan, others, budget)
    scan.note_unseen({*seen.states, *scan.kind_of})
    return seen


def _by_problem(scan: Scan, nodes: Mapping[str, Kind], budget: Budget) -> None:
    """Put the other nodes together that are equal."""
    scan.kind_of, scan.shapes = dict(nodes), {}
    for name, kind in nodes.items():
        scan.shapes.setdefault(kind, []).append(name)
    scan.count_matching()
    scan.classes = sort_nodes(scan, nodes, budget, idle=False)
    scan.kind_of = {name: nodes[name] for equal in scan.classes for name in equal.nodes}
    if len(scan.kind_of) < len(nodes):
        # Nodes share nothing with those that there was no time for.
        scan.coupled.clear()


def _looks_from_several_claims(rules: Rules) -> bool:
    """Say whether a pod of several claims asks for admin access: claims of one pod do not see one another."""
    # `pods.look_at` names them after the workload and the claim: "0.0", "0.1"
    pods = [(ask, part_of(ask.reference)[0].partition(".")) for ask in rules.asks]
    several = {pod for _, (pod, _, claim) in pods if claim not in ("", "0")}
    return any(ask.admin_access and pod in several for ask, (pod, _, _) in pods)


def _is_plain(problem: AllocationProblem) -> bool:
    for group in problem.groups:
        special = any(problem.asks[ask].admin_access or problem.asks[ask].all_devices for ask in group.asks)
        inspected = inspectors(problem, group)
        if group.tie is Tie.TERMS or (group.shareable and (group.draws or special)) or (group.draws and inspected):
            return False
    return True
