"""`picture`: the hardware of a node, or its levels as a graph, with the devices that a plan takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.gang import GangPlan
from dra_lab.model.plan import Plan
from dra_lab.pictures.graph_page import graph_frame, graph_page
from dra_lab.pictures.hardware import hardware_svg

SHOWN = ("best", "scheduler", "plain", "both", "both-plain")
"""What a picture marks: the plan, kube-scheduler with the manifest or with counts and selectors only, and both."""


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture of one node: a notebook shows it, `str` is its text (SVG or HTML), `save` writes it into a file."""

    node: str
    text: str
    html: str

    def __str__(self) -> str:
        """Return the SVG, or the HTML page of a graph."""
        return self.text

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Picture of {self.node}, {len(self.text):,} characters; save(path) writes it>"

    def _repr_html_(self) -> str:
        return self.html

    def save(self, path: str | Path) -> Path:
        """Write the picture.

        Args:
            path: The file: `.svg` for hardware, `.html` for a graph.

        Returns:
            The path.
        """
        file = Path(path)
        file.write_text(self.text, encoding="utf-8")
        return file


def picture(
    answer: Cluster | Plan, node: str = "", *, plan: Any = None, kind: str = "hardware", show: str = "best"
) -> Picture:
    """Return the picture of a node: PCIe, NUMA and every device, in light and dark.

    Args:
        answer: A cluster, or the plan of one pod.
        node: The node to draw; default "": the plan's node, or the first one of the cluster.
        plan: The plan whose devices are marked, of one pod, many pods or gangs; default: `answer` if it is a plan.
        kind: "hardware", or "graph" for the levels from top to bottom as a page that people can move.
        show: What is marked of a plan of one pod, one of `SHOWN`. A dashed border marks a difference, and K marks what
            only kube-scheduler takes.

    Returns:
        The picture.

    Raises:
        InputError: The cluster has no nodes, or an argument is not what it has to be.
        NodeError: The cluster does not have this node.
        MissingPackage: For a graph, pyvis is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, picture, read_sketch
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> picture(plan).node
        'lab-1'
    """
    if isinstance(answer, Plan):
        plan = plan or answer
        if answer.tracer is None:
            raise InputError("the plan has no node to draw; draw a node of the cluster: picture(cluster, node)")
        node = node or answer.node or answer.tracer.node
        answer = answer.tracer.cluster
    if not isinstance(answer, Cluster):
        raise InputError(f"answer is a Cluster or the plan of one pod, not a {type(answer).__name__}")
    if kind not in _KINDS:
        raise InputError(f"kind {kind!r} is not known; use {', '.join(_KINDS)}")
    if show not in SHOWN:
        raise InputError(f"show {show!r} is not known; use {', '.join(SHOWN)}")
    name = node or next(iter(answer.node_names), "")
    if not name:
        raise InputError("the cluster has no nodes to draw")
    return _KINDS[kind](answer, name, plan, show)


def _hardware(cluster: Cluster, node: str, plan: Plan | FleetPlan | GangPlan | None, show: str) -> Picture:
    fleet = plan.as_fleet() if isinstance(plan, GangPlan) else plan
    marked: Mapping[str, Any] = {"plan": fleet, "show": show}
    if isinstance(fleet, FleetPlan):
        pods = {placed.device: pod.workload for pod in fleet.on_node.get(node, ()) for placed in pod.placements}
        marked = {"pods": pods, "workloads": [workload.name for workload in fleet.workloads]}
    svg = hardware_svg(cluster, node, **marked)
    return Picture(node, svg, svg)


def _graph(cluster: Cluster, node: str, plan: Any, _show: str) -> Picture:
    one_pod = plan if isinstance(plan, Plan) else None
    return Picture(node, graph_page(cluster, node, one_pod), graph_frame(cluster, node, one_pod))


_KINDS: Mapping[str, Callable[[Cluster, str, Any, str], Picture]] = {"hardware": _hardware, "graph": _graph}
