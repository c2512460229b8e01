"""The lessons of the course: what their files have, and what the checker says to their answers."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from dra_lab import Lesson, make_plan, samples
from dra_lab.course.lesson_run import open_lesson
from dra_lab.course.lesson_text import TASKS, LessonText, lessons
from dra_lab.course.varied_cluster import invariants, lesson_cluster

ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
BUT_RAILS = pytest.mark.parametrize(
    "lesson", [pytest.param(one, marks=[pytest.mark.long] if one.number == 13 else [], id=one.id) for one in lessons()]
)
"""The cluster of lesson 13 needs twenty seconds."""

SEEDS = (1,)
MANY_SEEDS = range(100, 112)


def test_the_course_has_fifteen_lessons_of_which_the_last_is_a_final_exercise():
    """The lessons are numbered from 1 without a gap, and the last one is on `sample:trouble`."""
    assert [lesson.number for lesson in lessons()] == list(range(1, 16))
    assert lessons()[-1].cluster == "sample:trouble"


@ALL
def test_a_lesson_has_its_tasks_and_a_sample(lesson: LessonText):
    assert tuple(lesson.tasks) == TASKS
    assert lesson.cluster.removeprefix("sample:") in {sample.name for sample in samples()}


@pytest.mark.some(8)
@ALL
@pytest.mark.parametrize("answer", ["right", "other"])
def test_a_correct_answer_of_any_shape_passes(lesson: LessonText, answer: str, tmp_path):
    """The checker plans the drawing, so that two correct drawings of different shapes both pass."""
    assert open_lesson(lesson.id, tmp_path).check(getattr(lesson.answers, answer)).passed


@ALL
def test_a_wrong_answer_gets_a_need_that_is_not_met(lesson: LessonText, tmp_path):
    judged = open_lesson(lesson.id, tmp_path).check(lesson.answers.wrong)
    assert not judged.passed
    assert any(not row.kept for row in judged.rows)


@ALL
def test_no_hint_gives_the_answer_away(lesson: LessonText):
    read = " ".join([*lesson.hints, *(need.text for need in lesson.needs), lesson.predict.right, lesson.predict.wrong])
    sketch = lesson.answers.right.sketch
    written = [link.where for link in sketch.links] + [link.how.value for link in sketch.links if link.kind.paired]
    asked = [request.exactly for request in sketch.requests if request.exactly]
    written += [selector.cel.expression for ask in asked for selector in ask.selectors if selector.cel]
    written += [toleration.key for ask in asked for toleration in ask.tolerations if toleration.key]
    assert [text for text in written if text in read] == []


@ALL
def test_no_word_about_a_prediction_names_a_device(lesson: LessonText):
    """The words after a prediction do not name a device that kube-scheduler allocates."""
    said = f"{lesson.predict.right} {lesson.predict.wrong} {lesson.predict.ask} {lesson.predict.text}"
    plan = make_plan(lesson_cluster(lesson, None), lesson.predict.sketch, node=lesson.predict.node)
    assert [str(p.device) for p in plan.first_fit.placements if p.device.device in said] == []


@pytest.mark.some(4)
@BUT_RAILS
@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_keeps_the_lesson_equally_hard(lesson: LessonText, seed: int):
    assert invariants(lesson, lesson_cluster(lesson, seed)) == invariants(lesson, lesson_cluster(lesson, None))


@ALL
@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_many_seeds_keep_the_lesson_equally_hard(lesson: LessonText, seed: int, tmp_path):
    run = open_lesson(lesson.id, tmp_path, seed=seed)
    judged = {name: run.check(getattr(lesson.answers, name)).passed for name in ("right", "other", "wrong")}
    assert judged == {"right": True, "other": True, "wrong": False}
    assert invariants(lesson, run.cluster) == invariants(lesson, lesson_cluster(lesson, None))


@pytest.mark.some(4)
@ALL
def test_a_seed_makes_another_cluster(lesson: LessonText):
    first, sample = lesson_cluster(lesson, 1), lesson_cluster(lesson, None)
    assert (first.slices, first.claims) != (sample.slices, sample.claims)


COURSE = Path(__file__).parents[2] / "notebooks" / "course"
LESSONS = sorted(COURSE.glob("[0-9]*.ipynb"))


def cells(path: Path, kind: str) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def test_every_lesson_has_a_notebook():
    assert [path.stem for path in LESSONS] == [lesson.id.replace("-", "_") for lesson in lessons()]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_notebook_has_nothing_but_the_lesson(path: Path):
    name = path.stem.replace("_", "-")
    assert cells(path, "code") == [f'from dra_lab import Lesson\n\nlesson = Lesson("{name}")\nlesson']


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_writes_nothing(path: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made: dict[str, Lesson] = {}
    for source in cells(path, "code"):
        exec(source, made)
    assert made["lesson"].run.lesson.number == int(path.stem[:2])
    assert list(tmp_path.iterdir()) == []
    made["lesson"].close()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_next_lesson_is_linked(path: Path):
    (target,) = re.findall(r"\]\(([^)]+)\)", cells(path, "markdown")[-1])
    assert (COURSE / target).is_file()
