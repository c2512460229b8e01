"""Objects of Kueue, KAI, Volcano and policy: which kinds and versions are read, and the fields that all have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dra_lab.model.nodes import NodeValue, ObjectMeta

KUEUE = "kueue.x-k8s.io"
KUEUE_CONFIG = "config.kueue.x-k8s.io"
POLICY = "policy"

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
        POLICY: {"PodDisruptionBudget": ("v1",)},
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
