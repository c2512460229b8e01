"""The Trace mode of `HardwareView`: kube-scheduler's search on the shown node, step by step on the picture."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import traitlets

from dra_lab.errors import Cancelled
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session.job import Job, Run
from dra_lab.widgets.session_view import Pane, attempt, on
from dra_lab.widgets.trace_position import Prediction, TraceHead, TraceNow, TracePosition, TraceRow

MODE = "trace"

SECONDS = 10.0
"""How long a search runs; one that goes on is shown as far as it is recorded."""

REPORT_EVERY = 0.2
"""Seconds between two numbers of candidates; a search that ends sooner gives none."""

Move = Callable[[TracePosition], object]
"""What is done with a search: it goes to a step, or looks into a row."""

_STOPPED = "You stopped the search before its first steps were recorded."
_NARROWEST, _WIDEST = 320, 1600


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

    only_in = MODE

    def _begin(self) -> None:
        self._traced: tuple[object, ...] = ()
        self._position: TracePosition | None = None
        self._search = Job[TracePosition](self._post(self._show), self._post(self._show_tried))
        self._steps = Job[dict[str, Any]](self._post(self._show_step))
        self._moves: deque[Move] = deque()
        self._inside: dict[str, tuple[TraceRow, ...]] = {}
        self._at = 0
        self.endings += [self._search.close, self._steps.close]
        self.watch(self._trace, "trace_links", "node", "mode")
        self.watch(self._go, "trace_predict")
        self.watch(self._step_chosen, "trace_step")
        self.when(self._trace, "cluster", "plan", "mode")

    def _post(self, show: Callable[[], None]) -> Callable[[], None]:
        """Return what shows something on the kernel's loop."""
        return lambda: self.session.events.post(partial(attempt, self.view, show.__qualname__, show))

    # ------------------------------------------------------------ the search

    @property
    def _plan(self) -> Plan | None:
        """Return the plan whose claim is searched, although a lesson hides its devices."""
        answer = self.session.answer
        return answer if answer is not None and answer.cluster == self.session.cluster.name else None

    def _trace(self) -> None:
        session = self.session
        plan, node, links = wanted = self._plan, self.view.node, self.view.trace_links
        if self._traced and all(one is other or one == other for one, other in zip(wanted, self._traced, strict=True)):
            return
        self._traced = wanted
        self._search.drop()
        if plan is None:
            self._show_error("There is no answer yet: the search is shown after the claim is planned.")
            return
        cluster, release = session.cluster, session.release

        def found(run: Run[TracePosition]) -> TracePosition:
            trace = plan.trace(node, links=links, time_limit=SECONDS, cancel=run.stop, progress=_seldom(run.report))
            return TracePosition(trace, cluster, plan.sketch, release)

        self._search.start(found)

    def _show_tried(self) -> None:
        if tried := self._search.progress:
            self.assign(trace={**self.view.trace, "working": f"{tried:,} devices tried so far"})

    def _show(self) -> None:
        """Show the search that was asked for, or why there is none."""
        position, refusal = self._search.answer, self._search.refusal
        if refusal is not None:
            self._show_error(_STOPPED if isinstance(refusal, Cancelled) else str(refusal))
        elif position is not None and position is not self._position:
            self._restart(position)
            self.assign(trace=position.head(), trace_inside={}, trace_prediction=Prediction(), trace_step=1)
            self._go()

    def _show_error(self, error: str) -> None:
        self._restart(None)
        self.assign(trace=TraceHead(error=error), trace_now=TraceNow(), trace_svg="", trace_inside={})

    def _restart(self, position: TracePosition | None) -> None:
        self._steps.drop()
        self._moves.clear()
        self._position, self._inside, self._at = position, {}, 1

    # ------------------------------------------------------------ its steps

    def _step_chosen(self) -> None:
        if self.view.trace_step != self._at:
            self._go()

    def _go(self) -> None:
        """Show the step that is asked for."""
        step = self._at = self.view.trace_step
        self._move(lambda position: position.go(step))

    def _move(self, move: Move) -> None:
        """Do something with the present search in the worker, after what was done before, and show its step."""
        self._moves.append(move)
        self._do_moves()

    def _do_moves(self) -> None:
        position, plan, session = self._position, self._plan, self.session
        if position is not None and plan is not None and self._moves and not self._steps.stale:
            cluster, sketch = session.cluster, session.sketch
            self._steps.start(lambda run: self._moved(run, position, plan, cluster, sketch))

    def _moved(
        self, run: Run[dict[str, Any]], position: TracePosition, plan: Plan, cluster: Cluster, sketch: ClaimSketch
    ) -> dict[str, Any]:
        """Return the traits of the step to which all moves lead; each step on the way that is drawn is shown."""
        from dra_lab.pictures.hardware import hardware_svg

        while True:
            while self._moves:
                self._moves.popleft()(position)
            if self.view.trace_predict:
                position.ask()
            node, width = position.trace.node, picture_width(self.view.width)
            svg = hardware_svg(cluster, node, plan=position.allocated(plan), sketch=sketch, width=width)
            # the step first: who sees its picture must not be taken back to the step before
            shown = {"trace_step": position.step, "trace_now": position.now(), "trace_svg": svg}
            shown |= {"trace_prediction": position.prediction, "trace_inside": dict(self._inside)}
            run.show(shown)
            if not self._moves or not run.is_latest:
                return shown

    def _show_step(self) -> None:
        if (refusal := self._steps.refusal) is not None:
            raise refusal.with_traceback(None)
        shown = dict(self._steps.answer or {})
        if self._moves:  # a person who went on meanwhile is not taken back
            shown.pop("trace_step", None)
        else:
            self._at = shown.get("trace_step", self._at)
        self.assign(**shown)
        self._do_moves()

    # ------------------------------------------------------------ what the person did

    @on
    def open_trace_row(self, first: int, last: int) -> None:
        """Send the rows inside a folded row of the trace."""
        self._move(lambda position: self._inside.update({f"{first}-{last}": position.inside(first, last)}))

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
        self._search.cancel()


def _seldom(report: Callable[[int], None]) -> Callable[[int], None]:
    """Return what reports a number, some time after the number before."""
    reported = time.monotonic()

    def seldom(number: int) -> None:
        nonlocal reported
        if time.monotonic() - reported > REPORT_EVERY:
            reported = time.monotonic()
            report(number)

    return seldom
