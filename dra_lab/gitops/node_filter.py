"""Nodes to which a pod may go by its own words: node name, selector, required affinity, tolerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import Node, NodeSelector, node_matches
from dra_lab.model.what_if import UNSCHEDULABLE, uncordoned

_KEEPS_AWAY = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}


def admitted_nodes(cluster: Cluster, spec: Mapping[str, Any], *, per_node: bool = False) -> tuple[str, ...]:
    """Return the names of the nodes that a pod's spec admits, sorted.

    These are kube-scheduler's filters NodeName, NodeAffinity (`nodeSelector`, required `nodeAffinity`),
    NodeUnschedulable and TaintToleration; `per_node` adds the tolerations that a DaemonSet's pods get. CPU, memory,
    spreading and other filters are not looked at. Nodes of which only slices are known have no labels but their name's.
    """
    tolerations = [t for t in _list(spec.get("tolerations")) if isinstance(t, Mapping)]
    if per_node:
        tolerations.append({"operator": "Exists", "key": _UNSCHEDULABLE["key"]})
    return tuple(
        name
        for name, node in cluster.node_by_name.items()
        if spec.get("nodeName") in (None, "", name) and _selected(node, spec) and _tolerated(node, tolerations)
    )


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


def _selected(node: Node, spec: Mapping[str, Any]) -> bool:
    wanted = spec.get("nodeSelector")
    labels = node.metadata.labels
    if isinstance(wanted, Mapping) and any(labels.get(key) != value for key, value in wanted.items()):
        return False
    required = _at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    try:
        selector = from_builtins(required, NodeSelector)
    except msgspec.ValidationError:
        return True
    return node_matches(selector, node)


def _tolerated(node: Node, tolerations: Sequence[Mapping[str, Any]]) -> bool:
    taints: list[Mapping[str, Any]] = list(node.spec.taints)
    if node.spec.unschedulable:
        taints.append(_UNSCHEDULABLE)
    return all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
        if taint.get("effect") in _KEEPS_AWAY
    )


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    # core/v1 Toleration.ToleratesTaint: an empty effect or key matches all, an empty operator is Equal
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
