"""What a notebook stores of a view for readers without a kernel: the answer with the picture as HTML, and as text."""

from __future__ import annotations

import os
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Any

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.cluster_document import first_words, summary
from dra_lab.words.document import Part, Picture, Sentence, Words, as_html, as_text, escaped
from dra_lab.words.plan_document import NAMES, plan_parts
from dra_lab.words.shown import show_with_picture

PATIENCE = 0.5
"""Seconds for which a cell that a person runs waits for the answer; the views show it later by themselves."""


def with_stored(shown: Mapping[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """Return a MIME bundle with the document and the view, without the view if it could not be used."""
    listed = list(parts)
    if not listed:
        return dict(shown)
    stored = {"text/plain": as_text(listed), "text/html": as_html(listed)}
    return stored if _client() is _Client.ALONE else {**shown, **stored}


def answer_parts(session: Session) -> list[Part]:
    """Return a session's answer with the picture of its node; without an answer, its cluster and what to do."""
    plan = answer_of(session)
    title = Words(f"{session.sketch.name} on {session.cluster.name}, Kubernetes {session.release.version}")
    if plan is None:
        refusal = str(session.refusal) if session.refusal is not None and not session.stale else ""
        return [title, Words(refusal or "No answer was stored. Run the cell to plan.")]
    picture = picture_of(session.cluster, plan)
    return [title, *plan_parts(plan, session.cluster, picture=picture, names=NAMES)]


def picture_parts(session: Session) -> list[Part]:
    """Return the sentence of a session's answer with the picture of its node."""
    plan = answer_of(session)
    if plan is None:
        return answer_parts(session)
    return [Sentence(answer_sentence(plan, session.cluster)), Picture(picture_of(session.cluster, plan))]


def drawing_parts(session: Session) -> list[Part]:
    """Return the claim that is drawn as its manifest says it, and the sentence of its answer."""
    from dra_lab.session.claim_text import claim_text

    plan = answer_of(session)
    answer = [Sentence(answer_sentence(plan, session.cluster))] if plan is not None else []
    try:
        text = claim_text(session)
    except DraLabError as error:
        return [*answer, Words(str(error))]
    return [*answer, Picture(f"<pre>{chr(10).join(map(escaped, text.splitlines()))}</pre>", text.rstrip())]


def source_parts(session: Session) -> list[Part]:
    """Return what is in a session's cluster, in one line."""
    cluster = session.cluster
    words = summary(cluster, session.release) if session.is_prepared else first_words(cluster)
    return [Sentence(f"{cluster.name}: {words}"), Words(f"Kubernetes {session.release.version}")]


def answer_of(session: Session) -> Plan | None:
    """Return the answer to the present drawing, None where there is none."""
    return session.answer if session.is_answered and not session.hides_answer else None


def wait_for_answer(session: Session) -> None:
    """Wait for the answer to the present drawing: a moment if a person runs the cell, else until it is there."""
    end = time.monotonic() + PATIENCE if _client() is _Client.PERSON else None
    while session.stale and not session.wait(0.02) and (end is None or time.monotonic() < end):
        pass


class _Client(Enum):
    """The caller of the cell: a person, a program that stores the outputs (nbconvert, papermill), or no notebook."""

    PERSON = auto()
    ALONE = auto()
    NONE = auto()


def _client() -> _Client:
    try:
        from IPython import get_ipython
    except ImportError:
        return _Client.NONE
    shell = get_ipython()
    if not hasattr(shell, "get_parent"):
        return _Client.NONE
    # A program that runs a notebook takes no questions. Voila does not either, and has a person who looks at it.
    asks = shell.get_parent().get("content", {}).get("allow_stdin", True)
    return _Client.PERSON if asks or os.environ.get("SERVER_SOFTWARE", "").startswith("voila") else _Client.ALONE


def picture_of(cluster: Cluster, plan: Plan) -> str:
    """Return the picture of an answer's node as an image, "" where there is no such node.

    An image and no inline SVG: where a notebook is not trusted, JupyterLab takes the elements of an SVG away and leaves
    its words.
    """
    from dra_lab.pictures.report import node_to_draw

    svg = _svg(cluster, plan, node := node_to_draw(plan))
    return as_image(svg, f"Hardware of node {node}") if svg.startswith("<svg") else svg


def as_image(svg: str, words: str) -> str:
    """Return an SVG as an HTML image, with its text alternative."""
    code = b64encode(svg.encode()).decode()
    return f'<p><img alt="{escaped(words)}" src="data:image/svg+xml;base64,{code}"></p>'


def show_answer_with_picture(session: Session) -> None:
    """Show the answer of a session with its picture: a plan does not hold its cluster."""
    show_with_picture(session, lambda cluster, plan: _svg(cluster, plan, plan.node))


def _svg(cluster: Cluster, plan: Plan, node: str) -> str:
    """Return the picture of a node, why there is none, or "" for a node that the cluster does not have."""
    from dra_lab.pictures.hardware import hardware_svg

    if node not in cluster.node_by_name:
        return ""
    try:
        return hardware_svg(cluster, node, plan=plan)
    except DraLabError as error:
        return f"<p>{escaped(str(error))}</p>"
