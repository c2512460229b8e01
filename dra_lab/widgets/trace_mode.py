"""The Trace mode of `HardwareView`: kube-scheduler's search on the shown node, step by step on the picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import traitlets

from dra_lab.model.plan import Plan
from dra_lab.session.in_order import InOrder
from dra_lab.session.tracing import Tracing
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane, attempt
from dra_lab.widgets.trace_position import Prediction, TraceHead, TraceNow, TracePosition, TraceRow

MODE = "trace"

_NARROWEST, _WIDEST = 320, 1100


def picture_width(pixels: int) -> float:
    """Return the width of a picture: what the browser has for it, within bounds; the usual one for 0."""
    from dra_lab.pictures.boxes import WIDTH

    return float(min(max(pixels, _NARROWEST), _WIDEST)) if pixels else WIDTH


class TraceMode(Pane):
    """The Trace pane.

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

    def begin(self) -> None:
        """Trace the shown node whenever the mode is on, and when answer, node or links change meanwhile."""
        self._position: TracePosition | None = None
        self._traced: tuple[object, ...] = ()
        self._tracing = Tracing(lambda: self.session.events.post(partial(attempt, self.view, "trace", self._show)))
        self._steps, self._at = InOrder("dra-lab-steps"), 0
        self.endings += [self._tracing.close, self._steps.close]
        self.watch(self._search, "trace_links", "node", "mode")
        self.watch(self._go, "trace_predict")
        self.watch(self._step_chosen, "trace_step")
        self.when(self._search, "cluster", "plan", "mode")

    @property
    def _plan(self) -> Plan | None:
        """Return the plan whose claim is searched, although a lesson hides its devices."""
        answer = self.session.answer
        return answer if answer is not None and answer.cluster == self.session.cluster.name else None

    def _search(self) -> None:
        if self.session.mode != MODE:
            return
        plan, node, links = wanted = self._plan, self.view.node, self.view.trace_links
        if self._traced and all(one is other or one == other for one, other in zip(wanted, self._traced, strict=True)):
            return
        self._traced = wanted
        self._tracing.search(plan, node, links=links)

    def _show(self) -> None:
        """Show the search that was asked for: how far it is, or its steps."""
        if not self._traced:
            return
        tracing = self._tracing
        trace, plan = tracing.trace, tracing.plan
        if tracing.running:
            if tracing.tried:
                self.assign(trace={**self.view.trace, "working": f"{tracing.tried:,} devices tried so far"})
        elif trace is None or plan is None:
            self._position = None
            self._steps.clear()
            head = TraceHead(node=self.view.node, error=tracing.error)
            self.assign(trace=head, trace_now=TraceNow(), trace_svg="", trace_inside={})
        elif self._position is None or self._position.trace is not trace:
            self._position = TracePosition(trace, self.session.cluster, plan.sketch, self.session.release)
            self._steps.clear()
            self._at = 1
            self.assign(trace=self._position.head(), trace_inside={}, trace_prediction=Prediction(), trace_step=1)
            self._go()

    def _step_chosen(self) -> None:
        if self.view.trace_step != self._at:
            self._go()

    def _go(self) -> None:
        """Show the step that is asked for."""
        step = self._at = self.view.trace_step
        self._move(lambda position: position.go(step), "go")

    def _move(self, act: Callable[[TracePosition], object], name: str = "") -> None:
        """Do something with the present search in the worker, and show the step that it leads to."""
        position, session, plan = self._position, self.session, self._plan
        if position is None or plan is None:
            return
        cluster, sketch, predicts = session.cluster, session.sketch, self.view.trace_predict
        width = picture_width(self.view.width)

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
        post = self.session.events.post

        def job(number: int) -> None:
            try:
                found: dict[str, object] | Exception = work()
            except Exception as error:  # noqa: BLE001  the pane says it, as any defect of the loop
                found = error
            show = partial(self._show_step, number, position, position.step, found)
            post(partial(attempt, self.view, "trace step", show))

        self._steps.submit(job, name)

    def _show_step(self, number: int, position: TracePosition, step: int, found: dict[str, Any] | Exception) -> None:
        if position is not self._position:
            return
        if isinstance(found, Exception):
            raise found
        if number == self._steps.latest:
            # A person who went on meanwhile is not taken back.
            self._at = step
            self.assign(trace_step=step)
        self.assign(**{**found, "trace_inside": {**self.view.trace_inside, **found.get("trace_inside", {})}})

    # ------------------------------------------------------------ what the person did

    @on
    def open_trace_row(self, first: int, last: int) -> None:
        """Send the rows inside a folded row of the trace."""
        if position := self._position:
            self._later(position, lambda: {"trace_inside": {f"{first}-{last}": position.inside(first, last)}})

    @on
    def next_allocation(self) -> None:
        """Go to the next step that allocates or gives back a device."""
        self._move(TracePosition.to_allocation)

    @on
    def predict(self, device: str) -> None:
        """Predict which device kube-scheduler allocates next."""
        self._move(lambda position: position.predict(device))

    @on
    def stop_trace(self) -> None:
        """Stop the search of the Trace mode; what is recorded of it is shown."""
        self._tracing.cancel()
