"""The Trace mode of `HardwareView` for a gang: what Kueue or kube-scheduler does with it, step by step."""

from __future__ import annotations

from functools import partial

import traitlets
from msgspec.structs import asdict

from dra_lab.model.gang import gang_of
from dra_lab.model.gang_replay import GangReplay
from dra_lab.model.sketch import GangDrawing, PodDrawing
from dra_lab.session import Session
from dra_lab.session.gang_tracing import GangQuestion, GangTracing
from dra_lab.widgets.gang_trace_rows import head_of, now_of
from dra_lab.widgets.gang_trace_values import GangTraceHead, GangTraceNow
from dra_lab.widgets.highlight import HighlightingWidget

SCHEDULERS = ("kueue", "kube-scheduler")


class GangTraceMode(HighlightingWidget):
    """The traits of the Trace pane for a gang.

    `gang_trace` is the scheduler's choice, without a name if the drawing is no gang, and `gang_trace_now` its present
    step. Either side writes the others: the number of the step, the scheduler, and whether the gang is shown rather
    than the search for one of its pods.
    """

    gang_trace = traitlets.Dict().tag(sync=True, value=GangTraceHead)
    gang_trace_now = traitlets.Dict().tag(sync=True, value=GangTraceNow)
    gang_trace_step = traitlets.Int(0).tag(sync=True)
    gang_trace_scheduler = traitlets.Enum(SCHEDULERS, "kueue").tag(sync=True)
    gang_trace_shown = traitlets.Bool(True).tag(sync=True)

    def _follow_gang(self, session: Session) -> None:
        """Replay the scheduler for the drawn gang whenever the Trace mode is on, and when either changes."""
        self._gang_replay: GangReplay | None = None
        post = session.events.post
        self._gang_tracing = GangTracing(lambda: post(partial(self._try, "gang trace", self._show_gang)))
        self._endings.append(self._gang_tracing.close)
        traits = ("gang_trace_scheduler", "gang_trace_shown", "mode")
        self.observe(lambda _change: self._try("gang trace", self._ask_gang), traits)
        self.observe(lambda _change: self._show_gang_step(), "gang_trace_step")
        self._when(session, self._ask_gang, "cluster", "fleet", "sketch", "mode")

    @property
    def _shows_gang(self) -> bool:
        return self.gang_trace_shown and self._drawn_gang() is not None

    def _drawn_gang(self) -> tuple[PodDrawing, GangDrawing] | None:
        """Return the workload on the canvas and its gang, None if it is no gang."""
        if self._session is None:
            return None
        content = self._session.history.present
        pod = next((one for one in content.workloads if one.pod == content.editing), None)
        return None if pod is None or pod.gang is None or not pod.claims else (pod, pod.gang)

    def _ask_gang(self) -> None:
        session = self._session
        if session is None or session.mode != "trace":
            return
        drawn = self._drawn_gang()
        if drawn is None:
            self._gang_replay = None
            self._assign(gang_trace=GangTraceHead(), gang_trace_now=GangTraceNow(), gang_trace_step=0)
            return
        if not self.gang_trace_shown:
            self._assign(gang_trace={**self.gang_trace, "name": drawn[0].pod})
            return
        self._gang_tracing.ask(GangQuestion(session.cluster, *drawn, session.release, self.gang_trace_scheduler))
        self._show_gang()

    def _show_gang(self) -> None:
        """Show the replay as far as it is known."""
        tracing, drawn = self._gang_tracing, self._drawn_gang()
        question = tracing.question
        if question is None or drawn is None:
            return
        head = head_of(gang_of(question.pod, question.drawn), tracing.replay, tracing.regret)
        fields = asdict(head)
        fields["error"] = tracing.error if tracing.replay is None else ""
        if tracing.running:
            fields["working"] = "the best plan is computed" if tracing.replay else "the scheduler's steps are replayed"
        elif tracing.error and tracing.replay is not None:
            fields["regret"] = "You stopped the plan that the choice is compared with."
        new = tracing.replay is not None and tracing.replay is not self._gang_replay
        self._gang_replay = tracing.replay
        self._assign(gang_trace=GangTraceHead(**fields))
        if new:
            self._assign(gang_trace_step=min(1, head.total))
        self._show_gang_step()

    def _show_gang_step(self) -> None:
        replay = self._gang_replay
        if replay is not None:
            self._assign(gang_trace_now=now_of(replay, max(0, min(self.gang_trace_step, len(replay.steps)))))
