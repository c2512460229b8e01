"""Why a node or one of its devices does not serve the drawing, and the nodes of the cluster."""

from __future__ import annotations

from operator import is_
from typing import Any

import traitlets
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.findings import sentence_case
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import NodeFit
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import Movable, Move
from dra_lab.model.running_pods import SYSTEM, movable_units, running_pods
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.moves import WIDTH, moved_kinds, moves_svg, steps_of
from dra_lab.planner.why.why_not import why_not
from dra_lab.session import Session
from dra_lab.session.answers import pods_of
from dra_lab.topology.locality import device_names
from dra_lab.widgets.device_rows import FleetItem, fleet
from dra_lab.widgets.session_view import Pane, Row, calls, latest_plan, on
from dra_lab.widgets.verdict_row import node_labels
from dra_lab.words.document import printable
from dra_lab.words.drawing_words import nouns
from dra_lab.words.facts import KINDS
from dra_lab.words.moves_document import cordon_words, moves_sentence, staying_lines, step_lines, steps_markdown
from dra_lab.words.verdict import MAKE_ROOM
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
    not_serving = (
        (name for fit in plan.node_classes if fit.verdict is NodeFit.NO for name in fit.members) if plan else iter(())
    )
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


# --------------------------------------------------------------------- Running pods that move


class MoveRow(Row, frozen=True):
    """One pod that moves: the number of its step, 0 if it goes nowhere, from where to where, and what to know."""

    pod: str
    words: str
    number: int = 0
    lines: tuple[str, ...] = ()


class MovableRow(Row, frozen=True):
    """Which pods may move: each namespace with whether it is chosen, the labels as text, and what is left out."""

    namespaces: tuple[tuple[str, bool], ...] = ()
    labels: str = ""
    lines: tuple[str, ...] = ()


class MovesRow(Row, frozen=True):
    """The moves of the card, or of the what-if changes; without a `sentence` there is nothing to show.

    `fix` is the number of the card that applies them, 0 if there is none; `first` says what to do before the steps.
    `kinds` are the kinds of devices that can be drawn, `markdown` the steps as a file. `movable` is there if room is
    asked for, and `seeking` while it is looked for.
    """

    sentence: str = ""
    svg: str = ""
    kinds: tuple[tuple[str, str], ...] = ()
    steps: tuple[MoveRow, ...] = ()
    first: str = ""
    markdown: str = ""
    fix: int = 0
    movable: MovableRow | None = None
    seeking: bool = False


class MovesPane(Pane):
    """The moves; the browser writes the kind of device that the picture counts, and the width of its place."""

    moves = traitlets.Dict().tag(sync=True, value=MovesRow)
    moves_kind = traitlets.Unicode("").tag(sync=True)
    moves_width = traitlets.Int(0).tag(sync=True)

    def _begin(self) -> None:
        self._shown: tuple[object, ...] = ()
        self.when(self._show_moves, "plan", "copies", "cluster", "fleet", "mode")
        self.watch(self._show_moves, "moves_kind", "moves_width")

    def _show_moves(self) -> None:
        session, view = self.session, self.view
        # while a question is answered the last moves stay, with the controls that a person is at
        if session.stale:
            return
        plans = (session.room, _placed(session), session.sought, _is_drawing(session))
        about = (*plans, session.cluster, session.drawing.movable, view.moves_kind, view.moves_width)
        # by identity: thousands of pods take tenths of a second, and several events come with each answer
        if len(self._shown) != len(about) or not all(map(is_, about, self._shown)):
            self._shown = about
            self.assign(moves=moves_row(session, view.moves_kind, view.moves_width))

    @on
    def set_movable(self, namespaces: list[str], labels: str = "") -> None:
        """Let pods of these namespaces with these labels move; all namespaces for none."""
        present = self.session.drawing.movable or Movable()
        chosen = Movable(namespaces=tuple(namespaces), labels=read_labels(labels), priority=present.priority)
        self.session.set_movable(chosen)


