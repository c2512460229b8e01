"""What leaves a session: manifests, pictures, pages. Each is made by the room that knows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.errors import ExportError, InputError
from dra_lab.exports.manifests import ManifestText, manifest_yaml, write_manifests
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.sources import write_whole

if TYPE_CHECKING:
    from dra_lab.session.session import Session

PICTURES = (".svg", ".html")


def manifest(session: Session) -> ManifestText:
    """Return the manifests of the present drawing as YAML text, with the lines of each request and the findings."""
    plan = session.answer if session.is_answered else None
    return manifest_yaml(session.sketch, session.cluster, session.release, plan=plan)


def export(session: Session, folder: str | Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write the manifests of the present drawing to a folder; returns the files.

    Raises ExportError when a file cannot be written, or was changed by a person and `overwrite` is not given.
    """
    plan = session.answer if session.is_answered else None
    return write_manifests(
        Path(folder), session.sketch, session.cluster, session.release, plan=plan, overwrite=overwrite
    )


def picture_page(cluster: Cluster, plan: Plan | None, node: str, path: Path, yaml_text: str = "") -> None:
    """Write the hardware picture (`.svg`) or the self-contained page (`.html`) of a node or a plan.

    Without a node, the plan's node is drawn, else the cluster's first. Raises ExportError for another ending, and
    InputError for an unknown node or a cluster without nodes.
    """
    from dra_lab.exports.text import answer_sentence
    from dra_lab.pictures.hardware import hardware_svg
    from dra_lab.pictures.report import report_page

    if path.suffix.lower() not in PICTURES:
        raise ExportError(
            f"{str(path)!r}: the name must end in {' or '.join(PICTURES)} (PNG is a button in the browser)"
        )
    name = node or (plan.node if plan else "") or next(iter(cluster.node_names), "")
    if name not in cluster.node_by_name:
        raise InputError(f"there is no node {name!r} in {cluster.name}; nodes: {', '.join(cluster.node_names[:8])}")
    if path.suffix.lower() == ".svg":
        write_whole(path, hardware_svg(cluster, name, plan=plan))
    else:
        sentence = answer_sentence(plan, cluster) if plan else ""
        write_whole(path, report_page(cluster, plan, yaml_text, node=name, sentence=sentence))
