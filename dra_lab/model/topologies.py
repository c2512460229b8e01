"""Objects of Kueue, KAI and Volcano: the kinds and versions that are read, and those that say which nodes are close."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dra_lab.model.nodes import LabelSelector, NodeValue, ObjectMeta

KUEUE = "kueue.x-k8s.io"
KUEUE_CONFIG = "config.kueue.x-k8s.io"

PLURALS: Mapping[str, str] = MappingProxyType(
    {
        "Topology": "topologies",
        "HyperNode": "hypernodes",
        "ResourceFlavor": "resourceflavors",
        "ClusterQueue": "clusterqueues",
        "LocalQueue": "localqueues",
        "Cohort": "cohorts",
        "Workload": "workloads",
        "Configuration": "configurations",
        "PodDisruptionBudget": "poddisruptionbudgets",
    }
)
"""The kinds that are read, with the names of their resources."""

_BOTH = ("v1beta2", "v1beta1")
CUSTOM_VERSIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        KUEUE: {
            "Topology": (*_BOTH, "v1alpha1"),
            "ResourceFlavor": _BOTH,
            "ClusterQueue": _BOTH,
            "LocalQueue": _BOTH,
            "Cohort": _BOTH,
            "Workload": _BOTH,
        },
        "kai.scheduler": {"Topology": ("v1", "v1alpha1")},
        "topology.volcano.sh": {"HyperNode": ("v1alpha1",)},
        KUEUE_CONFIG: {"Configuration": _BOTH},
        "policy": {"PodDisruptionBudget": ("v1",)},
    }
)
"""By API group and kind the versions that are read, the newest first; all have the same fields here."""

FILES_ONLY = ("Workload", "Configuration")
"""Kinds that are not listed in a running cluster.

The status of a ClusterQueue has the sum of its Workloads, and the Configuration is in a ConfigMap.
"""

CUSTOM_RESOURCES = frozenset(f"{PLURALS[kind]}.{group}" for group, kinds in CUSTOM_VERSIONS.items() for kind in kinds)
"""The resources with their groups: `topologies.kueue.x-k8s.io`."""


class CustomValue(NodeValue, frozen=True, kw_only=True):
    """The fields of all these objects; kinds of one name exist in several API groups."""

    metadata: ObjectMeta
    api_version: str = ""

    @property
    def name(self) -> str:
        """Return `metadata.name`."""
        return self.metadata.name

    @property
    def group(self) -> str:
        """Return the API group, which says who reads it: `kueue.x-k8s.io`."""
        return self.api_version.partition("/")[0]

    @property
    def kind(self) -> str:
        """Return the kind, which is the class but for a Workload of Kueue: `KueueWorkload`."""
        return type(self).__name__.removeprefix("Kueue")

    @property
    def resource(self) -> str:
        """Return the resource with its group: `topologies.kueue.x-k8s.io`."""
        return f"{PLURALS[self.kind]}.{self.group}"


def is_custom(kind: str, api_version: object) -> bool:
    """Say whether an object of one of these kinds is read; other groups have kinds of these names too."""
    group, _, version = api_version.partition("/") if isinstance(api_version, str) else ("", "", "")
    return version in CUSTOM_VERSIONS.get(group, {}).get(kind, ())


class TopologyLevel(NodeValue, frozen=True, kw_only=True):
    """`spec.levels[]`: a label of nodes, and the name that KAI gives to the level."""

    node_label: str
    alias: str = ""


class TopologySpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: the levels from wide to near; the last one is often `kubernetes.io/hostname`, the node itself."""

    levels: tuple[TopologyLevel, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a label that is empty or there twice, as the API server does."""
        labels = [level.node_label for level in self.levels]
        if not all(labels):
            raise ValueError("a level has an empty nodeLabel")
        if len(set(labels)) < len(labels):
            raise ValueError("two levels have the same nodeLabel")


class Topology(CustomValue, frozen=True, kw_only=True):
    """A Topology (Kueue's "Topology Aware Scheduling"; KAI's has the same shape in its own group)."""

    spec: TopologySpec = TopologySpec()

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels from wide to near."""
        return tuple(level.node_label for level in self.spec.levels)


class NameMatch(NodeValue, frozen=True, kw_only=True):
    """`exactMatch`: one name."""

    name: str = ""


class PatternMatch(NodeValue, frozen=True, kw_only=True):
    """`regexMatch`: a regular expression of Go, searched for anywhere in a name."""

    pattern: str = ""


class MemberSelector(NodeValue, frozen=True, kw_only=True):
    """`spec.members[].selector`: exactly one of the three."""

    exact_match: NameMatch | None = None
    regex_match: PatternMatch | None = None
    label_match: LabelSelector | None = None


class Member(NodeValue, frozen=True, kw_only=True):
    """`spec.members[]`: nodes or HyperNodes; `type` is `Node` or `HyperNode`."""

    type: str
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: nodes of a lower tier are closer to each other."""

    tier: int
    tier_name: str = ""
    members: tuple[Member, ...] = ()


class HyperNode(CustomValue, frozen=True, kw_only=True):
    """A HyperNode of Volcano: a domain with its members, which are nodes or other HyperNodes."""

    spec: HyperNodeSpec


class ResourceFlavorSpec(NodeValue, frozen=True, kw_only=True):
    """`spec`: a flavor with a topology uses the nodes that have its labels.

    Only pods that tolerate `node_taints` may use it, and pods that use it get `tolerations`.
    """

    node_labels: dict[str, str] = {}
    node_taints: tuple[dict[str, object], ...] = ()
    tolerations: tuple[dict[str, object], ...] = ()
    topology_name: str = ""


class ResourceFlavor(CustomValue, frozen=True, kw_only=True):
    """A ResourceFlavor of Kueue, as far as it selects nodes."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


TopologyObject = Topology | HyperNode | ResourceFlavor
TOPOLOGY_KINDS: Mapping[str, type[TopologyObject]] = MappingProxyType(
    {"Topology": Topology, "HyperNode": HyperNode, "ResourceFlavor": ResourceFlavor}
)
