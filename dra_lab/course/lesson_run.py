"""open_lesson: a lesson with a student's progress: predict, check a drawing, explain, hints, reset."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.course.lesson_text import HINTS, TASKS, LessonText, lesson_named
from dra_lab.course.needs_of_lesson import DrawnAnswer, meets
from dra_lab.course.progress_file import SUFFIX, LessonProgress, ProgressFile, now, rename_to_copy, stem_for
from dra_lab.course.varied_cluster import lesson_cluster
from dra_lab.errors import DraLabError, InputError
from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, Drawing, asks
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.topology.locality import localities

NOTHING_ELSE = "The claim gets no other kind of device."
NOT_DRAWN = "Nothing is drawn. Add a request to the canvas, then check again."


SHORTEST = 12
"""Characters of the shortest text that counts as a sentence; the comparison is left to the student."""


class JudgedNeed(Struct, frozen=True, omit_defaults=True):
    """A need of the task in its own words, and whether the drawing meets it."""

    text: str
    kept: bool = False


class Judgement(Struct, frozen=True):
    """The judgement of a prediction or a drawing; `rows` are the needs of the drawing in the order of the lesson."""

    passed: bool
    message: str
    rows: tuple[JudgedNeed, ...] = ()


class Hint(Struct, frozen=True):
    """A hint with the name of its grade."""

    grade: str
    text: str


class Explained(Struct, frozen=True):
    """A student's sentence beside the model sentence; `points` are (point, named in the sentence or None: unknown)."""

    yours: str
    model: str
    points: tuple[tuple[str, bool | None], ...] = ()


