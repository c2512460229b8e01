"""LessonProgress: what a student has reached in a lesson, kept in a file beside the notebook."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from dra_lab.course.lesson_text import HINTS
from dra_lab.errors import DraLabError, ExportError, SourceError
from dra_lab.manifests.file_text import read_bytes
from dra_lab.model.decoding import from_json
from dra_lab.sources.drawing_files import write_whole

FORMAT = 1
"""Version of the file's format."""

SUFFIX = ".progress.json"

LESSONS = "lessons"
"""The folder beside a plan file in which the planner keeps drawings and progress of lessons."""

MAX_PROGRESS_BYTES = 2**20
NOT_SAVED = (
    "It is kept until the kernel stops. To save it, open the lesson with `folder=` and a folder you can write to."
)


class LessonProgress(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The progress of a student in a lesson.

    `done` are the tasks that are done, by kind. `predictions` says of every prediction whether it was right, `picked`
    are the devices of the latest one (`driver/pool/device`). `hints` counts those that were shown, `checks` the checks.
    `task` is the task that is shown. `sentence` is the student's explanation. Times are in UTC, as ISO 8601.
    """

    lesson: str
    format: int = FORMAT
    student: str = ""
    seed: int | None = None
    task: int = 0
    done: tuple[str, ...] = ()
    predictions: tuple[bool, ...] = ()
    picked: tuple[str, ...] = ()
    hints: Annotated[int, Meta(ge=0, le=len(HINTS))] = 0
    checks: Annotated[int, Meta(ge=0)] = 0
    sentence: str = ""
    started: str = ""
    finished: str = ""

    @property
    def minutes(self) -> float | None:
        """Return the minutes from the first action to the last task, None while the lesson is not finished."""
        if not self.started or not self.finished:
            return None
        took = datetime.fromisoformat(self.finished) - datetime.fromisoformat(self.started)
        return max(0.0, took.total_seconds() / 60)


def now() -> str:
    """Return the time in UTC as ISO 8601, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def read_progress(path: Path) -> LessonProgress | None:
    """Return the progress in a file, None if there is no file. Raises SourceError if it cannot be used."""
    try:
        path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    content = read_bytes(path, MAX_PROGRESS_BYTES)
    try:
        progress = from_json(content, LessonProgress)
        _ = progress.minutes  # a time that cannot be read raises here
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise SourceError(f"{path.name!r} is not the progress of a lesson: {error}") from None
    if progress.format != FORMAT:
        text = f"{path.name!r} has format {progress.format}; this dra-lab reads format {FORMAT}"
        raise SourceError(text)
    return progress


class ProgressFile:
    """The file of a lesson's progress. Only `change` and `reset` write or rename it.

    `problem` says why the file that is there cannot be used, or why a change could not be written; "" if all is well.
    Without a file that can be written, the progress is kept in memory.
    """

    def __init__(self, path: Path, empty: LessonProgress) -> None:
        """Read the file, if there is one; `empty` is the progress without it.

        If `empty` has no seed, a file of any seed is used; if it has no student, a file of any student.
        """
        self.path = path
        self.problem = ""
        self._empty = empty
        self._saved = True
        self._last = self._read() or empty
        self._empty = replace(empty, seed=self._last.seed)

    @property
    def value(self) -> LessonProgress:
        """Return the progress as it was last read or written."""
        return self._last

    def change(self, how: Callable[[LessonProgress], LessonProgress]) -> LessonProgress:
        """Apply a change to what the file has now, which another kernel may have written, and write it.

        If the latest change was not saved, the change is applied to what is in memory, and the file stays as `.bak`.
        """
        self.problem = ""
        found = self._read() if self._saved else self._last
        found = found or (self._last if self.problem else self._empty)
        began = found if found.started else replace(found, started=now())
        self._last = how(began)
        try:
            if self.problem or not self._saved:
                rename_to_copy(self.path)
            write_whole(self.path, msgspec.json.format(msgspec.json.encode(self._last), indent=2).decode() + "\n")
        except DraLabError as error:
            self.problem = f"Your progress is not saved: {error.message}. {NOT_SAVED}"
        else:
            self.problem = ""
        self._saved = not self.problem
        return self._last

    def reset(self) -> None:
        """Begin without progress; the former file stays as `.bak`. Raises ExportError if it cannot be renamed."""
        rename_to_copy(self.path)
        self._last, self.problem = self._empty, ""

    def _read(self) -> LessonProgress | None:
        try:
            found = read_progress(self.path)
        except SourceError as error:
            self.problem = f"{error.message}. The lesson begins again; the file is renamed before the first change."
            return None
        if found is None:
            return None
        if other := self._owner(found):
            self.problem = f"{self.path.name!r} belongs to {other}. The file is renamed before the first change."
            return None
        return replace(found, student=found.student or self._empty.student)

    def _owner(self, found: LessonProgress) -> str:
        """Return what a progress belongs to if that is not this run, else ""."""
        if found.lesson != self._empty.lesson:
            return f"lesson {found.lesson!r}"
        if self._empty.student and found.student not in ("", self._empty.student):
            return f"the student {found.student!r}"
        return "" if self._empty.seed in (None, found.seed) else "another seed"


def stem_for(folder: Path, lesson: str, student: str) -> str:
    """Return how the names of a student's files begin.

    It is the id of the lesson. If another student's progress has that name in the folder, the student's name follows.
    """
    own = ".".join(filter(None, (lesson, re.sub(r"[^\w-]+", "-", student.casefold()).strip("-"))))
    if (folder / f"{own}{SUFFIX}").exists():
        return own
    try:
        found = read_progress(folder / f"{lesson}{SUFFIX}")
    except SourceError:
        return lesson
    return own if student and found and found.student not in ("", student) else lesson


def rename_to_copy(path: Path) -> None:
    """Rename a file, if it is there, to its first free `.bak` name. Raises ExportError."""
    number, kept = 1, path.with_name(f"{path.name}.bak")
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.{number}.bak")
    try:
        if path.exists():
            path.rename(kept)
    except OSError as error:
        raise ExportError(f"{path.name!r} cannot be renamed: {error.strerror or error}") from None
