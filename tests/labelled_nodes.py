"""Clusters of nodes that have labels and nothing else, with objects that say which nodes are close."""

from __future__ import annotations

from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.topologies import (
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    NameMatch,
    PatternMatch,
    Topology,
    TopologyLevel,
    TopologyObject,
    TopologySpec,
)

ZONE, HOST, CLIQUE = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "nvidia.com/gpu.clique"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def labelled(*rows: dict[str, str], objects: tuple[TopologyObject, ...] = ()) -> Cluster:
    """Return a cluster whose nodes n0, n1, ... have these labels."""
    nodes = (Node(metadata=ObjectMeta(name=f"n{number}", labels=row)) for number, row in enumerate(rows))
    return Cluster(nodes=tuple(nodes), name="test", topologies=objects)


def topology(*labels: str, name: str = "default", version: str = "kueue.x-k8s.io/v1beta2") -> Topology:
    """Return a Topology of these levels."""
    levels = tuple(TopologyLevel(node_label=label) for label in labels)
    return Topology(metadata=ObjectMeta(name=name), spec=TopologySpec(levels=levels), api_version=version)


def named(name: str, kind: str = "Node") -> Member:
    """Return a member that has this name."""
    return Member(type=kind, selector=MemberSelector(exact_match=NameMatch(name=name)))


def like(pattern: str, kind: str = "Node") -> Member:
    """Return members whose names match a pattern."""
    return Member(type=kind, selector=MemberSelector(regex_match=PatternMatch(pattern=pattern)))


def hyper(name: str, tier: int, *members: Member, word: str = "") -> HyperNode:
    """Return a HyperNode."""
    spec = HyperNodeSpec(tier=tier, tier_name=word, members=members)
    return HyperNode(metadata=ObjectMeta(name=name), spec=spec, api_version="topology.volcano.sh/v1alpha1")