class LessonRun:
    """One student's run of a lesson. Make it with `open_lesson`.

    Attributes:
        lesson: The texts of the lesson.
        seed: The number that varies the cluster, None for the sample itself.
    """

    def __init__(self, lesson: LessonText, folder: Path, seed: int | None, student: str) -> None:
        """Read the progress; nothing is written before the student does something."""
        self.lesson = lesson
        empty = LessonProgress(lesson=lesson.id, student=student, seed=seed)
        self._file = ProgressFile(folder / f"{stem_for(folder, lesson.id, student)}{SUFFIX}", empty)
        self.seed = self._file.value.seed

    @property
    def progress(self) -> LessonProgress:
        """Return what was reached."""
        return self._file.value

    @property
    def problem(self) -> str:
        """Return why the file with the progress cannot be used or written, "" if it can."""
        return self._file.problem

    @property
    def drawing_path(self) -> Path:
        """Return the plan file of the student's drawing, beside the notebook."""
        return self._file.path.with_name(f"{self._file.path.name.removesuffix(SUFFIX)}.dralab.yaml")

    @cached_property
    def cluster(self) -> Cluster:
        """Return the cluster of the lesson, varied by the seed."""
        return lesson_cluster(self.lesson, self.seed)

    @cached_property
    def searched(self) -> Plan:
        """Return the plan of the claim to predict, with kube-scheduler's first fit on the node of the lesson."""
        return plan_pod(self.cluster, self.lesson.predict.sketch, node=self.lesson.predict.node)

    @cached_property
    def names(self) -> Mapping[DeviceID, str]:
        """Return the devices of the node to predict in the order of the search, each with its name."""
        node = self.lesson.predict.node
        places = localities(self.cluster, node)
        listed = node_index(self.cluster, self.cluster.target_release(None)).view(node).devices
        return {item.id: places[item.id].name for item in listed}

    @property
    def picked(self) -> tuple[str, ...]:
        """Return the devices of the latest prediction, without those that the node does not have."""
        known = set(map(str, self.names))
        return tuple(one for one in self.progress.picked if one in known)

    @property
    def asks_for_one(self) -> bool:
        """Say whether the claim of the prediction asks for one device, so that a student chooses one."""
        return [ask.count for request in self.lesson.predict.sketch.requests for ask in asks(request)] == [1]

    @property
    def slice_lines(self) -> tuple[str, ...]:
        """Return the order of the devices in the slices that the prediction needs: a picture cannot show it."""
        found = self.searched.first_fit
        drivers = sorted({placement.device.driver for placement in found.placements}) if found else []
        listed = {driver: [name for one, name in self.names.items() if one.driver == driver] for driver in drivers}
        return tuple(f"Order in the slice of `{driver}`: {', '.join(names)}." for driver, names in listed.items())

    @property
    def task(self) -> int:
        """Return the place of the task that is shown, from 0."""
        return min(max(self.progress.task, 0), self.open_to)

    @property
    def open_to(self) -> int:
        """Return the place of the last task that can be shown: each opens when the ones before it are done."""
        done = self.progress.done
        return next((at for at, kind in enumerate(TASKS) if kind not in done), len(TASKS) - 1)

    @property
    def finished(self) -> bool:
        """Say whether every task is done."""
        return set(TASKS) <= set(self.progress.done)

    def go(self, task: int) -> None:
        """Show a task, by its place from 0. Raises InputError if the tasks before it are not done."""
        done = {TASKS[self.task]} & {"trace", "draw"} if task > self.task else set()
        changed = _with_done(self.progress, done)
        last = next((at for at, kind in enumerate(TASKS) if kind not in changed.done), len(TASKS) - 1)
        if not 0 <= task <= last:
            raise InputError(f"task {task + 1} opens when task {last + 1} is done: {TASKS[last]}")
        if changed.done != self.progress.done or task != self.progress.task:
            self._file.change(lambda kept: replace(_with_done(kept, done), task=task))

    def predict(self, devices: Collection[DeviceID]) -> Judgement:
        """Compare a prediction, no devices for "it allocates nothing", with what kube-scheduler's first fit allocates.

        A wrong prediction is counted, and the answer does not name a device.
        """
        found = self.searched.first_fit
        taken = {placement.device for placement in found.placements} if found else set()
        right = set(devices) == taken
        picked = tuple(sorted(map(str, devices)))
        self._file.change(
            lambda kept: _with_done(replace(kept, predictions=(*kept.predictions, right), picked=picked), {"predict"})
        )
        text = self.lesson.predict
        if right:
            return Judgement(passed=True, message=text.right)
        number = "" if len(set(devices)) == len(taken) else f" kube-scheduler allocates {_devices(len(taken))} here."
        return Judgement(passed=False, message=f"{text.wrong}{number}")

    def check(self, drawing: Drawing | ClaimSketch) -> Judgement:
        """Plan a drawing, and say which needs of the lesson it meets.

        Args:
            drawing: The student's drawing, or its claims.

        Returns:
            One row for each need, and one more if the claim gets a kind of device that no need names. It is passed if
            all are met, whatever the shape of the drawing.
        """
        drawn = drawing if isinstance(drawing, Drawing) else Drawing(sketch=drawing)
        if not drawn.sketch.requests:
            return Judgement(passed=False, message=NOT_DRAWN)
        try:
            answer = DrawnAnswer(self.lesson, self.cluster, drawn)
            rows = tuple(JudgedNeed(need.text, meets(answer, need)) for need in self.lesson.needs)
            rows += (JudgedNeed(NOTHING_ELSE, kept=False),) if answer.has_others else ()
        except DraLabError as error:
            rows, message = (), f"The drawing cannot be planned: {error}"
        else:
            message = _sentence(rows)
        passed = bool(rows) and all(row.kept for row in rows)
        self._file.change(
            lambda kept: _with_done(replace(kept, checks=kept.checks + 1), {"draw", "check"} if passed else {"draw"})
        )
        return Judgement(passed=passed, message=message, rows=rows)

    def hint(self) -> Hint | None:
        """Show the next hint, and count it; None if all three are shown."""
        if self.progress.hints >= len(self.lesson.hints):
            return None
        self._file.change(lambda kept: replace(kept, hints=min(kept.hints + 1, len(HINTS))))
        return self.hints[-1]

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Return the hints that are shown so far."""
        pairs = zip(HINTS, self.lesson.hints, strict=True)
        return tuple(Hint(grade, text) for grade, text in pairs)[: self.progress.hints]

    def explain(self, text: str) -> Explained:
        """Keep the student's sentence, and show the model sentence.

        Args:
            text: One sentence.

        Returns:
            The sentence beside the model sentence, and the points to compare.

        Raises:
            InputError: The sentence is empty, or shorter than 12 characters.
        """
        sentence = " ".join(text.split())[:1000]
        if not sentence:
            raise InputError("the sentence is empty; say in your words what you saw")
        if len(sentence) < SHORTEST:
            raise InputError("this is not a sentence yet; say in your words what you saw")
        self._file.change(lambda kept: _with_done(replace(kept, sentence=sentence), {"explain"}))
        assert self.explained is not None
        return self.explained

    @property
    def explained(self) -> Explained | None:
        """Return the kept sentence beside the model sentence, None before there is one."""
        yours, told = self.progress.sentence, self.lesson.explain
        if not yours:
            return None
        points = tuple(
            (point, any(_names(yours, word) for word in words) if words else None)
            for point, words in told.points.items()
        )
        return Explained(yours, told.model, points)

    def reset(self) -> None:
        """Begin the lesson again; progress and drawing stay as `.bak` files. Raises ExportError if they cannot."""
        self._file.reset()
        rename_to_copy(self.drawing_path)


def open_lesson(name: str, folder: str | Path = ".", *, seed: int | None = None, student: str = "") -> LessonRun:
    """Open a lesson, by its id or number, with the progress that is kept beside the notebook; this writes nothing.

    `seed` varies the cluster, and every number keeps the optimum, the number of fitting nodes and the devices that
    kube-scheduler gives back. None is that of the progress in the folder, else the sample. Raises InputError.
    """
    return LessonRun(lesson_named(name), Path(folder), seed, student)


def _with_done(progress: LessonProgress, kinds: Collection[str]) -> LessonProgress:
    done = tuple(kind for kind in TASKS if kind in progress.done or kind in kinds)
    finished = progress.finished or (now() if len(done) == len(TASKS) else "")
    return replace(progress, done=done, finished=finished)


def _names(sentence: str, word: str) -> bool:
    """Say whether a word of the sentence begins with this text, so that `own` is not found in `known`."""
    return re.search(rf"(?<!\w){re.escape(word)}", sentence, re.IGNORECASE) is not None


def _devices(count: int) -> str:
    return {0: "no device", 1: "one device"}.get(count, f"{count} devices")


def _sentence(rows: Sequence[JudgedNeed]) -> str:
    kept = sum(row.kept for row in rows)
    if kept == len(rows):
        return "Right. The drawing meets every need."
    return f"Not yet. The drawing meets {kept} of {len(rows)} needs."
