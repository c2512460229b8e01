"""The Trace mode of `HardwareView`: kube-scheduler's search on the shown node, step by step on the picture."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import traitlets

from dra_lab.model.trace import StepKind
from dra_lab.session import Session
from dra_lab.session.tracing import Tracing
from dra_lab.widgets import messages
from dra_lab.widgets.following import Actions, latest_plan
from dra_lab.widgets.lit import LitWidget
from dra_lab.widgets.trace_values import Prediction, TraceHead, TraceNow, TraceRow
from dra_lab.widgets.trace_walk import TraceWalk

MODE = "trace"


_NARROWEST, _WIDEST = 320, 1100


class TraceMode(LitWidget):
    """The traits and actions of the Trace pane.

    `trace` is the search, `trace_now` its present step, and `trace_svg` the picture with the devices that it holds.
    Either side writes the next three. `trace_step` is the number of the present step. `trace_links` is False for the
    search of counts and selectors only. `trace_predict` says whether the person predicts first.
    `trace_inside` has the rows inside folded rows that were opened, by their key.
    """

    trace = traitlets.Dict().tag(sync=True, value=TraceHead)
    trace_now = traitlets.Dict().tag(sync=True, value=TraceNow)
    trace_svg = traitlets.Unicode("").tag(sync=True)
    trace_step = traitlets.Int(0).tag(sync=True)
    trace_links = traitlets.Bool(True).tag(sync=True)
    trace_predict = traitlets.Bool(False).tag(sync=True)
    trace_prediction = traitlets.Dict().tag(sync=True, value=Prediction)
    trace_inside: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True, value=dict[str, list[TraceRow]])

    width = traitlets.Int(0).tag(sync=True)

    def _room(self) -> float:
        """Return the width of a picture: what the pane has for it, within bounds, or the usual one."""
        from dra_lab.pictures.boxes import WIDTH

        return float(min(max(self.width, _NARROWEST), _WIDEST)) if self.width else WIDTH

    def _follow_trace(self, session: Session) -> None:
        """Trace the shown node whenever the mode is on, and when answer, node or links change meanwhile."""
        self._walk: TraceWalk | None = None
        self._traced: tuple[object, ...] = ()
        self._tracing = Tracing(lambda: session.events.post(partial(self._try, "trace", self._show_trace)))
        self._endings.append(self._tracing.close)
        self.observe(lambda _change: self._try("trace", self._ask_trace), ("trace_links", "node", "mode"))
        self.observe(lambda _change: self._try("trace step", self._show_step), ("trace_step", "trace_predict"))
        self._when(session, self._ask_trace, "cluster", "plan", "mode")

    def _ask_trace(self) -> None:
        session = self._session
        if session is None or session.mode != MODE:
            return
        wanted = (latest_plan(session), str(getattr(self, "node", "")), self.trace_links)
        if self._traced and all(one is other or one == other for one, other in zip(wanted, self._traced, strict=True)):
            return
        self._traced = wanted
        self._tracing.search(wanted[0], wanted[1], links=wanted[2])

    def _show_trace(self) -> None:
        """Show the search that was asked for: how far it is, or its steps."""
        session = self._session
        if session is None or not self._traced:
            return
        node, tracing = str(getattr(self, "node", "")), self._tracing
        trace, plan = tracing.trace, tracing.plan
        if tracing.running:
            if tracing.tried:
                self._tell(trace={**self.trace, "working": f"{tracing.tried:,} devices tried so far"})
        elif trace is None or plan is None:
            self._walk = None
            head = TraceHead(node=node, error=tracing.error)
            self._tell(trace=head, trace_now=TraceNow(), trace_svg="", trace_inside={})
        elif self._walk is None or self._walk.trace is not trace:
            self._walk = TraceWalk(trace, session.cluster, plan.sketch, session.release)
            self._tell(trace=self._walk.head(), trace_inside={}, trace_prediction=Prediction())
            if self.trace_step == 1:
                self._show_step()
            else:
                self.trace_step = 1

    def _show_step(self) -> None:
        from dra_lab.pictures.hardware import hardware_svg

        walk, session = self._walk, self._session
        plan = latest_plan(session)
        if walk is None or session is None or plan is None:
            return
        walk.go(self.trace_step)
        if self.trace_predict:
            walk.ask()
        svg = hardware_svg(
            session.cluster,
            walk.trace.node,
            plan=walk.allocated(plan),
            sketch=session.sketch,
            width=self._room(),
        )
        self._tell(trace_now=walk.now(), trace_svg=svg, trace_step=walk.step, trace_prediction=walk.prediction)

    # ------------------------------------------------------------ what the person did

    def _open_row(self, message: messages.OpenTraceRow) -> None:
        if self._walk is not None:
            rows = self._walk.inside(message.first, message.last)
            self._tell(trace_inside={**self.trace_inside, f"{message.first}-{message.last}": rows})

    def _to_allocation(self, _message: messages.NextAllocation) -> None:
        if self._walk is not None:
            step = self._walk.next_of(StepKind.ALLOCATED, StepKind.GIVEN_BACK, StepKind.END)
            self.trace_step = step.first if step is not None else self._walk.total

    def _predict(self, message: messages.Predict) -> None:
        if self._walk is not None:
            self._walk.predict(message.device)
            self._tell(trace_prediction=self._walk.prediction)
            self.trace_step = self._walk.step

    def _stop_trace(self, _message: messages.StopTrace) -> None:
        self._tracing.cancel()

    trace_actions: ClassVar[Actions] = {
        messages.OpenTraceRow: _open_row,
        messages.NextAllocation: _to_allocation,
        messages.Predict: _predict,
        messages.StopTrace: _stop_trace,
    }
