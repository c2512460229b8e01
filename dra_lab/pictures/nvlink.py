"""The NVLink domain of a node and the fabric partitions in it, read from its labels and what its drivers publish."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.topology.fabric_labels import ATTRIBUTES, LABELS
from dra_lab.words.document import clean
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


_FABRIC_PARTITION = re.compile(r"[^/]+/partition([2-9][0-9]*)")


def fabric_partitions(cluster: Cluster, node_name: str) -> Iterator[str]:
    """Yield `Fabric partitions of 2 (partition2): gpu-0 + gpu-1; gpu-2 + gpu-3.` for each size that divides the GPUs.

    NVIDIA's driver publishes them with the gate FabricManagerPartitioning: GPUs of one number are linked.
    """
    of_size: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for found in devices_on(gather_pools(cluster, node_name)):
        for name, attribute in found.device.attributes.items():
            full = name if "/" in name else f"{found.id.driver}/{name}"
            if (number := _FABRIC_PARTITION.fullmatch(full)) and attribute.int_ is not None:
                of_size[int(number[1])][f"{found.id.driver} {attribute.int_}"].append(found.id.device)
    for size, groups in sorted(of_size.items()):
        if len(groups) > 1:
            told = "; ".join(" + ".join(devices) for devices in groups.values())
            yield clean(f"Fabric partitions of {size} (partition{size}): {told}.")
