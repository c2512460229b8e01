"""Topology objects of Kueue and KAI: which labels of nodes are levels of the fabric, from wide to near."""

from __future__ import annotations

from dra_lab.model.nodes import NodeValue, ObjectMeta

TOPOLOGY_VERSIONS = {"kueue.x-k8s.io": ("v1beta2", "v1beta1", "v1alpha1"), "kai.scheduler": ("v1", "v1alpha1")}
"""By API group the versions of Topology that are read, the newest first; all have the same `spec.levels`."""


class TopologyLevel(NodeValue, frozen=True):
    """`spec.levels[]`: a label of nodes; nodes with equal values stand at one place of the level."""

    node_label: str


class TopologySpec(NodeValue, frozen=True):
    """`spec`: the levels from wide to near; the last one is often `kubernetes.io/hostname`, the node itself."""

    levels: tuple[TopologyLevel, ...] = ()


class Topology(NodeValue, frozen=True):
    """A Topology (Kueue's "Topology Aware Scheduling"; KAI's has the same shape in its own group)."""

    metadata: ObjectMeta
    spec: TopologySpec = TopologySpec()
    api_version: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels from wide to near."""
        return tuple(level.node_label for level in self.spec.levels)

    @property
    def group(self) -> str:
        """Return the API group, which says who reads it: `kueue.x-k8s.io`."""
        return self.api_version.partition("/")[0]


def is_topology(kind: str, api_version: object) -> bool:
    """Say whether an object is a Topology that is read here; other groups have kinds of this name too."""
    group, _, version = api_version.partition("/") if isinstance(api_version, str) else ("", "", "")
    return kind == "Topology" and version in TOPOLOGY_VERSIONS.get(group, ())
