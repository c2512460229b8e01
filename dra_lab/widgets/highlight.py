"""What is highlighted in all views of a session: a request or a device that the pointer or the keyboard is on."""

from __future__ import annotations

import traitlets

from dra_lab.session import Session
from dra_lab.widgets.session_view import FollowingWidget


class HighlightingWidget(FollowingWidget):
    """A view in which requests and devices light up; `highlight` is a request's name or a device id, "" for nothing.

    Either side writes it: what a person points at goes to the session, and from there to the other views.
    """

    highlight = traitlets.Unicode("").tag(sync=True)

    def _follow_light(self, session: Session) -> None:
        """Share the light with the session from now on."""
        self.observe(self._on_highlight, "highlight")
        self._when(session, self._show_highlight, "highlight")

    def _show_highlight(self) -> None:
        if self._session is not None:
            self.highlight = self._session.highlight

    def _on_highlight(self, _change: object) -> None:
        if self._session is not None:
            self._session.light(self.highlight)