def read_labels(text: str) -> dict[str, str]:
    """Return the labels of `tier=spot,app=web`. Raises InputError for another form."""
    found = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        key, sign, value = part.partition("=")
        if not key.strip() or not sign or value.startswith("=") or key.endswith("!"):
            raise InputError(f"labels of pods that may move: {part!r} is not KEY=VALUE; write for example tier=spot")
        found[key.strip()] = value.strip()
    return found


def moves_row(session: Session, kind: str = "", width: int = 0) -> MovesRow:
    """Return the moves that make room for the drawing, else those of the what-if changes."""
    room, seeking = (session.room, session.sought == "room") if _is_drawing(session) else (None, False)
    plan = room or _placed(session)
    asked = seeking or room is not None
    if plan is None or not (plan.moves or asked):
        return MovesRow()
    cluster = room.on if room is not None and room.on is not None else session.cluster
    kinds = moved_kinds(cluster, plan.moves)
    drawn: dict[str, Any] = {"kind": kind if kind in kinds else "", "width": float(width) if width else WIDTH}
    return MovesRow(
        sentence=_sentence(plan, seeking=seeking),
        svg=moves_svg(cluster, plan.moves, plan, **drawn) if kinds else "",
        kinds=tuple((one, KINDS[one]) for one in kinds),
        steps=tuple(
            MoveRow(pod=move.pod, words=printable(_way(move)), number=step, lines=step_lines(move))
            for move, step in zip(plan.moves, steps_of(plan.moves), strict=True)
        ),
        first=cordon_words(plan.moves),
        markdown=steps_markdown(plan) if plan.moves else "",
        fix=MAKE_ROOM if room is not None and room.fits else 0,
        movable=_movable_row(session) if asked else None,
        seeking=seeking,
    )


def _way(move: Move) -> str:
    if move.node_from == move.node_to:
        return f"other devices of {move.node_to}"
    return f"{move.node_from} → {move.node_to}" if move.node_to else f"leaves {move.node_from}"


def _sentence(plan: Plan, *, seeking: bool) -> str:
    """Return what happens to running pods, and why no room was found."""
    found = [f"{sentence_case(one.message)}." for one in plan.findings if one.rule == "room-not-found"]
    words = "Looking for running pods whose moves make room." if seeking else ""
    return printable(" ".join(filter(None, (moves_sentence(plan), *found, words))))


def _is_drawing(session: Session) -> bool:
    """Say whether what is shown asks for the drawing alone, for which room is looked for."""
    fleet = session.fleet
    return session.mode != "fleet" or [(one.pod, pods_of(one)) for one in fleet.workloads] == [(fleet.editing, 1)]


def _placed(session: Session) -> Plan | None:
    """Return the plan whose new pods are drawn beside the moves of the what-if changes: the fleet's in its mode."""
    fleet = session.fleet.answer
    if session.mode == "fleet" and fleet is not None and session.fleet.is_current and fleet.plan.moves:
        return fleet.plan
    return latest_plan(session)


@once_per_snapshot
def _namespaces(cluster: Cluster) -> tuple[str, ...]:
    """Return the namespaces of the pods that hold devices, without kube-system, whose pods never move."""
    found = {pod.pod.metadata.key[0] for pod in running_pods(cluster)}
    return tuple(sorted(found - {SYSTEM}))


def _movable_row(session: Session) -> MovableRow:
    chosen, cluster = session.drawing.movable or Movable(), session.cluster
    names = sorted({*_namespaces(cluster), *chosen.namespaces})
    return MovableRow(
        namespaces=tuple((name, not chosen.namespaces or name in chosen.namespaces) for name in names),
        labels=", ".join(f"{key}={value}" for key, value in chosen.labels.items()),
        lines=tuple(map(printable, staying_lines(movable_units(running_pods(cluster), cluster.budgets, chosen, 0)))),
    )
