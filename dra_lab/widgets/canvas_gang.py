"""The frame of `ClaimCanvas` around the drawing that keeps several such pods in one rack or other domain."""

from __future__ import annotations

import traitlets

from dra_lab.model.sketch import PodDrawing
from dra_lab.session import Session
from dra_lab.session.drawn_gang import drawn_gang, set_drawn_gang
from dra_lab.widgets.domain_rows import asked_gang, first_gang, gang_row
from dra_lab.widgets.domain_values import GangRow
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane
from dra_lab.words.workload_words import gang_words

FIRST_PODS = 4
"""Pods of a gang that is drawn first."""


class CanvasGang(Pane):
    """The part of a canvas about the gang of the drawn pod; `gang` is empty without one, and only Python writes it."""

    gang = traitlets.Dict().tag(sync=True, value=GangRow)

    def _begin(self) -> None:
        self.when(self._show_gang, "history", "cluster", "sketch")

    def _show_gang(self) -> None:
        drawn = drawn_gang(self.session)
        if drawn is None:
            self.view.gang = {}
            return
        pods = self.session.fleet.workload(self.session.fleet.editing).replicas
        self.assign(gang=gang_row(self.session.cluster, PodDrawing(pod="", replicas=pods), drawn, None))

    @on
    def make_gang(self) -> None:
        """Make the drawn pod one gang of all its pods in one domain of the innermost level."""
        session = self.session
        if drawn_gang(session) is None:
            pods = session.fleet.workload(session.fleet.editing).replicas if session.fleet.editing else 1
            set_drawn_gang(session, first_gang(session.cluster, pods if pods > 1 else FIRST_PODS))

    @on
    def set_gang(
        self,
        size: int,
        min: int = 0,  # noqa: A002  the field of the message
        level: str = "",
        hierarchy: str = "",
        prefer: str = "",
        queue: str = "",
    ) -> None:
        """Change the gang of the drawn pod: `min` 0 stands for all pods, `size` 0 for no gang."""
        set_drawn_gang(self.session, asked_gang(size, min, level, hierarchy, prefer, queue))


def drawn_gang_words(session: Session) -> str:
    """Return who answers for the gang of the drawn pod: Plan answers for one pod."""
    drawn = drawn_gang(session)
    if drawn is None:
        return ""
    number = session.fleet.workload(session.fleet.editing).replicas
    return f"Fleet answers for {gang_words(drawn, number)}."
