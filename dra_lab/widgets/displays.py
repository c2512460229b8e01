"""Answers of a session in a notebook: shown with the picture of their node."""

from __future__ import annotations

from html import escape

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.words.shown import show_with_picture, teach


def register_displays(session: Session | None = None) -> None:
    """Teach the running IPython, if any, to show results; doing it again changes nothing.

    A plan does not hold its cluster: the answer of a `session` that is given here is shown with its picture.
    """
    if session is not None:
        show_with_picture(session, _picture)
    try:
        from IPython import get_ipython
    except ImportError:
        return
    if (shell := get_ipython()) is not None:
        teach(shell)


def _picture(cluster: Cluster, plan: Plan) -> str:
    from dra_lab.pictures.hardware import hardware_svg

    if plan.node not in cluster.node_by_name:
        return ""
    try:
        return hardware_svg(cluster, plan.node, plan=plan)
    except DraLabError as error:
        return f"<p>{escape(str(error))}</p>"
