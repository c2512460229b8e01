"""The NVLink domain of a node and the fabric partitions in it, read from its labels and what its drivers publish."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.presets import NVLINK_DOMAIN
from dra_lab.words.document import clean
from dra_lab.words.facts import counted


def nvlink_words(cluster: Cluster, node_name: str) -> str:
    """Return `NVLink domain 7f3e.1, with 3 other nodes`; "" if neither a label nor a device names a domain."""
    for tree in hierarchies(cluster):
        path = tree.path_of(node_name)
        if path and tree.levels[0].name == NVLINK_DOMAIN:
            others = len(next(domain.nodes for domain in tree.domains if domain.path == path)) - 1
            return f"NVLink domain {path[-1]}" + (f", with {counted(others, 'other node')}" if others else "")
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
            partitions = "; ".join(" + ".join(devices) for devices in groups.values())
            yield clean(f"Fabric partitions of {size} (partition{size}): {partitions}.")
