"""LessonText: a lesson as its file has it: texts, the claim to predict, the needs of the drawing, hints and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from dra_lab.errors import InputError, ManifestError, did_you_mean
from dra_lab.findings import Origin
from dra_lab.manifests.plan_files import drawing_of
from dra_lab.manifests.typed import convert
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.device import Value
from dra_lab.model.quantity import QuantityText
from dra_lab.model.sketch import DRAWING_VERSION, ClaimSketch, Drawing

FOLDER = Path(__file__).parent / "data"
"""One file for each lesson; the names of the files are the ids of the lessons, in their order."""

TaskKind = Literal["predict", "trace", "draw", "check", "explain"]
TASKS: tuple[TaskKind, ...] = ("predict", "trace", "draw", "check", "explain")
"""The tasks of a lesson, in their order."""

HINTS = ("A nudge", "A direction", "Nearly there")
"""The grades of the hints, from the first to the third."""


class TaskText(Value, frozen=True):
    """The words of a task: `text` explains, `ask` is what to do."""

    text: str
    ask: str


class PredictText(TaskText, frozen=True):
    """The prediction: the claim of `sketch` on `node`. The words after it, `right` and `wrong`, name no device."""

    node: str
    sketch: ClaimSketch
    right: str
    wrong: str


class ExplainText(TaskText, frozen=True):
    """The explanation: a model sentence, and the points that a good sentence has.

    `points` maps a point to words, one of which a sentence with this point contains; without words it is only shown.
    """

    model: str
    points: dict[str, tuple[str, ...]] = {}


class LessonNeed(Value, frozen=True):
    """What the drawing must achieve, in the words of the task, and how the checker sees it in the plan.

    Every member that is set must hold; `needs_of_lesson.CHECKS` says what each means.
    """

    text: str
    devices: dict[str, int] | None = None
    best: dict[str, int] | None = None
    first_fit: dict[str, int] | None = None
    accepts: dict[str, str] | None = None
    takes: dict[str, str] | None = None
    amount: dict[str, QuantityText] | None = None
    exact_amount: dict[str, QuantityText] | None = None
    nodes: int | None = None
    placed: int | None = None
    gangs: dict[str, int] | None = None
    same: tuple[str, ...] | None = None
    as_planned: bool | None = None
    prefers: str | None = None
    untainted: bool | None = None


class BaselineText(Value, frozen=True):
    """Numbers of devices by class that a pod asks device plugins for, on a node; see `topology_manager`."""

    node: str
    devices: dict[str, int]


class LessonAnswers(Value, frozen=True):
    """Drawings for the tests and the teacher: a right one, a wrong one, and a right one of another shape."""

    right: Drawing
    wrong: Drawing
    other: Drawing


class LessonText(Value, frozen=True):
    """A lesson of the course.

    `number` is its place in the course, from 1; `minutes` how long it takes; `cluster` the sample that it is on;
    `words` are terms of the glossary. `replicas` pods with the drawn claim are planned if it is above 0. `baseline`
    is compared with the Topology Manager of the kubelet.
    """

    id: str
    number: int
    title: str
    minutes: int
    cluster: str
    predict: PredictText
    trace: TaskText
    draw: TaskText
    check: TaskText
    explain: ExplainText
    needs: tuple[LessonNeed, ...]
    hints: tuple[str, str, str]
    answers: LessonAnswers
    words: dict[str, str] = {}
    start: Drawing = Drawing()
    replicas: int = 0
    baseline: BaselineText | None = None

    @property
    def tasks(self) -> Mapping[TaskKind, TaskText]:
        """Return the tasks by kind, in their order."""
        return dict(zip(TASKS, (self.predict, self.trace, self.draw, self.check, self.explain), strict=True))

    @property
    def following(self) -> str:
        """Return the id of the next lesson, "" after the last one."""
        return next((lesson.id for lesson in lessons() if lesson.number == self.number + 1), "")


def read_lesson(path: Path) -> LessonText:
    """Return the lesson of a file. Raises ManifestError with file, line and path if it is broken."""
    (document,) = load_yaml(path.read_text(encoding="utf-8"), path.name)
    name, value = path.stem, document.value
    origin = Origin(path.name)
    if not isinstance(value, dict):
        raise ManifestError("a lesson is a map of fields", origin=origin)
    plain = {**value, "id": name, "number": int(name.partition("-")[0])}
    for place, field in _drawings(plain):
        place[field] = msgspec.to_builtins(
            drawing_of({"apiVersion": DRAWING_VERSION, "kind": "Drawing", **place[field]}, path.name)
        )
    try:
        return convert(plain, LessonText, origin)
    except ManifestError as error:
        where = error.origin.path if error.origin else ""
        raise ManifestError(error.message, origin=Origin(path.name, path=where, line=document.line(where))) from None


def _drawings(plain: dict[str, Any]) -> Sequence[tuple[dict[str, Any], str]]:
    answers = plain.get("answers")
    found = [(answers, name) for name in answers] if isinstance(answers, dict) else []
    return [*found, *([(plain, "start")] if "start" in plain else [])]


@cache
def lessons() -> tuple[LessonText, ...]:
    """Return the lessons of the course in their order. Raises ManifestError for a broken file."""
    return tuple(read_lesson(path) for path in sorted(FOLDER.glob("*.yaml")))


def lesson_named(name: str) -> LessonText:
    """Return a lesson by its id or by its number. Raises InputError if there is none."""
    known = {lesson.id: lesson for lesson in lessons()}
    if name in known:
        return known[name]
    by_number = {str(lesson.number): lesson for lesson in known.values()}
    if name.lstrip("0") in by_number:
        return by_number[name.lstrip("0")]
    raise InputError(f"there is no lesson {name!r}{did_you_mean(name, known)}; lessons: {', '.join(known)}")
