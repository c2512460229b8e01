"""Look at every node once: what is eligible there, which problem that is, and which nodes are equal for the claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.model.cluster import AllocatedDevices, Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.counters import left_of
from dra_lab.planner.eligible import NodeEligibility, Rules, eligibility
from dra_lab.planner.node_classes import Layout, fingerprint, layout_of, thinned
from dra_lab.planner.problem import AllocationProblem, build_problem
from dra_lab.planner.progress import Limits
from dra_lab.planner.refuse import refuse_devices
from dra_lab.planner.views import ClusterViews, Failure, shape_key, views_of
from dra_lab.topology.locality import localities

_TELL_EVERY = 500


@dataclass(frozen=True)
class EqualNodes:
    """Nodes that are equal for the claim, sorted; the first one stands for all.

    `now` and `idle` are the fingerprints of its problem as it is and as if nothing were in use; `layout` numbers the
    hardware of the first node, and `free` says how many devices of each group of that layout are free there.
    """

    nodes: tuple[str, ...]
    now: Hashable
    idle: Hashable
    layout: int = -1
    free: tuple[int, ...] = ()


@dataclass
class Scan:
    """What looking at the nodes found.

    `classes` are in the order of their first nodes; `idle_nodes` maps an idle fingerprint to a node that has it;
    `paired` says whether the claim asks for both GPUs and NICs; `complete` is False when the scan was ended early;
    `states` holds the layout of each node and what is free of its groups, where a layout tells that (else -1, ()).
    """

    rules: Rules
    views: ClusterViews
    paired: bool = False
    classes: tuple[EqualNodes, ...] = ()
    layouts: list[Layout] = field(default_factory=list)
    idle_nodes: dict[Hashable, str] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    unseen: tuple[str, ...] = ()
    states: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        """Return the cluster."""
        return self.rules.cluster

    @property
    def excluded(self) -> tuple[str, ...]:
        """Return the nodes of the cluster that are not asked about."""
        wanted = set(self.rules.nodes)
        return tuple(name for name in self.cluster.node_names if name not in wanted)

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing, expanded."""
        return self.rules.sketch

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release."""
        return self.rules.release

    def problem(self, node_name: str, *, idle: bool = False) -> AllocationProblem:
        """Return a node's problem, now or as if nothing were in use."""
        return self.build(eligibility(replace(self.rules, idle=idle), node_name))

    def devices(self, node_name: str) -> Mapping[DeviceID, Device]:
        """Return every device that a node sees."""
        return {item.id: item.device for item in self.views.view(node_name).devices}

    def build(self, found: NodeEligibility, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return the problem of what was found eligible on a node, without the links in `drop`."""
        places = localities(self.cluster, found.node)
        return build_problem(self.sketch, found, places, paired=self.paired, drop=drop)


def scan_nodes(rules: Rules, limits: Limits) -> Scan:
    """Look at every node and put equal ones together.

    Nodes with the same hardware are looked at once; what is in use there only thins out the groups of equal devices.
    Raises UnsupportedFeature when an eligible device needs a rule that the planner does not know.
    """
    scan = Scan(rules, views_of(rules.cluster, rules.release))
    shapes = node_shapes(scan, limits)
    scan.paired = _asks_for_pairs(scan, shapes)
    sorter = _Sorter(scan)
    for number, (shape, nodes) in enumerate(shapes.items()):
        for name in nodes:
            if limits.reached:
                break
            sorter.add(shape, name)
        limits.tell("nodes", f"looked at {number + 1} of {len(shapes)} kinds of nodes")
    seen = sorter.seen
    names = rules.nodes
    scan.complete = len(seen) == len(names)
    scan.unseen = tuple(name for name in names if name not in seen)
    scan.classes = tuple(
        replace(equal, nodes=tuple(sorted(sorter.nodes[key]))) for key, equal in sorter.classes.items()
    )
    return scan


def node_shapes(scan: Scan, limits: Limits) -> dict[tuple[int, ...], list[str]]:
    """Group the nodes by what they are apart from what is in use; refuse what the planner does not know."""
    rules = scan.rules
    wheres = tuple(dict.fromkeys(link.where for link in rules.sketch.links if not link.is_level))
    found: dict[tuple[int, ...], list[str]] = {}
    for number, name in enumerate(rules.nodes):
        if limits.reached:
            break
        found.setdefault(shape_key(scan.views, name, rules.asks, wheres), []).append(name)
        if number % _TELL_EVERY == _TELL_EVERY - 1:
            limits.tell("nodes", f"looked at {number + 1} of {len(rules.nodes)} nodes")
    for nodes in found.values():
        refuse_devices(rules, eligibility(replace(rules, idle=True), nodes[0]))
    return found


def _asks_for_pairs(scan: Scan, shapes: Mapping[tuple[int, ...], list[str]]) -> bool:
    """Say whether the claim's requests match both GPUs and NICs somewhere; count the matching devices on the way."""
    kinds: set[str] = set()
    for nodes in shapes.values():
        places = localities(scan.cluster, nodes[0])
        devices = scan.views.view(nodes[0]).devices
        for ask in scan.rules.asks:
            answers = scan.views.answers(ask)
            stages = answers.stages[answers.by_node[nodes[0]]]
            matching = [item for item, stage in zip(devices, stages, strict=True) if stage == "match"]
            kinds.update(places[item.id].kind for item in matching)
            scan.matched[ask.reference] = scan.matched.get(ask.reference, 0) + len(matching) * len(nodes)
    return {"gpu", "nic"} <= kinds


class _Sorter:
    """Puts nodes into classes: by hardware and shares once, then by what is held alone."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.seen: set[str] = set()
        self.classes: dict[tuple[Hashable, Hashable], EqualNodes] = {}
        self.nodes: dict[tuple[Hashable, Hashable], list[str]] = {}
        self._layouts: dict[Hashable, int] = {}
        self._prints: dict[tuple[int, tuple[int, ...]], Hashable] = {}
        self._idle: dict[tuple[int, ...], Hashable] = {}
        self._states: dict[Hashable, Hashable] = {}
        self._replicas = scan.rules.replicas
        self._each = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)

    def add(self, shape: tuple[int, ...], name: str) -> None:
        """Put one node into its class."""
        self.seen.add(name)
        if shape not in self._idle:
            self._idle[shape] = fingerprint(self.scan.problem(name, idle=True), replicas=self._replicas)
            self.scan.idle_nodes.setdefault(self._idle[shape], name)
        now, layout, free = self._now(shape, name)
        self.scan.states[name] = (layout, free)
        key = (now, self._idle[shape])
        self.nodes.setdefault(key, []).append(name)
        known = self.classes.get(key)
        if known is None or name < known.nodes[0]:
            self.classes[key] = EqualNodes((name,), *key, layout, free)

    def _now(self, shape: tuple[int, ...], name: str) -> tuple[Hashable, int, tuple[int, ...]]:
        devices = self.scan.views.view(name).devices
        held = self.scan.rules.allocated
        alone = {at for at, item in enumerate(devices) if item.id in held.exclusive}
        shared = tuple(
            (at, tuple(sorted(held.consumed.get(item.id, {}).items())))
            for at, item in enumerate(devices)
            if item.id in held.shares
        )
        counted = self.scan.views.view(name).counted
        if self._each or counted:
            # With All, admin access or counters a device in use does more than to be missing: every state for itself.
            left = tuple(sorted(left_of(self.scan.cluster, counted, held).items()))
            state = (shape, frozenset(alone), shared, left)
            if state not in self._states:
                self._states[state] = fingerprint(self.scan.problem(name), replicas=self._replicas)
            return self._states[state], -1, ()
        layout = self._layouts.get((shape, shared))
        if layout is None:
            layout = self._layouts[shape, shared] = len(self.scan.layouts)
            self.scan.layouts.append(self._layout(name))
        free = thinned(self.scan.layouts[layout], alone)
        if (layout, free) not in self._prints:
            problem = self.scan.layouts[layout].problem
            self._prints[layout, free] = fingerprint(problem, free, self._replicas, self.scan.layouts[layout].prepared)
        return self._prints[layout, free], layout, free

    def _layout(self, name: str) -> Layout:
        """Return a node's groups of equal devices as if no claim held a device alone."""
        held = self.scan.rules.allocated
        shares = AllocatedDevices({}, held.shares, held.consumed)
        found = eligibility(replace(self.scan.rules, held=shares), name)
        return layout_of(self.scan.build(found), [item.id for item in self.scan.views.view(name).devices])


def failing_devices(scan: Scan) -> Iterator[tuple[str, Failure]]:
    """Yield (ask, failure) for every device on which a selector of the claim fails at run time."""
    for ask in scan.rules.asks:
        for failure in scan.views.answers(ask).failures:
            yield ask.reference, failure
