"""Why devices of the node that a person looks at are stranded, worked out in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dra_lab.errors import DraLabError
from dra_lab.session.events import Events
from dra_lab.session.fleet_answer import FleetAnswer
from dra_lab.session.worker import Worker

if TYPE_CHECKING:
    from dra_lab.planner.fleet.why_stranded import WhyStranded


class Stranding:
    """Answers for one node at a time, which `ask` names; the event "fleet-why" tells that the answer is there."""

    def __init__(self, events: Events) -> None:
        """Begin without a question; no thread is begun."""
        self._events = events
        self._worker = Worker("dra-lab-stranded", owner=self)
        self._question: tuple[FleetAnswer, str] | None = None
        self._found: WhyStranded | None = None

    def ask(self, answer: FleetAnswer, node: str) -> WhyStranded | None:
        """Return why devices of a node are stranded after an answer, None while that is worked out."""
        known = self._question
        if known is None or known[0] is not answer or known[1] != node:
            self._question, self._found = (answer, node), None
            self._worker.submit(lambda stop: self._solve(answer, node, stop))
        return self._found

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is worked out; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    def _solve(self, answer: FleetAnswer, node: str, stop: threading.Event) -> None:
        from dra_lab.planner.fleet.why_stranded import WhyStranded, why_stranded

        question = answer.question
        try:
            found = why_stranded(
                question.cluster, question.workloads, node, release=question.release, after=answer.plan
            )
        except DraLabError:  # the answer already says it
            found = WhyStranded(node)
        if not stop.is_set():
            self._found = found
            self._events.emit("fleet-why")
