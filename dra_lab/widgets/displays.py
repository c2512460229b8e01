"""The answer of a session in a notebook, with the picture of its node."""

from __future__ import annotations

from html import escape

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.words.shown import show_with_picture


def show_answer_with_picture(session: Session) -> None:
    """Show the answer of a session with its picture: a plan does not hold its cluster."""
    show_with_picture(session, _picture)


def _picture(cluster: Cluster, plan: Plan) -> str:
    from dra_lab.pictures.hardware import hardware_svg

    if plan.node not in cluster.node_by_name:
        return ""
    try:
        return hardware_svg(cluster, plan.node, plan=plan)
    except DraLabError as error:
        return f"<p>{escape(str(error))}</p>"
