"""LessonPicture: the picture of a lesson, on which a student predicts devices, and which shows no answer too early."""

from __future__ import annotations

from typing import Any

import traitlets

from dra_lab.session import Session
from dra_lab.widgets.hardware_view import HardwareView, NodePicture
from dra_lab.widgets.session_view import Highlight, Shown
from dra_lab.widgets.trace_mode import MODE, TraceMode

PICTURE = "lesson"
"""The mode in which the picture alone is shown; the other one is the search of kube-scheduler, step by step."""


class LessonShown(Shown):
    """The mode of a lesson's picture."""

    def _show_mode(self) -> None:
        self.view.mode = MODE if self.session.mode == MODE else PICTURE


class LessonPicture(HardwareView):
    """The picture of a node, or kube-scheduler's search on it, as a step of a lesson needs it.

    `picked` are the devices that a student has chosen; both sides write it. `picks` says whether devices can be chosen,
    and `only` the node that the step is about, on which its session plans, "" if a student may look at every node. If
    `picks_one`, another device replaces the chosen one.

    Example:
        >>> from dra_lab import Session
        >>> view = LessonPicture(Session("sample:two-sockets"))
        >>> view.mode
        'lesson'
    """

    is_part = True
    panes = (LessonShown, NodePicture, Highlight, TraceMode)

    picked: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    picks = traitlets.Bool(False).tag(sync=True)
    only = traitlets.Unicode("").tag(sync=True)

    def __init__(self, session: Session, *, only: str = "", picks_one: bool = False, **traits: Any) -> None:
        """Show a session's nodes, or only one of them."""
        self._picks_one = picks_one
        super().__init__(session, only=only, **traits)
        if only:
            session.look_at(only)

    @traitlets.validate("picked")
    def _check_picked(self, proposal: Any) -> list[str]:
        picked: list[str] = proposal["value"]
        return picked[-1:] if self._picks_one else picked
