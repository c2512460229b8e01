"""The strip of pods that are pending for devices, under the bar of `ClusterBar`."""

from __future__ import annotations

from typing import Any

import traitlets

from dra_lab.findings import sentence_case
from dra_lab.model.pod_reason import PodReason
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane
from dra_lab.widgets.wire import Row

MOST_PODS = 200
"""Pods that travel to the browser."""


class PendingRow(Row, frozen=True):
    """A pending pod with its reason; a pod of which no reason was found is `unknown`."""

    pod: str
    reason: str
    unknown: bool = False


class PendingPods(Pane):
    """The pods that are pending, and the way to draw the claims of one."""

    pending: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[PendingRow])

    def _begin(self) -> None:
        self.when(self._show, "pending")
        self.when(lambda: self.session.pending.ask(self.session.snapshot), "cluster")

    def _show(self) -> None:
        found = self.session.pending.answer
        waiting = [one for one in (found.pods if found is not None else ()) if one.rule]
        self.assign(
            pending=[
                PendingRow(pod=one.pod, reason=_reason(one), unknown=not one.blocked) for one in waiting[:MOST_PODS]
            ]
        )

    @on
    def open_pod(self, pod: str) -> None:
        """Draw the claims of a pending pod: one undo step."""
        self.session.edit(self.session.pending.drawing(pod))
        self.session.show_mode("plan")


def _reason(one: PodReason) -> str:
    """Return why a pod is pending without its name, which stands beside it."""
    rest = one.sentence.removeprefix(f"{one.pod} ")
    return sentence_case(rest.removeprefix("is pending: "))
