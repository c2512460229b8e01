"""Nodes to which a pod may go by its own words: node name, selector, required affinity, tolerations, amounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_lab.model.cluster import Cluster
from dra_lab.model.what_if import uncordoned


def admitted_nodes(cluster: Cluster, spec: Mapping[str, Any], *, per_node: bool = False) -> tuple[str, ...]:
    """Return the names of the nodes that a pod's spec admits, sorted.

    These are kube-scheduler's filters NodeName, NodeAffinity (`nodeSelector`, required `nodeAffinity`),
    NodeUnschedulable and TaintToleration, and what a node can allocate of CPUs, memory and the like; `per_node` adds
    the tolerations that a DaemonSet's pods get. Spreading and other filters are not looked at, nor what other pods
    request.
    Nodes of which only slices are known have no labels but their name's.
    """
    # Reading manifests takes a while, and a session needs `only_nodes` alone.
    from dra_lab.manifests.device_asks import is_extended
    from dra_lab.planner.node_tests import node_tests

    left = frozenset(cluster.node_names)
    # the controller of a DaemonSet makes a pod for a node that is too small, too
    counts = (lambda _: False) if per_node else (lambda name: not is_extended(name))
    for test in node_tests(cluster, spec, per_node=per_node, resource=counts):
        left &= test.passing
    return tuple(sorted(left))


def only_nodes(cluster: Cluster, names: Sequence[str], *, tolerant: bool = True) -> Cluster:
    """Return the cluster with the nodes that admit a pod alone; network-attached slices stay.

    If the pod's tolerations had a say (`tolerant`), a cordoned node that admits it is not cordoned there.
    """
    kept = frozenset(names)
    cluster = uncordoned(cluster, kept) if tolerant else cluster
    if len(kept) == len(cluster.node_names):
        return cluster
    return replace(
        cluster,
        nodes=tuple(node for node in cluster.nodes if node.name in kept),
        slices=tuple(s for s in cluster.slices if not s.spec.node_name or s.spec.node_name in kept),
    )
