"""Optima as maximum flows of networkx: one unit of flow is one pod, and its path are the devices that it takes.

A flow is exact where a pod takes one unit of each thing on its way. Least cost then gives the goals as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import networkx as nx
from oracle_clusters import Free
from oracle_drawings import NODE, ROOTS

START, END = "start", "end"


def pairs(frees: Sequence[Free], level: str, replicas: int) -> tuple[int, tuple[int, int, int]]:
    """Return how many pods of a GPU and a NIC fit, and their least NUMA nodes, GPUs without a NIC, and PCIe roots.

    Flow goes from a GPU's root to a NIC's root on the same place of the level. The cost of that edge is what the pair
    adds to the goals, each goal so heavy that the later ones together cannot outweigh it.
    """
    graph, heavy = nx.DiGraph(), 2 * replicas + 1
    graph.add_edge(START, "pods", capacity=replicas)
    graph.add_node(END)
    for node, free in enumerate(frees):
        for root, (_, gpus, nics) in enumerate(free.roots):
            graph.add_edge("pods", ("gpu", node, root), capacity=gpus)
            graph.add_edge(("nic", node, root), END, capacity=nics)
        for one, other in product(range(len(free.roots)), repeat=2):
            far, apart = free.numa[one] != free.numa[other], one != other
            if level == NODE or not (apart if level == ROOTS else far):
                cost = ((1 + far) * heavy + apart) * heavy + 1 + apart
                graph.add_edge(("gpu", node, one), ("nic", node, other), weight=cost)
    flow = nx.max_flow_min_cost(graph, START, END)
    rest, roots = divmod(nx.cost_of_flow(graph, flow), heavy)
    numa, unpaired = divmod(rest, heavy)
    return sum(flow[START].values()), (numa, unpaired, roots)


def pairs_with_cores(frees: Sequence[Free], cores: int) -> int:
    """Return how many pods of a GPU, a NIC on its PCIe root and cores of one CPU device of its NUMA node fit."""
    graph = nx.DiGraph()
    graph.add_nodes_from((START, END))
    for node, free in enumerate(frees):
        for number, (numa, left) in enumerate(free.cores):
            graph.add_edge(START, ("cpu", node, number), capacity=left // cores)
            graph.add_edge(("cpu", node, number), ("numa", node, numa))
        for root, (numa, gpus, nics) in enumerate(free.roots):
            graph.add_edge(("numa", node, numa), ("root", node, root), capacity=gpus)
            graph.add_edge(("root", node, root), END, capacity=nics)
    return nx.maximum_flow_value(graph, START, END)


def spread(places: Sequence[int], k: int) -> int:
    """Return how many pods fit that each take one device on each of k places, by the devices of each place."""
    pods = sum(places) // k
    while pods:
        graph = nx.DiGraph()
        for pod, place in product(range(pods), range(len(places))):
            graph.add_edge(START, ("pod", pod), capacity=k)
            graph.add_edge(("pod", pod), ("place", place), capacity=1)
            graph.add_edge(("place", place), END, capacity=places[place])
        if nx.maximum_flow_value(graph, START, END) == pods * k:
            break
        pods -= 1
    return pods


def with_shared(own: Sequence[int], seen: Sequence[Sequence[int]], replicas: int) -> int:
    """Return how many pods fit that take something of their node and one device that some nodes see.

    Args:
        own: How many pods the devices of each node are enough for.
        seen: The nodes that see each shared device.
        replicas: The pods that are asked for.
    """
    graph = nx.DiGraph()
    graph.add_edge(START, "pods", capacity=replicas)
    graph.add_node(END)
    for node, most in enumerate(own):
        graph.add_edge("pods", ("node", node), capacity=most)
    for number, nodes in enumerate(seen):
        graph.add_edge(("shared", number), END, capacity=1)
        graph.add_edges_from((("node", node), ("shared", number)) for node in nodes)
    return nx.maximum_flow_value(graph, START, END)
