"""`picture`: the hardware of a node, or its levels as a graph, with the devices that a plan takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.pictures.graph_page import graph_frame, graph_page
from dra_lab.pictures.hardware import hardware_svg

SHOWN = ("best", "scheduler", "plain", "both", "both-plain")
"""What a picture marks: the plan, kube-scheduler with the manifest or with counts and selectors only, and both."""


@dataclass(frozen=True, repr=False)
class NodePicture:
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
    answer: Cluster | Plan,
    node: str = "",
    *,
    plan: Any = None,
    kind: str = "hardware",
    show: str = "best",
) -> NodePicture:
    """Return the picture of a node: PCIe, NUMA and every device, in light and dark.

    Args:
        answer: A cluster or a plan.
        node: The node to draw; default "": the first node that the plan uses, or that the cluster has.
        plan: The plan whose devices are marked; default: `answer` if it is a plan.
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
    cluster = answer if isinstance(answer, Cluster) else getattr(answer, "on", None)
    if isinstance(answer, Plan):
        plan, node = plan or answer, node or _first_node(answer)
        if cluster is None:
            raise InputError("the plan has no cluster to draw; draw it on one: picture(cluster, node, plan=plan)")
    if not isinstance(cluster, Cluster):
        raise InputError(f"answer is a Cluster or a plan, not a {type(answer).__name__}")
    if kind not in _KINDS:
        raise InputError(f"kind {kind!r} is not known; use {', '.join(_KINDS)}")
    if show not in SHOWN:
        raise InputError(f"show {show!r} is not known; use {', '.join(SHOWN)}")
    name = node or next(iter(cluster.node_names), "")
    if not name:
        raise InputError("the cluster has no nodes to draw")
    return _KINDS[kind](cluster, name, plan, show)


def _first_node(plan: Plan) -> str:
    """Return the first node that a plan uses, or else one that a reason names."""
    return min(plan.nodes, default="") or next((reason.node for reason in plan.shortfalls if reason.node), "")


def _hardware(cluster: Cluster, node: str, plan: Plan | None, show: str) -> NodePicture:
    marked: Mapping[str, Any] = {"plan": plan, "show": show}
    if plan is not None and not plan.is_one_pod:
        here = [one for one in plan.with_devices if one.node == node]
        pods = {placed.device: one.workload for one in here for placed in one.devices}
        marked = {"pods": pods, "workloads": [workload.name for workload in plan.workloads]}
    svg = hardware_svg(cluster, node, **marked)
    return NodePicture(node, svg, svg)


def _graph(cluster: Cluster, node: str, plan: Plan | None, _show: str) -> NodePicture:
    one_pod = plan if plan is not None and plan.is_one_pod else None
    return NodePicture(node, graph_page(cluster, node, one_pod), graph_frame(cluster, node, one_pod))


_KINDS: Mapping[str, Callable[[Cluster, str, Plan | None, str], NodePicture]] = {
    "hardware": _hardware,
    "graph": _graph,
}
