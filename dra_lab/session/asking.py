"""What the parts of a session need of it."""

from __future__ import annotations

from typing import Protocol

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Drawing
from dra_lab.session.content import Content
from dra_lab.session.events import Events
from dra_lab.session.history import History


class Asking(Protocol):
    """A session as its parts use it."""

    history: History[Content]
    cluster: Cluster
    snapshot: Cluster
    drawing: Drawing
    events: Events
    mode: str
    time_limit: float | None

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release."""

    def change(self, content: Content) -> None:
        """Replace the content: one undo step."""

    def complete(self, content: Content) -> None:
        """Replace the content without an undo step."""
