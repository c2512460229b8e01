"""Why a node or one of its devices does not serve the drawing, and the nodes of the cluster."""

from __future__ import annotations

from typing import Any

import traitlets
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import NodeFit
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.why.why_not import why_not
from dra_lab.session import Session
from dra_lab.topology.locality import device_names
from dra_lab.widgets.answer_rows import node_labels
from dra_lab.widgets.device_rows import FleetItem, fleet
from dra_lab.widgets.messages import Row, calls, on
from dra_lab.widgets.session_view import Pane, latest_plan
from dra_lab.words.drawing_words import nouns
from dra_lab.words.why_not_document import (
    TestBars,
    bars,
    device_lines,
    link_bars,
    node_sentence,
    reason_lines,
    why_not_title,
)


class WhyNotRow(Row, frozen=True):
    """Why a node or a device does not serve the drawing; `title` is the question, `asked` if a person asked it."""

    title: str = ""
    asked: bool = False
    sentence: str = ""
    node: str = ""
    device: str = ""
    device_lines: tuple[str, ...] = ()
    requests: tuple[TestBars, ...] = ()
    lines: tuple[str, ...] = ()


MOST_NODES = 500
"""Nodes or classes of identical nodes that travel to the browser."""


class Why(Pane):
    """The answer to "why not?" for the session's node and device, and the nodes to choose from."""

    why_not = traitlets.Dict().tag(sync=True, value=WhyNotRow)
    nodes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FleetItem])

    def _begin(self) -> None:
        self._why_of: tuple[Any, ...] = ()
        self.when(self.soon(self._show_why_not), "look", "plan", "cluster")
        self.shows("plan", "cluster", nodes=_nodes)

    def _show_why_not(self) -> None:
        session = self.session
        if not session.is_prepared:
            return
        plan, cluster = latest_plan(session), session.cluster
        looked_at, device = session.looked_at
        node = explained_node(plan, cluster, looked_at, plan.shortfalls[0].node if plan and plan.shortfalls else "")
        if session.stale or not node:
            return
        # by identity: to compare two large clusters takes longer than to answer
        about = (node, device, looked_at, session.number, id(cluster), id(plan))
        if about != self._why_of:
            self._why_of = about
            row = why_not_row(cluster, session.sketch, session.release, plan, node, device)
            self.assign(why_not=replace(row, asked=node == looked_at))

    look_at = calls(Session.look_at, tag="look-at")

    @on
    def show_difference(self) -> None:
        """Show the plan and kube-scheduler's choice over each other."""
        self.session.show_allocation("both")


def _nodes(session: Session) -> tuple[FleetItem, ...]:
    return fleet(session.cluster, latest_plan(session), session.drawing.node).items[:MOST_NODES]


def explained_node(plan: Plan | None, cluster: Cluster, looked_at: str, shown: str) -> str:
    """Return the node of the question: the one that a person looks at, else the first that does not serve the claim."""
    if looked_at in cluster.node_by_name:
        return looked_at
    not_serving = (name for c in plan.node_classes if c.fit is NodeFit.NO for name in c.nodes) if plan else iter(())
    if plan is not None and plan.fits:
        return min(not_serving, default=plan.node)
    return shown or next(iter(cluster.node_names), "")


def why_not_row(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, plan: Plan | None, node: str, device: str = ""
) -> WhyNotRow:
    """Return why a node, and one of its devices, does not serve a drawing. Raises what planning the drawing raises."""
    label = node_labels(cluster)[node]
    if not sketch.requests:
        return WhyNotRow(title=f"Why not {label}?", sentence="Draw a request first.", node=node)
    found = why_not(cluster, sketch, node, release)
    names = nouns(sketch, cluster, release)
    links = link_bars(found, sketch)
    rows = [*([TestBars("Links", links)] if links else ()), *bars(found, names)]
    about = next((one for one in found.devices if device and str(one) == device), None)
    lines = tuple(device_lines(found, about, plan)) if about is not None else ()
    name = device_names(cluster, node)[about] if about is not None else ""
    return WhyNotRow(
        title=f"Why not {name}?" if name else why_not_title(label, fits=found.fits),
        sentence=node_sentence(found, plan, label),
        node=node,
        device=device if about is not None else "",
        device_lines=lines,
        requests=tuple(rows),
        lines=tuple(reason_lines(found)),
    )
