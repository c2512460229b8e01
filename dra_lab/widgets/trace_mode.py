"""The Trace mode of `HardwareView`: kube-scheduler's search on the shown node, step by step on the picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import traitlets

from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.session.in_order import InOrder
from dra_lab.session.tracing import Tracing
from dra_lab.widgets.highlight import HighlightingWidget
from dra_lab.widgets.messages import Message
from dra_lab.widgets.session_view import Actions, latest_plan
from dra_lab.widgets.trace_position import TracePosition
from dra_lab.widgets.trace_values import Prediction, TraceHead, TraceNow, TraceRow

MODE = "trace"


_NARROWEST, _WIDEST = 320, 1100


class OpenTraceRow(Message, frozen=True):
    """Send the rows inside a folded row of the trace."""

    first: int
    last: int


class NextAllocation(Message, frozen=True):
    """Go to the next step that allocates or gives back a device."""


class Predict(Message, frozen=True):
    """Predict which device kube-scheduler allocates next."""

    device: str


class StopTrace(Message, frozen=True):
    """Stop the search of the Trace mode; what is recorded of it is shown."""


class TraceMode(HighlightingWidget):
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

    def _width(self) -> float:
        """Return the width of a picture: what the pane has for it, within bounds, or the usual one."""
        from dra_lab.pictures.boxes import WIDTH

        return float(min(max(self.width, _NARROWEST), _WIDEST)) if self.width else WIDTH

    def _follow_trace(self, session: Session) -> None:
        """Trace the shown node whenever the mode is on, and when answer, node or links change meanwhile."""
        self._position: TracePosition | None = None
        self._traced: tuple[object, ...] = ()
        self._tracing = Tracing(lambda: session.events.post(partial(self._try, "trace", self._show_trace)))
        self._steps, self._at = InOrder("dra-lab-steps"), 0
        self._endings += [self._tracing.close, self._steps.close]
        self.observe(lambda _change: self._try("trace", self._ask_trace), ("trace_links", "node", "mode"))
        self.observe(lambda _change: self._go(), "trace_predict")
        self.observe(lambda _change: self._go() if self.trace_step != self._at else None, "trace_step")
        self._when(session, self._ask_trace, "cluster", "plan", "mode")

    def _plan_to_trace(self) -> Plan | None:
        return latest_plan(self._session)

    def _ask_trace(self) -> None:
        session = self._session
        if session is None or session.mode != MODE:
            return
        wanted = (self._plan_to_trace(), str(getattr(self, "node", "")), self.trace_links)
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
                self._assign(trace={**self.trace, "working": f"{tracing.tried:,} devices tried so far"})
        elif trace is None or plan is None:
            self._position = None
            self._steps.clear()
            head = TraceHead(node=node, error=tracing.error)
            self._assign(trace=head, trace_now=TraceNow(), trace_svg="", trace_inside={})
        elif self._position is None or self._position.trace is not trace:
            self._position = TracePosition(trace, session.cluster, plan.sketch, session.release)
            self._steps.clear()
            self._at = 1
            self._assign(trace=self._position.head(), trace_inside={}, trace_prediction=Prediction(), trace_step=1)
            self._go()

    def _go(self) -> None:
        """Show the step that is asked for."""
        step = self._at = self.trace_step
        self._move(lambda position: position.go(step), "go")

    def _move(self, act: Callable[[TracePosition], object], name: str = "") -> None:
        """Do something with the present search in the worker, and show the step that it leads to."""
        position, session, plan = self._position, self._session, self._plan_to_trace()
        if position is None or session is None or plan is None:
            return
        cluster, sketch, width, predicts = session.cluster, session.sketch, self._width(), self.trace_predict

        def seen() -> dict[str, object]:
            from dra_lab.pictures.hardware import hardware_svg

            act(position)
            if predicts:
                position.ask()
            svg = hardware_svg(cluster, position.trace.node, plan=position.allocated(plan), sketch=sketch, width=width)
            return {"trace_now": position.now(), "trace_svg": svg, "trace_prediction": position.prediction}

        self._later(position, seen, name)

    def _later(self, position: TracePosition, work: Callable[[], dict[str, object]], name: str = "") -> None:
        """Compute traits in the worker, and show them if the search is still the present one."""
        post = self._session.events.post if self._session is not None else None

        def job(number: int) -> None:
            try:
                found: dict[str, object] | Exception = work()
            except Exception as error:  # noqa: BLE001  the pane says it, as any defect of the loop
                found = error
            if post is not None:
                post(partial(self._try, "trace step", partial(self._show_step, number, position, position.step, found)))

        self._steps.submit(job, name)

    def _show_step(self, number: int, position: TracePosition, step: int, found: dict[str, Any] | Exception) -> None:
        if position is not self._position:
            return
        if isinstance(found, Exception):
            raise found
        if number == self._steps.latest:
            # A person who went on meanwhile is not taken back.
            self._at = step
            self._assign(trace_step=step)
        self._assign(**{**found, "trace_inside": {**self.trace_inside, **found.get("trace_inside", {})}})

    # ------------------------------------------------------------ what the person did

    def _open_row(self, message: OpenTraceRow) -> None:
        first, last = message.first, message.last
        if position := self._position:
            self._later(position, lambda: {"trace_inside": {f"{first}-{last}": position.inside(first, last)}})

    def _to_allocation(self, _message: NextAllocation) -> None:
        self._move(TracePosition.to_allocation)

    def _predict(self, message: Predict) -> None:
        self._move(lambda position: position.predict(message.device))

    def _stop_trace(self, _message: StopTrace) -> None:
        self._tracing.cancel()

    trace_actions: ClassVar[Actions] = {
        OpenTraceRow: _open_row,
        NextAllocation: _to_allocation,
        Predict: _predict,
        StopTrace: _stop_trace,
    }
