"""Cluster: a frozen snapshot of everything that was read about a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dra_lab.errors import NodeError
from dra_lab.findings import Finding
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.device import Device, DeviceTaint, has_lists
from dra_lab.model.grouped import grouped, node_of, pool_of, regrouped
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.overlay import Overlay
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease, release_of, release_of_kubelet
from dra_lab.model.shelf import Change, Earlier, Shelf, slices_changed
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.told import told
from dra_lab.model.topologies import Topology
from dra_lab.model.workloads import Pod


@dataclass(frozen=True)
class AllocatedDevices:
    """The devices that claims hold (docs/semantics.md 3.14): what the scheduler subtracts before it looks.

    `exclusive` maps a device to the claim (`namespace/name`) that holds it alone; `shares` maps a shareable device to
    the claims that hold a share; `consumed` sums, per device and capacity key, what the shares took. `contested` says
    that several claims hold the same device alone, of which `exclusive` tells the last.
    """

    exclusive: Mapping[DeviceID, str] = field(default_factory=dict)
    shares: Mapping[DeviceID, tuple[str, ...]] = field(default_factory=dict)
    consumed: Mapping[DeviceID, Mapping[str, Fraction]] = field(default_factory=dict)
    contested: bool = False

    def holders(self, device: DeviceID) -> tuple[str, ...]:
        """Return the claims that hold a device, alone or a share of it."""
        alone = self.exclusive.get(device)
        return (alone,) if alone is not None else self.shares.get(device, ())

    def differing(self, other: AllocatedDevices) -> set[DeviceID]:
        """Return the devices of which not the same is in use here and there, whoever holds it."""
        if self is other:
            return set()
        found = set(self.exclusive.keys() ^ other.exclusive.keys())
        shared = {*self.shares, *other.shares, *self.consumed, *other.consumed}
        return found | {
            device
            for device in shared
            if self.shares.get(device) != other.shares.get(device)
            or self.consumed.get(device) != other.consumed.get(device)
        }


_Numbered = tuple[int, DeviceTaint]

_SHELVES = ("gathered", "located", "hardware")
_LISTS = "_publishes_lists"
_FEW, _LEAST = 0.1, 3
"""The share of slices, or of nodes, and the number, up to which a change leaves most of what was worked out."""

_WORKED_OUT_FROM: Mapping[str, tuple[str, ...]] = {
    "class_by_name": ("classes",),
    "node_by_name": ("nodes", "slices"),
    "node_names": ("labels", "slices"),
    "slices_by_node": ("slices",),
    "network_slices": ("slices",),
    "counter_slices": ("slices",),
    "slices_by_pool": ("slices",),
    "drivers": ("slices",),
    "allocated": ("claims",),
    "default_release": ("nodes",),
    "rules_taint": ("nodes",),
    "_rules_by_device": ("taint_rules",),
    "pod_keys": ("pods",),
    "telling_pods": ("pods",),
    "partitioned": ("slices",),
    "gathered": ("slices", "labels"),
    "located": ("slices", "labels", "overlays"),
    "hardware": ("slices", "labels", "classes", "overlays"),
}
"""What is remembered of a Cluster, and the fields that it depends on; `labels` are names and labels of the nodes."""


@dataclass(frozen=True)
class Cluster:
    """A snapshot: ResourceSlices, DeviceClasses, Nodes, ResourceClaims, DeviceTaintRules, and where they came from.

    `pods` are those that use claims, as far as pods were read; planning does not need them.
    `name` is what the person gave (`sample:eks-p4d`, a path); `read_at` is an ISO time or "" for samples; `findings`
    is what the reader noticed; `claims_known` is False where no claims were read, so that devices in use are unknown.
    `read_as` is the user of the kubeconfig who read it, "" for files and samples; `resource_versions` says from where a
    watch of each kind (`ResourceClaim`, or `ResourceClaim/namespace`) may go on, for a running cluster.
    `overlays` gives, by node, places of devices that a file tells and no slice publishes; kube-scheduler sees none.
    `topologies` name the labels of nodes that are levels of the fabric; where it is followed, as they were last read.
    `given_classes` are the names of `classes` that a claim's own files bring and the real cluster does not have so.
    """

    slices: tuple[ResourceSlice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    nodes: tuple[Node, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    taint_rules: tuple[DeviceTaintRule, ...] = ()
    name: str = ""
    read_at: str = ""
    findings: tuple[Finding, ...] = ()
    claims_known: bool = True
    pods: tuple[Pod, ...] = ()
    read_as: str = ""
    resource_versions: Mapping[str, str] = field(default_factory=dict)
    overlays: Mapping[str, Overlay] = field(default_factory=dict)
    topologies: tuple[Topology, ...] = ()
    given_classes: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Return what is in it as a terminal shows it: a line, a row for each kind of device, the fabric, findings."""
        return told(self)

    def __getstate__(self) -> dict[str, Any]:
        """Travel between processes without what was worked out: that is much, and some of it goes by identity."""
        return {member.name: getattr(self, member.name) for member in fields(self)}

    @property
    def claims_in_part(self) -> bool:
        """Say whether the claims of some namespaces only were read (`--read-namespace`): others may hold devices."""
        return any(finding.rule == "claims-some-namespaces" for finding in self.findings)

    @cached_property
    def class_by_name(self) -> Mapping[str, DeviceClass]:
        """Return the DeviceClasses by name."""
        return {device_class.name: device_class for device_class in self.classes}

    @cached_property
    def node_by_name(self) -> Mapping[str, Node]:
        """Return the nodes by name; a node that only a slice names is there with its hostname label alone."""
        known = {node.name: node for node in self.nodes}
        for slice_ in self.slices:
            name = slice_.spec.node_name
            if name and name not in known:
                labels = {"kubernetes.io/hostname": name}
                known[name] = Node(metadata=ObjectMeta(name=name, labels=labels))
        return dict(sorted(known.items()))

    def node_named(self, name: str) -> Node:
        """Return a node by name. Raises NodeError, with the most similar name or the first names there are."""
        if name not in self.node_by_name:
            raise NodeError.unknown(name, self.node_names, self.name or "the cluster")
        return self.node_by_name[name]

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, sorted."""
        return tuple(self.node_by_name)

    @cached_property
    def slices_by_node(self) -> Mapping[str, tuple[ResourceSlice, ...]]:
        """Return the slices with `nodeName`, by node, in the order in which they were read."""
        return grouped(self.slices, node_of)

    @cached_property
    def network_slices(self) -> tuple[ResourceSlice, ...]:
        """Return the slices without `nodeName`: network-attached or selected per device."""
        return tuple(slice_ for slice_ in self.slices if not slice_.spec.node_name)

    @cached_property
    def counter_slices(self) -> tuple[ResourceSlice, ...]:
        """Return the slices with `nodeName` that declare shared counters."""
        return tuple(s for s in self.slices if s.spec.node_name and s.spec.shared_counters is not None)

    @cached_property
    def partitioned(self) -> bool:
        """Say whether any slice has what the gate DRAPartitionableDevices is about: then it changes what nodes see."""
        return any(s.spec.per_device_node_selection or s.spec.shared_counters is not None for s in self.slices)

    @cached_property
    def gathered(self) -> Shelf:
        """Return where rooms remember what depends on slices and labels of nodes alone: above all what nodes see."""
        return Shelf()

    @cached_property
    def located(self) -> Shelf:
        """Return where `topology.locality` remembers the places of devices."""
        return Shelf()

    @cached_property
    def slices_by_pool(self) -> Mapping[tuple[str, str], tuple[ResourceSlice, ...]]:
        """Return all slices by (driver, pool name), whatever their generation."""
        return grouped(self.slices, pool_of)

    @cached_property
    def drivers(self) -> tuple[str, ...]:
        """Return the names of the drivers that publish slices, sorted."""
        return tuple(sorted({slice_.spec.driver for slice_ in self.slices}))

    @cached_property
    def hardware(self) -> Shelf:
        """Return where other rooms remember what depends on slices, labels of nodes, classes and overlays alone.

        It goes on with `with_objects` while these stay, so nothing in it may hold the Cluster itself. Where a few
        slices or nodes change, the new one has it as `earlier`.
        """
        return Shelf()

    @cached_property
    def allocated(self) -> AllocatedDevices:
        """Return what the claims hold: admin results block nobody, results with a shareID are shares."""
        return allocated_devices(self.claims)

    @cached_property
    def pod_keys(self) -> frozenset[tuple[str, str]]:
        """Return namespace and name of the pods that were read."""
        return frozenset((pod.metadata.namespace, pod.metadata.name) for pod in self.pods)

    @cached_property
    def telling_pods(self) -> tuple[Pod, ...]:
        """Return the pods whose status tells something of the resources that their containers have (KEP-4680)."""
        return tuple(
            pod
            for pod in self.pods
            if any(one.allocated_resources_status for one in pod.status.container_statuses)
            or any(one.allocated_resources_status for one in pod.status.init_container_statuses)
        )

    @cached_property
    def default_release(self) -> str:
        """Return the release of the lowest kubelet version read, else the default release."""
        return release_of_kubelet(tuple(n.status.node_info.kubelet_version for n in self.nodes))

    def target_release(self, given: KubernetesRelease | str | None = None) -> KubernetesRelease:
        """Return the release to plan for: the one given, else the default, with the gates that the slices prove.

        Every answer about this cluster uses this one set of gates. Raises InputError for what is no release.
        """
        return release_of(given or None, self.default_release, lists=self.publishes_lists)

    @property
    def publishes_lists(self) -> bool:
        """Say whether any device publishes a list-typed attribute; looked up once for as long as the slices stay."""

        def make(earlier: Earlier[bool] | None) -> bool:
            slices = earlier[1].come if earlier is not None and not earlier[0] else self.slices
            return any(has_lists(device) for slice_ in slices for device in slice_.spec.devices or ())

        return self.gathered.find(_LISTS, make)

    def with_objects(self, **changes: Any) -> Cluster:
        """Return the cluster with other values of some fields; what was worked out from the others is kept.

        For clusters that are followed: a claim that comes or goes costs nothing that was worked out from slices.
        """
        made = replace(self, **changes)
        # made now, so that both write into one
        _ = self.gathered, self.located, self.hardware
        changed = {name for name, value in changes.items() if value is not getattr(self, name)}
        if "nodes" in changed and not _same_labels(self.nodes, made.nodes):
            changed.add("labels")
        for name, sources in _WORKED_OUT_FROM.items():
            if name in self.__dict__ and changed.isdisjoint(sources):
                made.__dict__[name] = self.__dict__[name]
        shelves = [name for name in _SHELVES if name not in made.__dict__]
        if shelves and "classes" not in changed:
            change = self._change(made, labels="labels" in changed)
            for name in shelves if change is not None else ():
                made.__dict__[name] = self.__dict__[name].after(change)
        if "slices" in changed:
            self._regroup(made)
        if "claims" in changed and made.claims and "allocated" in self.__dict__:
            known = _allocated_after(self.allocated, self.claims, made.claims)
            if known is not None:
                made.__dict__["allocated"] = known
        return made

    def _regroup(self, after: Cluster) -> None:
        """Let the groups of slices go on that a change does not touch: of 5,000 nodes they are 100,000 objects."""
        groups: tuple[tuple[str, Callable[[ResourceSlice], Any]], ...]
        groups = (("slices_by_node", node_of), ("slices_by_pool", pool_of))
        for name, key_of in groups:
            before = self.__dict__.get(name)
            found = None if before is None else regrouped(before, self.slices, after.slices, key_of)
            if found is not None:
                after.__dict__[name] = found

    def _change(self, after: Cluster, *, labels: bool) -> Change | None:
        """Return what is different for devices and places, None where it is much."""
        gone, come = slices_changed(self.slices, after.slices)
        nodes = _relabelled(self.nodes, after.nodes) if labels else set()
        old, new = self.overlays, after.overlays
        nodes |= {name for name in old.keys() | new.keys() if old.get(name) is not new.get(name)}
        few = max(len(gone), len(come)) <= max(_FEW * len(self.slices), _LEAST)
        return (
            Change(gone, come, frozenset(nodes)) if few and len(nodes) <= max(_FEW * len(self.nodes), _LEAST) else None
        )

    @cached_property
    def rules_taint(self) -> bool:
        """Say whether DeviceTaintRules count where only the cluster is asked about: in its default release they do."""
        return KubernetesRelease(self.default_release).enabled("DRADeviceTaintRules")

    def taints_of(self, device_id: DeviceID, device: Device, *, rules: bool | None = None) -> tuple[DeviceTaint, ...]:
        """Return a device's taints; with `rules` (gate DRADeviceTaintRules), those of matching rules follow.

        Without it, `rules_taint` decides.
        """
        if not self.taint_rules or not (self.rules_taint if rules is None else rules):
            return device.taints
        extra: list[_Numbered] = []
        for named, taints in self._rules_by_device.items():
            asked = tuple(part if wanted else None for part, wanted in zip(device_id, named, strict=True))
            extra += taints.get(asked, ())
        return (*device.taints, *(taint for _, taint in sorted(extra, key=lambda found: found[0])))

    @cached_property
    def _rules_by_device(self) -> Mapping[tuple[bool, ...], Mapping[tuple[str | None, ...], list[_Numbered]]]:
        """Return the taints of rules with their places, by which of driver, pool and device is named, and by these.

        A large cluster may have a rule for each of many devices, and each device is asked about.
        """
        found: dict[tuple[bool, ...], dict[tuple[str | None, ...], list[_Numbered]]] = {}
        for number, rule in enumerate(self.taint_rules):
            wanted = rule.spec.device_selector
            asked = (wanted.driver, wanted.pool, wanted.device) if wanted else (None, None, None)
            named = tuple(part is not None for part in asked)
            found.setdefault(named, {}).setdefault(asked, []).append((number, rule.spec.taint))
        return found


def _same_labels(before: tuple[Node, ...], after: tuple[Node, ...]) -> bool:
    """Say whether nodes differ in nothing that places devices: a node that is cordoned or tainted changes nothing."""
    return len(before) == len(after) and all(
        old is new or (old.name == new.name and old.metadata.labels == new.metadata.labels)
        for old, new in zip(before, after, strict=True)
    )


def _relabelled(before: tuple[Node, ...], after: tuple[Node, ...]) -> set[str]:
    """Return the names of the nodes that came, went or have other labels."""
    old, new = {node.name: node for node in before}, {node.name: node for node in after}
    moved = (name for name, node in old.items() if name in new and node.metadata.labels != new[name].metadata.labels)
    return (old.keys() ^ new.keys()).union(moved)


def allocated_devices(claims: tuple[ResourceClaim, ...]) -> AllocatedDevices:
    """Sum up what claims hold through `status.allocation` (docs/semantics.md 3.14.1 to 3.14.4)."""
    exclusive: dict[DeviceID, str] = {}
    shares: dict[DeviceID, list[str]] = defaultdict(list)
    consumed: dict[DeviceID, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    contested = False
    for claim in claims:
        holder = f"{claim.metadata.namespace}/{claim.metadata.name}"
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            if result.admin_access:
                continue
            device = result.id
            if result.share_id is None:
                contested = contested or device in exclusive
                exclusive[device] = holder
                continue
            shares[device].append(holder)
            for key, amount in result.consumed_capacity.items():
                consumed[device][key] += parse_quantity(amount)
    return AllocatedDevices(
        exclusive,
        {device: tuple(holders) for device, holders in shares.items()},
        {device: dict(amounts) for device, amounts in consumed.items()},
        contested,
    )


def _allocated_after(
    known: AllocatedDevices, before: tuple[ResourceClaim, ...], after: tuple[ResourceClaim, ...]
) -> AllocatedDevices | None:
    """Return what the claims `after` hold, from what those `before` held: only claims that came or went are looked at.

    None where that does not tell: a share changed (shares stand in the order of the claims), or several claims hold
    the same device alone.
    """
    if known.contested:
        return None
    if len(before) == len(after):  # mostly some claims changed where they stand: the others need no look
        pairs = [pair for pair in zip(before, after, strict=True) if pair[0] is not pair[1]]
        before, after = tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs])
    old, new = dict(zip(map(id, before), before, strict=True)), dict(zip(map(id, after), after, strict=True))
    gone = allocated_devices(tuple([old[key] for key in old if key not in new]))
    come = allocated_devices(tuple([new[key] for key in new if key not in old]))
    if gone.shares or come.shares or come.contested:
        return None
    exclusive = dict(known.exclusive)
    for device in gone.exclusive:
        del exclusive[device]
    if not exclusive.keys().isdisjoint(come.exclusive):
        return None
    exclusive.update(come.exclusive)
    return AllocatedDevices(exclusive, known.shares, known.consumed)
