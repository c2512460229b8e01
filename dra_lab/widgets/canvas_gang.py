"""The frame of `ClaimCanvas` around the drawing that keeps several such pods in one rack or other domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import traitlets

from dra_lab.model.sketch import PodDrawing
from dra_lab.session import Session
from dra_lab.session.drawn_gang import drawn_gang, set_drawn_gang
from dra_lab.widgets import messages
from dra_lab.widgets.domain_rows import first_gang, gang_of_message, gang_row
from dra_lab.widgets.domain_values import GangRow
from dra_lab.widgets.highlight import HighlightingWidget
from dra_lab.words.gang_verdict import gang_words

FIRST_PODS = 4
"""Pods of a gang that is drawn first."""


class CanvasGang(HighlightingWidget):
    """The part of a canvas about the gang of the drawn pod; `gang` is empty without one, and only Python writes it."""

    gang = traitlets.Dict().tag(sync=True, value=GangRow)

    def _follow_gang(self, session: Session) -> None:
        self._when(session, self._show_gang, "history", "cluster", "sketch")

    def _show_gang(self) -> None:
        if (session := self._session) is None:
            return
        drawn = drawn_gang(session)
        if drawn is None:
            self.gang = {}
            return
        pods = session.fleet.workload(session.fleet.editing).replicas
        self._assign(gang=gang_row(session.cluster, PodDrawing(pod="", replicas=pods), drawn, None))

    def _make_gang(self, _message: messages.MakeGang) -> None:
        if (session := self._session) is not None and drawn_gang(session) is None:
            pods = session.fleet.workload(session.fleet.editing).replicas if session.fleet.editing else 1
            set_drawn_gang(session, first_gang(session.cluster, pods if pods > 1 else FIRST_PODS))

    def _set_gang(self, message: messages.SetGang) -> None:
        if self._session is not None:
            set_drawn_gang(self._session, gang_of_message(message))

    gang_actions: ClassVar[Mapping[type[messages.Message], Callable[[Any, Any], None]]] = {
        messages.MakeGang: _make_gang,
        messages.SetGang: _set_gang,
    }


def drawn_gang_words(session: Session) -> str:
    """Return who answers for the gang of the drawn pod: Plan answers for one pod."""
    drawn = drawn_gang(session)
    if drawn is None:
        return ""
    number = session.fleet.workload(session.fleet.editing).replicas
    return f"Fleet answers for {gang_words(drawn, number)}."
