"""Objects that say which nodes are close: Topology of Kueue and KAI, Volcano's HyperNode, Kueue's ResourceFlavor."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dra_lab.model.custom import CustomValue
from dra_lab.model.nodes import NodeSelectorRequirement, NodeValue


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


class LabelMatch(NodeValue, frozen=True, kw_only=True):
    """`labelMatch`: a label selector of nodes."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()


class MemberSelector(NodeValue, frozen=True, kw_only=True):
    """`spec.members[].selector`: exactly one of the three."""

    exact_match: NameMatch | None = None
    regex_match: PatternMatch | None = None
    label_match: LabelMatch | None = None


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
