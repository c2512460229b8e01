"""LessonProgress: what a student has reached in a lesson, kept in a file beside the notebook."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import SourceError
from dra_lab.model.decoding import from_json
from dra_lab.sources.drawing_files import write_whole

FORMAT = 1
"""Version of the file's format."""

SUFFIX = ".progress.json"


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
    hints: int = 0
    checks: int = 0
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
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{path.name!r} cannot be read: {error.strerror or error}") from None
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
    """The file with the progress of one lesson; it is written with the first thing that a student does.

    A file that cannot be used is never lost: it is renamed to `.bak`, and `problem` says why.
    """

    def __init__(self, path: Path, empty: LessonProgress) -> None:
        """Read the file, if there is one; `empty` is the progress without it."""
        self.path = path
        self.problem = ""
        self._empty = empty
        self._last = self._read() or empty

    @property
    def value(self) -> LessonProgress:
        """Return the progress as it was last read or written."""
        return self._last

    def change(self, how: Callable[[LessonProgress], LessonProgress]) -> LessonProgress:
        """Apply a change to what the file has now, which another kernel may have written, and write it."""
        found = self._read() or (self._empty if not self.path.exists() else self._last)
        began = found if found.started else replace(found, started=now())
        self._last = how(began)
        write_whole(self.path, msgspec.json.format(msgspec.json.encode(self._last), indent=2).decode() + "\n")
        return self._last

    def reset(self) -> None:
        """Begin without progress; the former file stays as `.bak`."""
        self._keep_copy()
        self._last = self._empty

    def _read(self) -> LessonProgress | None:
        try:
            found = read_progress(self.path)
        except SourceError as error:
            self.problem = f"{error.message}. It was renamed to {self._keep_copy()!r}, and the lesson begins again."
            return None
        if found is not None and (found.lesson != self._empty.lesson or found.seed != self._empty.seed):
            was = f"lesson {found.lesson!r}" if found.lesson != self._empty.lesson else "another seed"
            self.problem = f"{self.path.name!r} belongs to {was}. It was renamed to {self._keep_copy()!r}."
            return None
        return found

    def _keep_copy(self) -> str:
        """Rename the file to the first free `.bak` name, and return that name."""
        kept = self.path.with_name(f"{self.path.name}.bak")
        number = 1
        while kept.exists():
            number += 1
            kept = self.path.with_name(f"{self.path.name}.{number}.bak")
        if self.path.exists():
            self.path.rename(kept)
        return kept.name
