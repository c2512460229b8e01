"""Cluster: a frozen snapshot of everything that was read about a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec

from dra_lab.errors import NodeError
from dra_lab.findings import Finding
from dra_lab.model.claims import AllocatedDevices, DeviceClass, ResourceClaim, ResourceClaimTemplate, allocated_devices
from dra_lab.model.device import Device, DeviceAttribute, DeviceTaint, without_scalar
from dra_lab.model.driver_profile import Profiles
from dra_lab.model.memo import Memo, once_per_hardware, once_per_snapshot, slice_values
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import FilePlaces, Node, ObjectMeta
from dra_lab.model.pods import Pod
from dra_lab.model.queues import QueueObject
from dra_lab.model.release import CountedRules, KubernetesRelease, release_of, release_of_cluster
from dra_lab.model.running import Move, PodDisruptionBudget, RunningPod
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice, grouped, node_of, pool_of
from dra_lab.model.topologies import TopologyObject
from dra_lab.printing import Shown

_Numbered = tuple[int, DeviceTaint]


@dataclass(frozen=True)
class Cluster(Shown):
    """A snapshot: ResourceSlices, DeviceClasses, Nodes, ResourceClaims, DeviceTaintRules, and where they came from.

    `pods` are those that were read, of a running cluster those that use claims; planning does not need them.
    `templates` are the ResourceClaimTemplates, None if none were read. `name` is what the person gave
    (`sample:eks-p4d`, a path). `read_at` is an ISO time or "" for samples. `findings` are those of the reader.
    `claims_known` is False if no claims were read, so that devices in use are unknown. `read_as` is the user of the
    kubeconfig who read it, "" for files and samples; `resource_versions` says from where a watch of each kind
    (`ResourceClaim`, or `ResourceClaim/namespace`) may go on, for a running cluster. `file_places` has, by node, places
    of devices that a file tells and no slice publishes; kube-scheduler sees none. `topologies` are objects
    that say which nodes are close and `queues` those of Kueue that limit what workloads may use; where it is
    followed, both as they were last read. `given_classes` are the names of
    `classes` that a claim's own files bring and the real cluster does not have so. `server_version` is that of the API
    server (`v1.36.2`), "" if it is not known. `profiles` are the person's own profiles of drivers, which come before
    those of dra_lab. `leaving` are pods that ran on nodes which are gone, and that every question plans
    again, before anything else (`without_nodes`); `moves` says where such pods went, and `waiting` are those that found
    no place. `feature_gates` are those that differ from the defaults of its release. `memo` keeps what is derived from
    the other fields; it is no part of the value.

    Example:
        >>> from dra_lab import load_cluster
        >>> load_cluster("sample:two-sockets").node_named("lab-1").name
        'lab-1'
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
    file_places: Mapping[str, FilePlaces] = field(default_factory=dict)
    topologies: tuple[TopologyObject, ...] = ()
    queues: tuple[QueueObject, ...] = ()
    given_classes: frozenset[str] = frozenset()
    templates: tuple[ResourceClaimTemplate, ...] | None = None
    server_version: str = ""
    profiles: Profiles = field(default_factory=dict)
    leaving: tuple[RunningPod, ...] = ()
    moves: tuple[Move, ...] = ()
    waiting: tuple[RunningPod, ...] = ()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Return the hash of what names it; clusters are equal if all that they hold is."""
        return hash((self.name, len(self.slices), len(self.claims), len(self.nodes)))

    def __repr__(self) -> str:
        """Return what tells clusters apart in a line; `print` shows what is in it."""
        return f"<Cluster {self.name!r}: {len(self.nodes)} nodes, {len(self.slices)} slices, {len(self.claims)} claims>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes without what was derived: that is much, and some of it goes by identity."""
        values = vars(self)
        return Cluster, tuple(values[member.name] for member in fields(self) if member.init)

    @property
    def claims_in_part(self) -> bool:
        """Say whether the claims of some namespaces only were read (`--read-namespace`): others may hold devices."""
        return any(finding.rule == "claims-some-namespaces" for finding in self.findings)

    @property
    @once_per_snapshot
    def budgets(self) -> tuple[PodDisruptionBudget, ...]:
        """Return the PodDisruptionBudgets."""
        return tuple(one for one in self.queues if isinstance(one, PodDisruptionBudget))

    @property
    @once_per_snapshot
    def class_by_name(self) -> Mapping[str, DeviceClass]:
        """Return the DeviceClasses by name."""
        return {device_class.name: device_class for device_class in self.classes}

    @property
    @once_per_snapshot
    def node_by_name(self) -> Mapping[str, Node]:
        """Return the nodes by name; a node that only a slice names is there with its hostname label alone."""
        known = {node.name: node for node in self.nodes}
        return {name: known.get(name) or self._unread_nodes[name] for name in self.node_names}

    @property
    @once_per_hardware
    def _unread_nodes(self) -> Mapping[str, Node]:
        named = {s.spec.node_name for s in self.slices if s.spec.node_name} - {node.name for node in self.nodes}
        labels = ((name, {"kubernetes.io/hostname": name}) for name in named)
        return {name: Node(metadata=ObjectMeta(name=name, labels=own)) for name, own in labels}

    def node_named(self, name: str) -> Node:
        """Return a node by name.

        Args:
            name: The name of the node.

        Returns:
            The node.

        Raises:
            NodeError: There is no such node; the message has the most similar name or the first names.
        """
        if name not in self.node_by_name:
            raise NodeError.unknown(name, self.node_names, self.name or "the cluster")
        return self.node_by_name[name]

    @property
    @once_per_hardware
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, sorted."""
        return tuple(sorted({*self._unread_nodes, *(node.name for node in self.nodes)}))

    @property
    @once_per_snapshot
    def cordoned(self) -> frozenset[str]:
        """Return the nodes on which kube-scheduler (NodeUnschedulable) starts only pods that tolerate it."""
        return frozenset(node.name for node in self.nodes if node.spec.unschedulable)

    @property
    @once_per_snapshot
    def open_nodes(self) -> frozenset[str]:
        """Return the nodes that are not cordoned."""
        return frozenset(self.node_names) - self.cordoned

    @property
    @once_per_hardware
    def slices_by_node(self) -> Mapping[str, tuple[ResourceSlice, ...]]:
        """Return the slices with `nodeName`, by node, in the order in which they were read."""
        return grouped(self.slices, node_of)

    @property
    @once_per_hardware
    def network_slices(self) -> tuple[ResourceSlice, ...]:
        """Return the slices without `nodeName`: network-attached or selected per device."""
        return tuple(slice_ for slice_ in self.slices if not slice_.spec.node_name)

    @property
    @once_per_hardware
    def counter_slices(self) -> tuple[ResourceSlice, ...]:
        """Return the slices with `nodeName` that declare shared counters."""
        return tuple(s for s in self.slices if s.spec.node_name and s.spec.shared_counters is not None)

    @property
    @once_per_hardware
    def partitioned(self) -> bool:
        """Say whether any slice has what the gate DRAPartitionableDevices is about: then it changes what nodes see."""
        return any(
            s.spec.per_device_node_selection
            or s.spec.shared_counters is not None
            or any(device.consumes_counters for device in s.spec.devices or ())
            for s in self.slices
        )

    @property
    @once_per_hardware
    def slices_by_pool(self) -> Mapping[tuple[str, str], tuple[ResourceSlice, ...]]:
        """Return all slices by (driver, pool name), whatever their generation."""
        return grouped(self.slices, pool_of)

    @property
    @once_per_hardware
    def drivers(self) -> tuple[str, ...]:
        """Return the names of the drivers that publish slices, sorted."""
        return tuple(sorted({slice_.spec.driver for slice_ in self.slices}))

    @property
    @once_per_snapshot
    def allocated(self) -> AllocatedDevices:
        """Return what the claims hold: admin results block no other claim, results with a shareID are shares."""
        return allocated_devices(self.claims)

    @property
    @once_per_snapshot
    def default_release(self) -> str:
        """Return the release of the API server, else of the lowest kubelet version read, else the default release."""
        return release_of_cluster(self.server_version, (n.status.node_info.kubelet_version for n in self.nodes))

    def target_release(self, given: KubernetesRelease | str | None = None) -> KubernetesRelease:
        """Return the release to plan for, with the gates that the slices prove.

        Every answer about this cluster uses this one set of gates.

        Args:
            given: A release, or its version as text; default None: `default_release`.

        Returns:
            The release.

        Raises:
            InputError: The text is not a release.
        """
        own = KubernetesRelease(self.default_release, self.feature_gates) if self.feature_gates else None
        return release_of(given or own, self.default_release, lists=self.publishes_lists)

    @property
    @once_per_hardware
    def publishes_lists(self) -> bool:
        """Say whether any device publishes a list-typed attribute."""
        return any(attribute.is_list for attribute in self._without_scalar)

    @property
    @once_per_hardware
    def publishes_empty_attributes(self) -> bool:
        """Say whether any device publishes an attribute without a value; every selector fails on such a device."""
        return not all(attribute.is_list for attribute in self._without_scalar)

    @property
    @once_per_hardware
    def _without_scalar(self) -> tuple[DeviceAttribute, ...]:
        known, found = slice_values(self, without_scalar), list[DeviceAttribute]()
        for slice_ in self.slices:
            own = known.get(id(slice_))
            if own is None:
                own = known.setdefault(id(slice_), without_scalar(slice_.spec.devices or ()))
            found += own
        return tuple(found)

    def with_objects(self, **changes: Any) -> Cluster:
        """Return the cluster with other values of some fields; what is derived from the others is kept (`Memo`).

        Args:
            **changes: The new values, by the name of the field.

        Returns:
            A new cluster.
        """
        made = replace(self, **changes)
        same = {name for name, value in vars(self).items() if vars(made)[name] is value}
        labels = bool(self.network_slices)  # labels place devices only where slices select nodes by them
        if same_nodes(self.nodes, made.nodes, labels=labels):
            same.add("places")
        made.memo.take(self.memo, same, made.slices)
        return made

    def with_profiles(self, own: Profiles) -> Cluster:
        """Return the cluster with a person's profiles in place of those that it has of the same drivers.

        Args:
            own: The profiles, by driver.

        Returns:
            A new cluster, or this one if it has them.
        """
        wanted = {**self.profiles, **own}
        return self if wanted == self.profiles else self.with_objects(profiles=wanted)

    @property
    @once_per_snapshot
    def rules_taint(self) -> CountedRules:
        """Say whether DeviceTaintRules count where only the cluster is known: in its default release they do."""
        return KubernetesRelease(self.default_release, self.feature_gates).counted_rules

    def taints_of(
        self, device_id: DeviceID, device: Device, *, rules: CountedRules | bool | None = None
    ) -> tuple[DeviceTaint, ...]:
        """Return a device's taints, followed by those of matching DeviceTaintRules.

        Args:
            device_id: The key of the device.
            device: The device as published.
            rules: The rules that count (gate DRADeviceTaintRules); default None: `rules_taint` decides.

        Returns:
            The taints, in the order of the slice, then of the rules.
        """
        counted = self.rules_taint if rules is None else rules
        if not self.taint_rules or not counted:
            return device.taints
        extra: list[_Numbered] = [] if counted is CountedRules.SELECTING else [*self._unselecting]
        for named, taints in self._rules_by_device.items():
            key = tuple(part if wanted else None for part, wanted in zip(device_id, named, strict=True))
            extra += taints.get(key, ())
        return (*device.taints, *(taint for _, taint in sorted(extra, key=lambda found: found[0])))

    @property
    @once_per_snapshot
    def _rules_by_device(self) -> Mapping[tuple[bool, ...], Mapping[tuple[str | None, ...], list[_Numbered]]]:
        """Return the taints of rules with their places, by which of driver, pool and device is named, and by these.

        A large cluster may have a rule for each of many devices, and each device is looked up.
        """
        found: dict[tuple[bool, ...], dict[tuple[str | None, ...], list[_Numbered]]] = {}
        for number, rule in enumerate(self.taint_rules):
            wanted = rule.spec.device_selector
            if wanted is None:
                continue
            key = (wanted.driver, wanted.pool, wanted.device)
            named = tuple(part is not None for part in key)
            found.setdefault(named, {}).setdefault(key, []).append((number, rule.spec.taint))
        return found

    @property
    @once_per_snapshot
    def _unselecting(self) -> tuple[_Numbered, ...]:
        return tuple(
            (at, rule.spec.taint) for at, rule in enumerate(self.taint_rules) if rule.spec.device_selector is None
        )


def same_nodes(before: tuple[Node, ...], after: tuple[Node, ...], *, labels: bool = True) -> bool:
    """Say whether nodes have the same names and `labels`: a node that is cordoned or tainted changes nothing."""
    return before is after or (
        len(before) == len(after)
        and all(
            old is new or (old.name == new.name and (not labels or old.metadata.labels == new.metadata.labels))
            for old, new in zip(before, after, strict=True)
        )
    )


@once_per_snapshot
def cluster_fingerprint(cluster: Cluster) -> str:
    """Return 16 hexadecimal digits that are the same for equal slices, nodes, claims, classes and profiles."""
    import hashlib

    found = hashlib.blake2b(digest_size=8)
    for part in (cluster.slices, cluster.nodes, cluster.claims, cluster.classes, cluster.taint_rules):
        found.update(msgspec.msgpack.encode(part))
    if cluster.profiles:
        found.update(msgspec.msgpack.encode(cluster.profiles, order="sorted"))
    return found.hexdigest()
