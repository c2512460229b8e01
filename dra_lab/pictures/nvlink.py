"""The NVLink domain of a node, read from its labels and from what its drivers publish."""

from __future__ import annotations

from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.topology.fabric_labels import ATTRIBUTES, LABELS
from dra_lab.words.facts import counted


def nvlink_words(cluster: Cluster, node_name: str) -> str:
    """Return `NVLink domain 7f3e.1, with 3 other nodes`; "" if neither a label nor a device names a domain."""
    labels = cluster.node_named(node_name).metadata.labels
    known = [label for name, label in LABELS.items() if label.level == "nvlinkDomain" and labels.get(name)]
    for label in sorted(known, key=lambda label: -label.order):
        value = labels[label.name]
        others = sum(1 for node in cluster.nodes if node.metadata.labels.get(label.name) == value) - 1
        return f"NVLink domain {value}" + (f", with {counted(others, 'other node')}" if others > 0 else "")
    return _published(cluster, node_name)


def _published(cluster: Cluster, node_name: str) -> str:
    names = [name for name, label in ATTRIBUTES.items() if label.level == "nvlinkDomain"]
    for found in devices_on(gather_pools(cluster, node_name)):
        for name in names:
            attribute = found.device.lookup(name, found.id.driver)
            if attribute is not None and attribute.value:
                return f"NVLink domain {attribute.value}"
    return ""
