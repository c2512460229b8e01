"""Write the hardware picture or the self-contained page of a plan to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.errors import Cancelled, ExportError, InputError, UnsupportedFeature
from dra_lab.exports.manifests import ManifestText
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import Drawing
from dra_lab.sources import write_whole
from dra_lab.sources.samples import is_shipped

if TYPE_CHECKING:
    from dra_lab.pictures.report import SearchStep

PICTURES = (".svg", ".html")


def picture_page(
    cluster: Cluster,
    plan: Plan | None,
    node: str,
    path: Path,
    manifests: ManifestText | None = None,
    drawing: Drawing | None = None,
    snapshot: Cluster | None = None,
) -> None:
    """Write the hardware picture (`.svg`) or the self-contained page (`.html`) of a node or a plan.

    The page carries `drawing` with the cluster that it is for, if that is no sample and small: `snapshot`, without the
    what-if changes of the drawing, or `cluster`. Without a node, the plan's node is drawn, of a misfit the nearest one,
    else the cluster's first. Raises ExportError for another ending, and InputError for an unknown node or a cluster
    without nodes.
    """
    from dra_lab.pictures.hardware import hardware_svg
    from dra_lab.pictures.report import node_to_draw, report_page

    if path.suffix.lower() not in PICTURES:
        raise ExportError(
            f"{str(path)!r}: the name must end in {' or '.join(PICTURES)} (PNG is a button in the browser)"
        )
    name = node or node_to_draw(plan) or next(iter(cluster.node_names), "")
    cluster.node_named(name)
    if path.suffix.lower() == ".svg":
        write_whole(path, hardware_svg(cluster, name, plan=plan))
    else:
        text = manifests or ManifestText("")
        page = report_page(
            cluster,
            plan,
            text.text,
            node=name,
            steps=_steps(cluster, plan, name),
            lines=text.lines,
            drawing=drawing,
            snapshot=_packed(snapshot or cluster) if plan is not None else b"",
        )
        write_whole(path, page)


_MOST_PACKED = 100_000
"""Bytes of a cluster that a page carries, packed; a larger one is only named."""

_MOST_NODES = 300
"""Nodes up to which a cluster is packed: that of more takes a second and is too large."""


def _packed(cluster: Cluster) -> bytes:
    """Return a cluster as the bytes of its snapshot, b"" for a sample, which everybody has, and for a large one."""
    from dra_lab.sources.archives import archive_bytes
    from dra_lab.sources.snapshots import make_snapshot

    if is_shipped(cluster.name) or len(cluster.node_names) > _MOST_NODES:
        return b""
    packed = archive_bytes(make_snapshot(cluster).files)
    return packed if len(packed) <= _MOST_PACKED else b""


_MOST_STEPS = 500
"""Folded steps of kube-scheduler's search that a page has."""

_STEPS_SECONDS = 2.0
"""How long the search runs for a page; one that goes on is there as far as it is recorded."""


def _steps(cluster: Cluster, plan: Plan | None, node: str) -> list[SearchStep]:
    """Return kube-scheduler's search on a node in words; none where it gives no trace."""
    from dra_lab.pictures.letters import request_signs
    from dra_lab.pictures.report import SearchStep
    from dra_lab.topology.locality import device_names
    from dra_lab.words.trace_words import Names, step_sentence

    if plan is None:
        return []
    try:
        trace = plan.trace(node, time_limit=_STEPS_SECONDS)
    except (InputError, UnsupportedFeature, Cancelled):
        return []
    names = Names(device_names(cluster, node), request_signs(plan.sketch, trace))
    steps = [SearchStep(step_sentence(row, names), row.devices) for row in trace.rows]
    if len(steps) > _MOST_STEPS:
        last, missing = steps[-1], len(steps) - _MOST_STEPS
        steps[_MOST_STEPS - 2 :] = [SearchStep(f"{missing + 1:,} further rows are not on this page."), last]
    return steps
