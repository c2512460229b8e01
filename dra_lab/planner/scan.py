"""Look at every node once: what is eligible there, which problem that is, and which nodes are equal for the claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import devices_on, gather_pools
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.eligible import NodeEligibility, Rules, Stage, eligibility
from dra_lab.planner.node_classes import fingerprint
from dra_lab.planner.problem import AllocationProblem, build_problem
from dra_lab.planner.progress import Limits
from dra_lab.planner.refuse import refuse_devices
from dra_lab.topology.locality import localities

_TELL_EVERY = 200


@dataclass(frozen=True)
class EqualNodes:
    """Nodes that are equal for the claim, sorted; the first one stands for all.

    `now` and `idle` are the fingerprints of its problem as it is and as if nothing were in use.
    """

    nodes: tuple[str, ...]
    now: Hashable
    idle: Hashable


@dataclass
class Scan:
    """What looking at the nodes found.

    `classes` are in the order of their first nodes; `idle_nodes` maps an idle fingerprint to a node that has it;
    `paired` says whether the claim asks for both GPUs and NICs; `complete` is False when the scan was ended early.
    """

    rules: Rules
    paired: bool = False
    classes: tuple[EqualNodes, ...] = ()
    idle_nodes: dict[Hashable, str] = field(default_factory=dict)
    errors: dict[str, list[tuple[DeviceID, str, str]]] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    unseen: tuple[str, ...] = ()

    @property
    def cluster(self) -> Cluster:
        """Return the cluster."""
        return self.rules.cluster

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing, expanded."""
        return self.rules.sketch

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release."""
        return self.rules.release

    def problem(self, node_name: str, *, idle: bool = False, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return a node's problem, now or as if nothing were in use, with all links or without some."""
        found = eligibility(replace(self.rules, idle=idle), node_name)
        return self.build(found, drop)

    def devices(self, node_name: str) -> Mapping[DeviceID, Device]:
        """Return every device that a node sees."""
        gate = self.release.enabled("DRAPartitionableDevices")
        pools = gather_pools(self.cluster, node_name, partitionable_devices=gate)
        return {item.id: item.device for item in devices_on(pools)}

    def build(self, found: NodeEligibility, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return the problem of what was found eligible on a node."""
        places = localities(self.cluster, found.node)
        return build_problem(self.sketch, found, places, paired=self.paired, drop=drop)


def scan_nodes(rules: Rules, limits: Limits) -> Scan:
    """Look at every node and put equal ones together.

    Raises UnsupportedFeature when an eligible device needs a rule that the planner does not know.
    """
    scan = Scan(rules)
    found: list[tuple[NodeEligibility, NodeEligibility]] = []
    names = rules.cluster.node_names
    for name in names:
        if limits.reached:
            break
        now = eligibility(rules, name)
        refuse_devices(rules, now)
        idle = eligibility(replace(rules, idle=True), name) if _in_use(rules, now) else now
        _note(scan, now)
        found.append((now, idle))
        if len(found) % _TELL_EVERY == 0:
            limits.tell("nodes", f"looked at {len(found)} of {len(names)} nodes", len(found), len(names))
    kinds = set().union(*scan.kinds.values()) if scan.kinds else set()
    scan.paired = {"gpu", "nic"} <= kinds
    scan.complete = len(found) == len(names)
    scan.unseen = names[len(found) :]
    classes: dict[tuple[Hashable, Hashable], list[str]] = {}
    for now, idle in found:
        key = fingerprint(scan.build(now))
        idle_key = key if idle is now else fingerprint(scan.build(idle))
        classes.setdefault((key, idle_key), []).append(now.node)
        scan.idle_nodes.setdefault(idle_key, now.node)
    scan.classes = tuple(EqualNodes(tuple(nodes), *key) for key, nodes in classes.items())
    return scan


def _in_use(rules: Rules, found: NodeEligibility) -> bool:
    held = rules.allocated
    return any(device in held.exclusive or device in held.shares for device in found.seen)


def _note(scan: Scan, found: NodeEligibility) -> None:
    places = localities(scan.cluster, found.node)
    for part in found.asks:
        scan.errors.setdefault(part.ask.reference, []).extend(part.errors)
        kinds = scan.kinds.setdefault(part.ask.reference, set())
        matching = [device for device, stage in part.stages.items() if stage > Stage.SELECTOR]
        scan.matched[part.ask.reference] = scan.matched.get(part.ask.reference, 0) + len(matching)
        kinds.update(places[device].kind for device in matching)


def failing_devices(scan: Scan) -> Iterator[tuple[str, DeviceID, str, str]]:
    """Yield (ask, device, expression, message) of every selector that fails at run time on a device."""
    for reference, errors in scan.errors.items():
        for device, expression, message in errors:
            yield reference, device, expression, message
