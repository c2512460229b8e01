"""class_overview: the progress files of a class as one table."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.course.lesson_text import TASKS, lessons
from dra_lab.course.progress_file import LESSONS, SUFFIX, read_progress
from dra_lab.errors import DraLabError, SourceError, require
from dra_lab.sources.drawing_files import write_whole

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "student",
    "lesson",
    "tasks done",
    "finished",
    "predictions right",
    "predictions",
    "hints",
    "checks",
    "minutes",
    "problem",
    "file",
)


def class_overview(folder: str | Path, *, csv: str | Path | None = None) -> pd.DataFrame:
    """Return what the students of a class have reached, one row for each student and lesson.

    Args:
        folder: A folder with one folder for each student, in which the files `*.progress.json` are, or a folder
            `lessons` with them. A student has the name that the lesson was opened with, else that of the folder.
        csv: A file that gets the table; default None: none.

    Returns:
        The table, sorted by student and lesson. `tasks done` counts to 5, `minutes` is the time from the first action
        to the last task, and missing where the lesson is not finished. A file that cannot be read has its reason in
        `problem`. `file` is the file inside the folder; it tells students of the same name apart.

    Raises:
        SourceError: There is no such folder.
        ExportError: The CSV file cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from dra_lab import class_overview
        >>> from dra_lab.course.lesson_run import open_lesson
        >>> with TemporaryDirectory() as folder:
        ...     open_lesson("03-first-fit", f"{folder}/mia").hint().grade
        ...     class_overview(folder)[["student", "lesson", "hints"]].values.tolist()
        'A nudge'
        [['mia', '03-first-fit', 1]]
    """
    require("pandas", "charts")
    import pandas as pd

    root = Path(folder)
    if not root.is_dir():
        raise SourceError(f"{str(folder)!r} is no folder; give the folder that has one folder for each student")
    rows = [_row(path, root) for path in sorted(root.rglob(f"*{SUFFIX}"))]
    frame = pd.DataFrame(rows, columns=COLUMNS).sort_values(["student", "lesson"], ignore_index=True)
    if csv is not None:
        write_whole(Path(csv), frame.to_csv(index=False))
    return frame


def _row(path: Path, root: Path) -> tuple[Any, ...]:
    student = path.parent.parent if path.parent != root and path.parent.name == LESSONS else path.parent
    owner = student.relative_to(root).as_posix()
    owner = _cell(root.resolve().name if owner == "." else owner)
    file = _cell(path.relative_to(root).as_posix())
    try:
        progress = read_progress(path)
        if progress is None or progress.lesson not in {lesson.id for lesson in lessons()}:
            raise SourceError(f"{path.name!r} belongs to no lesson of this course")
    except DraLabError as error:
        return (owner, _cell(path.name.removesuffix(SUFFIX)), 0, False, 0, 0, 0, 0, None, _cell(error.message), file)
    right, done = sum(progress.predictions), len(set(progress.done) & set(TASKS))
    return (
        _cell(progress.student) or owner,
        progress.lesson,
        done,
        done == len(TASKS),
        right,
        len(progress.predictions),
        progress.hints,
        progress.checks,
        None if progress.minutes is None else round(progress.minutes, 1),
        "",
        file,
    )


def _cell(text: str) -> str:
    """Return a name or message in one line of text that no spreadsheet computes as a formula."""
    line = "".join(one if one.isprintable() else " " for one in " ".join(text.split()))[:200].strip()
    return f"'{line}" if unicodedata.normalize("NFKC", line)[:1] in ("=", "+", "-", "@") else line
