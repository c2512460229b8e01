"""The scheduler's choice that the Trace mode shows for a gang, replayed in a worker thread, and its regret."""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec import Struct

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import GangPlan, gang_of
from dra_lab.model.gang_replay import GangRegret, GangReplay
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import GangDrawing, PodDrawing
from dra_lab.session.worker import Worker

SECONDS = 30.0
"""Seconds for the replay, for the best plan, and for the regret; a replay on 5,000 nodes takes 5 seconds of CPU."""

STOPPED = "You stopped the replay before its first steps were recorded."


class GangQuestion(Struct, frozen=True):
    """What is asked: the cluster, the workload, its gang, the release and the scheduler."""

    cluster: Cluster
    pod: PodDrawing
    drawn: GangDrawing
    release: KubernetesRelease
    scheduler: str

    def is_same(self, other: GangQuestion | None, *, any_scheduler: bool = False) -> bool:
        """Say whether another question is this one; `any_scheduler` leaves out the scheduler."""
        if other is None or other.cluster is not self.cluster:
            return False
        same = (self.pod, self.drawn, self.release) == (other.pod, other.drawn, other.release)
        return same and (any_scheduler or self.scheduler == other.scheduler)


class GangTracing:
    """The latest replay that was asked for; `changed` is called in the worker thread when more of it is known.

    `replay` has the steps, None while they are replayed; `regret` comes after the best plan. `error` says why there is
    no replay.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        """Begin without a replay; no thread is begun."""
        self._changed = changed
        self._worker = Worker("dra-lab-gang-trace", owner=self)
        self._planned: tuple[GangQuestion, GangPlan] | None = None
        self.question: GangQuestion | None = None
        self.running = False
        self.replay: GangReplay | None = None
        self.regret: GangRegret | None = None
        self.error = ""

    def ask(self, question: GangQuestion) -> None:
        """Replay a scheduler; what was asked before is given up."""
        if question.is_same(self.question):
            return
        self.question, self.running, self.replay, self.regret, self.error = question, True, None, None, ""
        self._worker.submit(lambda stop: self._run(question, stop))

    def cancel(self) -> None:
        """Stop the replay, or the plan that its regret needs; what is known is shown."""
        self._worker.cancel()
        self._end(self.question, "" if self.replay is not None else STOPPED)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is replayed; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def close(self) -> None:
        """End the worker thread."""
        self._worker.close()

    def _run(self, question: GangQuestion, stop: threading.Event) -> None:
        from dra_lab.pinning.trace_gang import gang_regret, trace_gang
        from dra_lab.session.fleet_files import fleet_cluster

        gang = gang_of(question.pod, question.drawn)
        error = ""
        try:
            cluster = fleet_cluster(question.cluster, [question.pod])
            limits = {"release": question.release, "time_limit": SECONDS, "cancel": stop}
            replay = trace_gang(cluster, gang, question.scheduler, **limits)  # type: ignore[arg-type]
            self._know(question, stop, replay=replay)
            plan = self._best(question, cluster, stop)
            regret = gang_regret(cluster, gang, plan, question.scheduler, **limits)  # type: ignore[arg-type]
            self._know(question, stop, regret=regret)
        except Cancelled:
            error = STOPPED
        except DraLabError as refused:
            error = str(refused)
        if not stop.is_set():
            self._end(question, error)

    def _best(self, question: GangQuestion, cluster: Cluster, stop: threading.Event) -> GangPlan:
        """Return the best plan for the gang alone, which both schedulers are compared with."""
        from dra_lab.planner.gangs import plan_gangs

        if self._planned is not None and question.is_same(self._planned[0], any_scheduler=True):
            return self._planned[1]
        gang = gang_of(question.pod, question.drawn)
        plan = plan_gangs(cluster, [gang], release=question.release, time_limit=SECONDS, cancel=stop)
        if not stop.is_set():
            self._planned = question, plan
        return plan

    def _know(
        self,
        question: GangQuestion,
        stop: threading.Event,
        *,
        replay: GangReplay | None = None,
        regret: GangRegret | None = None,
    ) -> None:
        if question is self.question and not stop.is_set():
            self.replay, self.regret = replay or self.replay, regret
            self._changed()

    def _end(self, question: GangQuestion | None, error: str) -> None:
        if question is self.question and self.running:
            self.running, self.error = False, error
            self._changed()
