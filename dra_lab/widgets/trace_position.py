"""TracePosition: a trace with a present step, as the Trace pane shows it, and the predictions of a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.placement import FirstFit, Placement
from dra_lab.model.plan import Plan, PlanStatus, plan_of_pod
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.trace import Step, StepKind, Trace, Window
from dra_lab.pictures.letters import letters, request_signs
from dra_lab.topology.locality import device_names
from dra_lab.widgets.session_view import Row
from dra_lab.words.facts import GLOSSARY, counted, goal_words, telling
from dra_lab.words.trace_words import (
    Names,
    Places,
    devices_words,
    end_sentence,
    reason_words,
    result_words,
    step_sentence,
    why_words,
)
from dra_lab.words.verdict import Tile


class TraceHead(Row, frozen=True):
    """The search: its title, how many steps it has, and what it ends with.

    `goals` are the values of the goals at the end; `error` says why there is no search. `working` says how far a search
    is that still runs; the other fields are then of the one before. `recorded` is the number of steps of a search of
    which not all are recorded, 0 if all are. `counters` explain the numbers of devices tried, rejected and given back.
    """

    title: str = ""
    total: int = 0
    end: str = ""
    goals: str = ""
    error: str = ""
    working: str = ""
    recorded: int = 0
    counters: tuple[Tile, ...] = ()


class TraceRow(Row, frozen=True):
    """A row of the list: one step, or several that are folded; `key` is "first-last", `depth` how far it is inside.

    `opens` says that the row has rows inside it.
    """

    key: str
    first: int
    last: int
    kind: str
    position: str = ""
    devices: str = ""
    result: str = ""
    why: str = ""
    depth: int = 0
    opens: bool = False


class TraceNow(Row, frozen=True):
    """The present step: its sentence, the device that it is about, and what the search holds and counted so far.

    `rows` are the rows up to it, of which `earlier` further ones are left out. `unseen` is what the planner knows and
    kube-scheduler does not compare.
    """

    step: int = 0
    kind: str = ""
    device: str = ""
    sentence: str = ""
    tried: int = 0
    rejected: int = 0
    given_back: int = 0
    held: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    rows: tuple[TraceRow, ...] = ()
    earlier: int = 0


class Prediction(Row, frozen=True):
    """What is to be predicted, what the last prediction was, and the score.

    `question` is "" where kube-scheduler allocates nothing more. `picked` and `verdict` are of the last prediction.
    """

    question: str = ""
    picked: str = ""
    right: bool = False
    verdict: str = ""
    score: int = 0
    asked: int = 0


COUNTERS = {"tried": "devices tried", "rejected": "rejected", "given back": "given back"}
"""The numbers beside the step, in their order, with their captions."""

MOST_ROWS = 150
"""Rows up to the present step that are sent; earlier ones are counted."""

_LOOK_AHEAD = 400
_WORDS = 300


class TracePosition:
    """The steps of a search one after the other; `step` is the present one, 0 before the first."""

    def __init__(
        self, trace: Trace[FirstFit], cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease
    ) -> None:
        """Begin before the first step."""
        self.trace = trace
        self.step = 0
        self.window = Window()
        self.prediction = Prediction()
        self._sketch = sketch
        self._letters: Mapping[str, str] = letters(sketch)
        self._names = Names(device_names(cluster, trace.node), request_signs(sketch, trace))
        self._places = Places(cluster, sketch, trace.node, release, self._names)
        self._present: Step | None = None

    @property
    def total(self) -> int:
        """Return the number of steps."""
        return self.trace.counts.steps

    def go(self, step: int) -> None:
        """Make a step the present one; one beyond the last is the last."""
        self.step = max(0, min(step, self.total))
        self.window = self.trace.window(self.step, self.step) if self.step else Window()
        self._present = self.window.rows[0] if self.window.rows else None

    def head(self) -> TraceHead:
        """Return the words about the whole search."""
        trace, goals = self.trace, ", ".join(map(goal_words, telling(self.trace.end.goals)))
        how = "with the manifest" if trace.links else "with your counts and selectors, without links"
        title = f"kube-scheduler {trace.release} on {trace.node}, {how}"
        title += "" if trace.end.recorded else " (from documentation, not recorded)"
        recorded = 0 if trace.is_whole else trace.recorded
        title += f". Shown: the first {recorded:,} steps, and the end" if recorded else ""
        end = end_sentence(trace)
        return TraceHead(
            title=title,
            total=self.total,
            end=end,
            goals=goals,
            recorded=recorded,
            counters=tuple(
                Tile(value="", caption=caption, title=f"Devices {name}", lines=(GLOSSARY[name],))
                for name, caption in COUNTERS.items()
            ),
        )

    def now(self) -> TraceNow:
        """Return the present step with the rows up to it."""
        rows = self.trace.shown_at(self.step)
        shown, counts, step = rows[-MOST_ROWS:], self.window.counts, self._present
        return TraceNow(
            step=self.step,
            kind=step.kind.value if step else "",
            device=str(step.devices[0]) if step and step.devices else "",
            sentence=_cut(step_sentence(step, self._names)) if step else "Press Next to see the first step.",
            tried=counts.tried,
            rejected=counts.rejected,
            given_back=counts.given_back,
            held=tuple(self._so_far()),
            unseen=tuple(self._places.notes(self.trace, self.window.held)),
            rows=tuple(self.row(row, depth) for depth, row in shown),
            earlier=len(rows) - len(shown),
        )

    def row(self, row: Step, depth: int = 0) -> TraceRow:
        """Return a row as it is shown."""
        return TraceRow(
            key=f"{row.first}-{row.last}",
            first=row.first,
            last=row.last,
            kind=row.kind.value,
            position=self._names.position(row),
            devices=devices_words(row.devices, self._names),
            result=result_words(row),
            why=_cut(why_words(row, self._names)),
            depth=depth,
            opens=row.is_folded and row.kind is StepKind.GIVEN_BACK,
        )

    def inside(self, first: int, last: int) -> tuple[TraceRow, ...]:
        """Return the rows inside a folded attempt, or the single steps of rejected devices."""
        rows = self.trace.look(first, last, True).rows
        return tuple(self.row(row) for row in rows)

    def allocated(self, plan: Plan) -> Plan:
        """Return a plan whose devices are those that the search holds now, for the picture."""
        placements = tuple(Placement(self.trace.drawn(one.claim, one.request), one.device) for one in self.window.held)
        return plan_of_pod(PlanStatus.FEASIBLE, plan.sketch, self.trace.node, placements)

    # -- moving and predicting

    def next_of(self, *kinds: StepKind) -> Step | None:
        """Return the next step of some kinds after the present one, None where there is none."""
        first = self.step + 1
        while first <= self.total:
            last = first + _LOOK_AHEAD
            found = next((step for step in self.trace.steps(first, last) if step.kind in kinds), None)
            if found is not None:
                return found
            first = last + 1
        return None

    def to_allocation(self) -> None:
        """Go to the next device that is allocated or given back; without one to the end."""
        step = self.next_of(StepKind.ALLOCATED, StepKind.GIVEN_BACK, StepKind.END)
        self.go(step.first if step is not None else self.total)

    def ask(self) -> None:
        """Ask for the device that is allocated next."""
        step = self.next_of(StepKind.ALLOCATED)
        question = f"Which device does kube-scheduler allocate next to {self._names.position(step)}?" if step else ""
        self.prediction = replace(self.prediction, question=question)

    def predict(self, device: str) -> None:
        """Compare a person's device with the one that is allocated next, show that step, and keep the score."""
        step = self.next_of(StepKind.ALLOCATED)
        if step is None:
            return
        before, right = self.step, str(step.devices[0]) == device
        self.go(step.first)
        last = self.prediction
        verdict = self._verdict(device, step, before, right=right)
        self.prediction = Prediction(
            picked=device, right=right, verdict=verdict, score=last.score + right, asked=last.asked + 1
        )
        self.ask()

    def _verdict(self, device: str, step: Step, before: int, *, right: bool) -> str:
        taken, request = devices_words(step.devices, self._names), self._names.position(step)
        if right:
            return f"Right: kube-scheduler allocates {taken} to {request}."
        found = next((one for one in self._names.devices if str(one) == device), None)
        if found is None:
            return f"kube-scheduler allocates {taken} to {request}."
        picked = devices_words([found], self._names)
        between = self.trace.steps(max(before + 1, step.first - _LOOK_AHEAD), step.first - 1)
        rejected = [s.reason for s in between if s.reason is not None and s.devices[0] == found]
        rejected += [t.reason for t in self.trace.tests(found) if t.reason is not None and t[:2] == step.where]
        if any(one.device == found for one in self.window.held):
            why = f"It holds {picked} already."
        elif rejected:
            why = f"It rejects {picked}: {reason_words(rejected[0], step.claim, self._names)}."
        else:
            why = f"It takes the first device that passes all tests, and {picked} comes later."
        return f"kube-scheduler allocates {taken} to {request}. {_cut(why)}"

    def _so_far(self) -> Iterator[str]:
        """Yield, for each request of the drawing, the devices that it has and how many it still needs."""
        have: dict[str, list[DeviceID]] = {}
        for one in self.window.held:
            drawn = split_request(self.trace.drawn(one.claim, one.request))[0]
            have.setdefault(drawn, []).append(one.device)
        for request in self._sketch.requests:
            devices = have.get(request.name, [])
            needed = min((ask.count or 0 for ask in asks(request)), default=0)
            missing = max(0, needed - len(devices))
            more = f"; {counted(missing, 'more device')} needed" if missing and devices else ""
            none = f"none yet, {needed} needed" if needed else "none yet"
            words = devices_words(devices, self._names, 8) if devices else none
            yield f"{self._letters.get(request.name, '')} {request.name}: {words}{more}"


def _cut(text: str) -> str:
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"
