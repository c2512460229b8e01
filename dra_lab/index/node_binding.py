"""What ties a claim that takes a device to nodes."""

from __future__ import annotations

from enum import IntEnum

from dra_lab.index.pools import PoolDevice


class Tie(IntEnum):
    """What ties a claim that takes a device to nodes: the node itself, one selector or none, a selector of many terms.

    kube-scheduler gives up the pod when it meets a device with many terms before one that ties to the node
    (docs/semantics.md 3.12).
    """

    SELECTOR = 0
    NODE = 1
    TERMS = 2


def tie_of(item: PoolDevice) -> Tie:
    """Return what ties a claim that takes a device to nodes: `nodeName`, `bindsToNode`, `nodeSelector`.

    Rule: docs/semantics.md 3.12.3.
    """
    own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
    if own.node_name is not None or item.device.binds_to_node:
        return Tie.NODE
    return Tie.SELECTOR if own.node_selector is None or len(own.node_selector.node_selector_terms) == 1 else Tie.TERMS
