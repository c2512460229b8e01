"""Fleets whose nodes share NICs, each NIC seen by all or some of them; a maximum flow knows how many pods fit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import networkx as nx
from checked_plans import checked_plan
from oracle_cases import SECONDS, Case
from oracle_claims import Together
from oracle_clusters import Node, cluster_of, random_nodes
from oracle_drawings import NODE, NUMAS, ROOTS, Ask
from oracle_truth import Goals, Truth
from random_devices import FABRIC, NIC

from dra_lab.model import nodes as api
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.planner.questions import how_many_more

HOST = "kubernetes.io/hostname"
ONE = Together(1, 0, NODE)


@dataclass(frozen=True)
class Flow(Truth):
    """How many pods fit by a flow; GPUs are taken `near` one another, and `seen` are the nodes that see each NIC."""

    near: Together = ONE
    seen: tuple[tuple[int, ...], ...] = ()

    def own(self, scale: int = 1) -> list[int]:
        """Return how many pods the GPUs of each node are enough for, the counts of the claim multiplied."""
        return [self.near.times(scale).most(free) for free in self.frees]

    @property
    def placeable(self) -> int:
        """Return how many of the replicas fit."""
        return with_shared(self.own(), self.seen, self.replicas[0])

    def total(self, at: int = 0) -> int:
        """Return how many pods fit, however many are asked for."""
        return with_shared(self.own(), self.seen, len(self.seen))

    def usable(self, kind: str) -> int:
        """Return what all of these pods take of a kind."""
        return self.total() * self.drawn[0].uses[kind]

    def largest_multiple(self) -> int:
        """Return the largest multiple of the claim for which a node has the GPUs and sees the NICs."""
        nics = [sum(node in nodes for nodes in self.seen) for node in range(len(self.nodes))]
        most = MAX_DEVICES // self.drawn[0].devices
        able = (scale for scale in range(1, most + 1) if any(map(_both, self.own(scale), nics, repeat(scale))))
        return max(able, default=0)

    def least_goals(self, placed: int, *, nodes_first: bool = False) -> Goals:
        """Return nothing: a flow does not know on how few nodes the pods fit."""
        return ()


def with_shared(own: Sequence[int], seen: Sequence[Sequence[int]], replicas: int) -> int:
    """Return how many pods fit that take something of their node and one device that some nodes see.

    Args:
        own: How many pods the devices of each node are enough for.
        seen: The nodes that see each shared device.
        replicas: The pods that are asked for.
    """
    graph = nx.DiGraph()
    graph.add_edge("start", "pods", capacity=replicas)
    graph.add_node("end")
    for node, most in enumerate(own):
        graph.add_edge("pods", ("node", node), capacity=most)
    for number, nodes in enumerate(seen):
        graph.add_edge(("shared", number), "end", capacity=1)
        graph.add_edges_from((("node", node), ("shared", number)) for node in nodes)
    return nx.maximum_flow_value(graph, "start", "end")


def _both(own: int, nics: int, scale: int) -> bool:
    return own > 0 and nics >= scale


@dataclass
class SharedCase(Case):
    """Pods of k GPUs on one place of their node and one shared NIC."""

    truth: Flow | None = None

    @classmethod
    def random(cls, seed: int) -> SharedCase:
        """Draw a case; its nodes have no NICs of their own."""
        rng = random.Random(f"shared {seed}")
        nodes = [_without_nics(node) for node in random_nodes(rng)[: rng.randint(1, 12)]]
        near = Together(rng.choice([1, 1, 2, 4]), 0, rng.choice([ROOTS, NUMAS, NODE]))
        claim = replace(near.drawn(), asks=(*near.drawn().asks, Ask("nic", NIC)))
        few = rng.randint(1, len(nodes))
        seen = tuple(
            tuple(sorted(rng.sample(range(len(nodes)), rng.choice([few, few, len(nodes)]))))
            for _ in range(rng.choice([rng.randint(1, 8), rng.randint(1, 40)]))
        )
        truth = Flow(nodes, (claim,), near=near, seen=seen)
        replicas = (cls._wanted(rng, truth.total()),)
        case = cls(f"{seed} (shared NICs)", nodes, (claim,), replicas, truth=replace(truth, replicas=replicas))
        case.cluster = case._published()
        return case

    def _published(self) -> Cluster:
        own, names = cluster_of(self.nodes), [node.name for node in self.nodes]
        devices = tuple(self._nic(number, [names[at] for at in nodes]) for number, nodes in enumerate(self.truth.seen))
        pool = ResourcePool(name=FABRIC, generation=1, resource_slice_count=1)
        spec = ResourceSliceSpec(driver=NIC, pool=pool, devices=devices, per_device_node_selection=True)
        fabric = ResourceSlice(metadata=api.ObjectMeta(name=FABRIC), spec=spec)
        nodes = tuple(api.Node(metadata=api.ObjectMeta(name=name, labels={HOST: name})) for name in names)
        return replace(own, slices=(*own.slices, fabric), nodes=nodes)

    def _nic(self, number: int, names: list[str]) -> Device:
        attributes = {"dra.net/rdma": DeviceAttribute(bool_=True)}
        if len(names) == len(self.nodes):
            return Device(name=f"nic-{number}", attributes=attributes, all_nodes=True)
        only = api.NodeSelectorRequirement(key=HOST, operator="In", values=tuple(names))
        selector = api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_expressions=(only,)),))
        return Device(name=f"nic-{number}", attributes=attributes, node_selector=selector)

    # ---------------------------------------------------------------- the questions

    def _each_stranded(self, found: Stranded) -> None:
        """Leave single nodes: they share what is usable."""

    def ask_headroom(self, at: int = 0, after: Plan | None = None) -> Headroom:
        """Ask `how_many_more`; what is left after a plan depends on which NICs it took."""
        headroom = how_many_more(self.cluster, self.workloads[at], after=after, time_limit=SECONDS)
        most = self.truth.total() - (len(after.pods) if after is not None else 0)
        if after is None:
            self.between("how_many_more", headroom.count.value, most, headroom.count.bound, proven=headroom.proven)
        elif headroom.count.value > most:
            self.say("how_many_more after", f"{headroom.count}, but at most {most} fit beside the plan")
        return headroom

    def ask_plan(self) -> None:
        """Ask `make_plan` of one pod: it fits if any does."""
        plan = checked_plan(self.cluster, self.workloads[0].claims[0], time_limit=SECONDS)
        if plan.status is not PlanStatus.STOPPED and plan.fits != bool(self.truth.total()):
            self.say("make_plan", f"it is {plan.status}, but {self.truth.total()} pods fit")


def _without_nics(node: Node) -> Node:
    """Return a node without NICs of its own."""
    return Node(node.name, node.numa, tuple(part for part in node.parts if part.driver != NIC), node.held)
