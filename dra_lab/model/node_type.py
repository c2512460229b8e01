"""Node types that may be added to a cluster, and the answer to which nodes have to be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypedDict, Unpack

from msgspec import Struct

from dra_lab.errors import InputError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import NUMA_NODE, PCIE_ROOT
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.model.workload import Workload
from dra_lab.printing import Shown

MOST_DECIMALS = 6
"""Digits after the point that a cost may have."""


@dataclass(frozen=True, slots=True)
class NewDomains:
    """Domains that do not exist yet, for example racks that can be set up.

    Node types with equal NewDomains share these domains: one new rack may have nodes of several types.

    Args:
        nodes: How many nodes one new domain has places for.
        most: How many new domains there may be; None: no limit.
        level: The level of the new domains, for example `rack`; "": that of the node type.
        inside: The value or path of the existing domain that contains them, for example a block; "": any.
    """

    nodes: int
    most: int | None = None
    level: str = ""
    inside: str = ""

    def __post_init__(self) -> None:
        """Raise InputError for numbers that make no sense."""
        if self.nodes < 1 or (self.most is not None and self.most < 0):
            raise InputError(f"new domains of {self.nodes} nodes, {self.most} at most: give 1 node or more, 0 or more")


class Where(TypedDict, total=False):
    """What one node of a type costs, and where such nodes may go; `NodeType` explains the fields."""

    cost: float
    places: int | Mapping[str, int] | None
    level: str
    hierarchy: str
    new_domains: NewDomains | int | None


@dataclass(frozen=True, slots=True)
class NodeType:
    """Nodes that may be added: their hardware, what one costs, and where they may go.

    Make one with `NodeType.like`, `NodeType.from_slices` or `NodeType.from_roots`.

    Args:
        name: The name of the type. New nodes are called after it.
        node: The node of the cluster that is copied; "" if `slices` describe the hardware.
        slices: The slices of one node that describe the hardware; () if a node is copied.
        labels: Labels of the new nodes besides those that name their domains.
        cost: What one node costs, 0.000001 or more, in any unit.
        places: How many such nodes each existing domain has a place for: one number for every domain, or a number for
            each domain by its value or path, 0 for the others. None: no limit.
        level: The level of these domains; "": the innermost level of the hierarchy that the gangs name.
        hierarchy: The name of the hierarchy of this level; "": the only one that has it.
        new_domains: Domains that may be made for such nodes, or how many nodes each has places for; None: no new ones.

    Example:
        >>> from dra_lab import NodeType
        >>> NodeType.like("n41", cost=3.0, places=0, new_domains=18).name
        'n41'
    """

    name: str
    node: str = ""
    slices: tuple[ResourceSlice, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    cost: float = 1.0
    places: int | Mapping[str, int] | None = None
    level: str = ""
    hierarchy: str = ""
    new_domains: NewDomains | int | None = None

    def __hash__(self) -> int:
        """Return the hash of the name and the hardware."""
        return hash((self.name, self.node, self.slices))

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        return f"<NodeType {self.name!r}: {f'like {self.node}' if self.node else 'of its slices'}, cost {self.cost:g}>"

    def __post_init__(self) -> None:
        """Keep the slices as a tuple; raise InputError for what makes no sense."""
        object.__setattr__(self, "slices", tuple(self.slices))
        if isinstance(self.new_domains, int):
            object.__setattr__(self, "new_domains", NewDomains(self.new_domains))
        where = f"node type {self.name!r}"
        if bool(self.node) == bool(self.slices):
            raise InputError(f"{where}: give either a node to copy or slices of one node")
        if not 0 < self.cost < 1e12 or self.exact_cost != Fraction(str(self.cost)):
            raise InputError(f"{where} costs {self.cost}; give a number above 0 with at most {MOST_DECIMALS} decimals")
        given = self.places if isinstance(self.places, Mapping) else {"": self.places or 0}
        for domain, count in given.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise InputError(f"{where} has {count} places{f' in {domain!r}' if domain else ''}; give 0 or more")
        shared = [item.name for item in self.slices if not item.spec.node_name]
        if shared:
            raise InputError(f"{where}: slice {shared[0]!r} has no nodeName; only devices of one node can be added")
        if len({item.spec.node_name for item in self.slices}) > 1:
            raise InputError(f"{where}: its slices belong to several nodes; give those of one node")

    @property
    def exact_cost(self) -> Fraction:
        """Return the cost without the error of binary fractions."""
        return Fraction(round(Fraction(str(self.cost)) * 10**MOST_DECIMALS), 10**MOST_DECIMALS)

    @classmethod
    def like(
        cls,
        node: str,
        *,
        name: str = "",
        **where: Unpack[Where],
    ) -> NodeType:
        """Return nodes with the slices, labels and taints of a node of the cluster, and nothing in use.

        Args:
            node: The name of the node to copy.
            name: The name of the type; "": that of the node.
            **where: What one node costs and where such nodes may go: the fields of `Where`.

        Returns:
            The type.

        Raises:
            InputError: A number makes no sense.
        """
        return cls(name or node, node, **where)

    @classmethod
    def from_slices(
        cls,
        name: str,
        slices: Sequence[ResourceSlice],
        *,
        labels: Mapping[str, str] | None = None,
        **where: Unpack[Where],
    ) -> NodeType:
        """Return nodes with the devices of the slices of one node, for example of another cluster or of a file.

        Args:
            name: The name of the type.
            slices: All slices of that node.
            labels: Labels of the new nodes.
            **where: What one node costs and where such nodes may go: the fields of `Where`.

        Returns:
            The type.

        Raises:
            InputError: The slices are not those of one node, or a number makes no sense.
        """
        return cls(name, slices=tuple(slices), labels=dict(labels or {}), **where)

    @classmethod
    def from_roots(
        cls,
        name: str,
        roots: Sequence[Mapping[str, int]],
        *,
        attributes: Mapping[str, Mapping[str, str | int | bool]] | None = None,
        labels: Mapping[str, str] | None = None,
        **where: Unpack[Where],
    ) -> NodeType:
        """Return nodes that are described by their PCIe roots.

        Devices publish the standard attributes of their PCIe root and NUMA node, and those that are given.

        Args:
            name: The name of the type.
            roots: For each PCIe root, how many devices of each driver it has. Under `numa`: its NUMA node, default 0.
            attributes: For each driver the attributes of its devices that device classes and claims select by.
            labels: Labels of the new nodes.
            **where: What one node costs and where such nodes may go: the fields of `Where`.

        Returns:
            The type.

        Raises:
            InputError: No device is described, or a number makes no sense.

        Example:
            >>> from dra_lab import NodeType
            >>> root = {"gpu.nvidia.com": 4, "dra.net": 4}
            >>> h100 = NodeType.from_roots("h100", [{**root, "numa": 0}, {**root, "numa": 1}])
            >>> [(item.spec.driver, len(item.spec.devices)) for item in h100.slices]
            [('gpu.nvidia.com', 8), ('dra.net', 8)]
        """
        slices = _described(name, roots, attributes or {})
        if not slices:
            raise InputError(f"node type {name!r} has no devices; give a number of devices for a driver")
        return cls(name, slices=slices, labels=dict(labels or {}), **where)

    @property
    def made_node(self) -> Node:
        """Return the node of a type that is described by slices."""
        name = self.slices[0].spec.node_name or self.name
        return Node(metadata=ObjectMeta(name=name, labels=dict(self.labels)))


def _described(
    name: str, roots: Sequence[Mapping[str, int]], attributes: Mapping[str, Mapping[str, str | int | bool]]
) -> tuple[ResourceSlice, ...]:
    devices: dict[str, list[Device]] = {}
    for number, root in enumerate(roots):
        for driver, count in root.items():
            if driver == "numa":
                continue
            if count < 0:
                raise InputError(f"node type {name!r} has {count} devices of {driver}; give 0 or more")
            mine = devices.setdefault(driver, [])
            for _ in range(count):
                found = {PCIE_ROOT: _attribute(f"pci{number:04x}:00"), NUMA_NODE: _attribute(root.get("numa", 0))}
                found |= {key: _attribute(value) for key, value in attributes.get(driver, {}).items()}
                mine.append(Device(name=f"{driver.partition('.')[0]}-{len(mine)}", attributes=found))
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{name}-{driver}"),
            spec=ResourceSliceSpec(driver, ResourcePool(name, 1, 1), node_name=name, devices=tuple(mine)),
        )
        for driver, mine in devices.items()
        if mine
    )


def _attribute(value: object) -> DeviceAttribute:
    if isinstance(value, bool):
        return DeviceAttribute(bool_=value)
    return DeviceAttribute(int_=value) if isinstance(value, int) else DeviceAttribute(string=str(value))


class AddedCount(Struct, frozen=True):
    """Nodes of one type in one domain: how many, their names, and what they cost together.

    `domain` is the path of the domain, () if the cluster has no hierarchy. `new` says that the domain does not exist
    yet. `nodes` are the names that `AddedNodes.cluster` gives them.
    """

    type: str
    domain: tuple[str, ...]
    count: int
    cost: float
    new: bool = False
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AddedNodes(Shown):
    """Which nodes have to be added so that all gangs and workloads fit, at least cost.

    `status` is OPTIMAL if nothing cheaper exists, FEASIBLE if that is not proven, INFEASIBLE if it is proven that no
    number of these nodes helps, and STOPPED if time ended before any answer. `added` has the nodes by type and domain.
    `bound` is the least cost that could still exist, None if nothing is known. `shortfalls` say why no number helps.
    `cluster` is the cluster with the new nodes, `hierarchies` has their domains, and `plan` places all gangs and
    workloads there, each with the pods that were `wanted`.
    """

    status: PlanStatus
    types: tuple[NodeType, ...]
    wanted: tuple[Workload, ...]
    workloads: tuple[Workload, ...] = ()
    name: str = ""
    release: str = ""
    added: tuple[AddedCount, ...] = ()
    cost: float = 0.0
    bound: float | None = None
    shortfalls: tuple[Shortfall, ...] = ()
    cluster: Cluster = field(default_factory=Cluster, repr=False, compare=False)
    hierarchies: tuple[Hierarchy, ...] = field(default=(), repr=False)
    plan: Plan | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Return the hash of the answer."""
        return hash((self.status, self.name, self.added))

    def __repr__(self) -> str:
        """Return a one-line summary; `print` shows the whole answer."""
        return f"<AddedNodes for {self.name!r}, {self.status.value}: {self.count} nodes, cost {self.cost:g}>"

    @property
    def proven(self) -> bool:
        """Say whether nothing cheaper exists, or it is proven that no number of nodes helps."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @property
    def count(self) -> int:
        """Return how many nodes are added."""
        return sum(one.count for one in self.added)
