"""Findings and reasons about cordoned nodes, which a plan leaves out."""

from __future__ import annotations

from collections.abc import Collection

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import CORDONED, Shortfall
from dra_lab.topology.hierarchy_findings import some

_WHAT_IF = "kubectl uncordon NODE ends it; the what-if change --uncordon NODE plans as if it were done."


def cordoned_nodes(cluster: Cluster) -> tuple[Finding, ...]:
    """Return a note that names the cordoned nodes, on which no pod is planned; nothing without any."""
    if not cluster.cordoned:
        return ()
    message = f"{_are_cordoned(cluster.cordoned)}, so no pod is planned there"
    return (Finding("nodes-cordoned", Severity.NOTE, "nodes", message, _WHAT_IF),)


def cordoned_shortfall(cluster: Cluster, nodes: Collection[str]) -> Shortfall:
    """Return why a pod cannot start on the nodes that admit it: they are cordoned."""
    which = "all nodes are cordoned" if len(nodes) == len(cluster.node_names) else _are_cordoned(nodes)
    node = next(iter(nodes)) if len(nodes) == 1 else ""
    message = f"{which}: kube-scheduler starts no new pod there"
    return Shortfall(CORDONED, node, message, node=node, advice=_WHAT_IF)


def _are_cordoned(nodes: Collection[str]) -> str:
    return f"{some(sorted(nodes))} {'is' if len(nodes) == 1 else 'are'} cordoned"
