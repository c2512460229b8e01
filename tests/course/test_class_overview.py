"""The overview of a class: progress files of many students as one table."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dra_lab import class_overview
from dra_lab.course.lesson_run import open_lesson
from dra_lab.errors import SourceError


def finish(folder, **options):
    """Play a lesson to its end, with one wrong prediction and one hint."""
    run = open_lesson("03-first-fit", folder, **options)
    run.predict([])
    run.predict([one.device for one in run.searched.first_fit.placements])
    run.go(1)
    run.go(2)
    run.hint()
    run.check(run.lesson.answers.right)
    run.explain("The first devices are taken.")


def test_each_student_and_lesson_has_a_row(tmp_path):
    finish(tmp_path / "mia")
    open_lesson("05-links", tmp_path / "noor").hint()
    rows = class_overview(tmp_path).drop(columns=["minutes", "file"]).to_numpy().tolist()
    assert rows == [
        ["mia", "03-first-fit", 5, True, 1, 2, 1, 1, ""],
        ["noor", "05-links", 0, False, 0, 0, 1, 0, ""],
    ]


def test_a_name_that_was_given_comes_before_the_folder(tmp_path):
    finish(tmp_path / "user-7", student="Mia")
    assert class_overview(tmp_path)["student"].tolist() == ["Mia"]


def test_files_in_the_folder_itself_have_its_name(tmp_path):
    finish(tmp_path)
    assert class_overview(tmp_path)["student"].tolist() == [tmp_path.name]


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def holds(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


@pytest.mark.parametrize(
    "make",
    [folder, pipe, *map(holds, (b"", b"{", b"\x00\xff\x89PNG", b'{"cells": []}', b'{"lesson": "99-none"}',
                                b'{"lesson": "03-first-fit", "hints": "many"}', b" " * 2**20 + b"{}"))],
    ids=["folder", "pipe", "empty", "cut off", "binary", "other JSON", "another course", "wrong type", "huge"],
)  # fmt: skip
def test_a_file_that_is_no_progress_is_a_row_with_its_reason(make: Callable[[Path], object], tmp_path):
    finish(tmp_path / "mia")
    (tmp_path / "noor").mkdir()
    make(tmp_path / "noor" / "03-first-fit.progress.json")
    overview = class_overview(tmp_path).set_index("student")
    assert (overview.loc["mia", "problem"], overview.loc["noor", "tasks done"]) == ("", 0)
    assert "03-first-fit.progress.json" in overview.loc["noor", "problem"]


def test_the_csv_has_the_table_and_no_formula(tmp_path):
    finish(tmp_path / "a", student="=HYPERLINK(1)")
    class_overview(tmp_path, csv=tmp_path / "class.csv")
    with (tmp_path / "class.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["student"], row["lesson"]) == ("'=HYPERLINK(1)", "03-first-fit")


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\uff1d", "\t=", "\u200b="])
def test_no_cell_of_the_csv_begins_with_a_formula(first: str, tmp_path):
    finish(tmp_path / f"{first}a", student=f"{first}b")
    (tmp_path / f"{first}c").mkdir()
    (tmp_path / f"{first}c" / f"{first}d.progress.json").write_text("{", encoding="utf-8")
    class_overview(tmp_path, csv=tmp_path / "class.csv")
    with (tmp_path / "class.csv").open(encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert [cell for cell in cells if cell[:1] in "=+-@\t\uff1d\u200b" and cell] == []


def test_students_of_the_same_name_have_a_row_each(tmp_path):
    for folder in ("room-1", "room-2"):
        open_lesson("03-first-fit", tmp_path / folder, student="Mia").hint()
    rows = class_overview(tmp_path)
    assert rows["student"].tolist() == ["Mia", "Mia"]
    assert sorted(rows["file"]) == [f"room-{at}/03-first-fit.progress.json" for at in (1, 2)]


def test_an_empty_class_has_no_rows(tmp_path):
    assert class_overview(tmp_path).shape == (0, 11)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(SourceError, match="one folder for each student"):
        class_overview(tmp_path / "nowhere")
