"""The lessons of the course: what their files have, and what the checker says to their answers."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

from dra_lab import lessons, make_plan, open_lesson, samples
from dra_lab.course.lesson_text import FOLDER, TASKS, LessonText
from dra_lab.course.varied_cluster import _varied_sample, invariants, lesson_cluster

_SPEC = spec_from_file_location("prose", Path(__file__).parents[2] / ".ci" / "prose.py")
prose = module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)
ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
SEEDS = (1,)
MANY_SEEDS = range(100, 112)


def test_the_course_has_thirteen_lessons_and_a_final_exercise():
    """The lessons are numbered from 1 without a gap, and the last one is on `sample:trouble`."""
    assert [lesson.number for lesson in lessons()] == list(range(1, 15))
    assert lessons()[-1].cluster == "sample:trouble"


@ALL
def test_a_lesson_has_its_tasks_and_a_sample(lesson: LessonText):
    """Every lesson has the five tasks in their order, and a cluster that comes with dra_lab."""
    assert tuple(lesson.tasks) == TASKS
    assert lesson.cluster.removeprefix("sample:") in {sample.name for sample in samples()}


@ALL
def test_a_lesson_has_at_most_600_words(lesson: LessonText):
    """A lesson has at most 600 words that a student reads."""
    plain = yaml.safe_load((FOLDER / f"{lesson.id}.yaml").read_text(encoding="utf-8"))
    read = [plain["title"], *plain["words"].values(), *plain["hints"], *(need["text"] for need in plain["needs"])]
    read += [
        plain[kind][part]
        for kind in TASKS
        for part in ("text", "ask", "right", "wrong", "model")
        if part in plain[kind]
    ]
    assert len(re.findall(r"\S+", " ".join(read))) <= 600


@pytest.mark.some(8)
@ALL
@pytest.mark.parametrize("answer", ["right", "other"])
def test_a_correct_answer_of_any_shape_passes(lesson: LessonText, answer: str, tmp_path):
    """The checker plans the drawing, so that two correct drawings of different shapes both pass."""
    assert open_lesson(lesson.id, tmp_path).check(getattr(lesson.answers, answer)).passed


@ALL
def test_the_two_correct_answers_have_different_shapes(lesson: LessonText):
    """The other answer is another drawing."""
    assert lesson.answers.right.sketch != lesson.answers.other.sketch


@ALL
def test_a_wrong_answer_gets_a_need_that_is_not_met(lesson: LessonText, tmp_path):
    """A wrong drawing does not pass, and a row says in words of the task what is missing."""
    judged = open_lesson(lesson.id, tmp_path).check(lesson.answers.wrong)
    assert not judged.passed
    assert any(not row.kept for row in judged.rows)


@ALL
def test_no_hint_gives_the_answer_away(lesson: LessonText):
    """Before the check, a student reads no expression, link kind or level in the form of the right answer."""
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
@ALL
@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_keeps_the_lesson_equally_hard(lesson: LessonText, seed: int):
    """Optimum, fitting nodes and devices given back are those of the sample."""
    assert invariants(lesson, lesson_cluster(lesson, seed)) == invariants(lesson, lesson_cluster(lesson, None))


@ALL
@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_many_seeds_keep_the_lesson_equally_hard(lesson: LessonText, seed: int, tmp_path):
    """With many seeds, the answers are judged as on the sample, and the optimum is the same."""
    run = open_lesson(lesson.id, tmp_path, seed=seed)
    judged = {name: run.check(getattr(lesson.answers, name)).passed for name in ("right", "other", "wrong")}
    assert judged == {"right": True, "other": True, "wrong": False}
    assert invariants(lesson, run.cluster) == invariants(lesson, lesson_cluster(lesson, None))


@pytest.mark.some(4)
@ALL
def test_a_seed_makes_another_cluster(lesson: LessonText):
    """A seed gives another cluster than the sample."""
    first, sample = lesson_cluster(lesson, 1), lesson_cluster(lesson, None)
    assert (first.slices, first.claims) != (sample.slices, sample.claims)


@pytest.mark.parametrize(
    "number", [1, *(pytest.param(lesson.number, marks=pytest.mark.long) for lesson in lessons()[1:])]
)
def test_a_seed_makes_always_the_same_cluster(number: int):
    """A student who opens the lesson again gets the same cluster."""
    lesson = lessons()[number - 1]
    first = lesson_cluster(lesson, 1)
    _varied_sample.cache_clear()
    again = lesson_cluster(lesson, 1)
    assert (first.slices, first.claims) == (again.slices, again.claims)


@ALL
def test_a_lesson_is_in_plain_words(lesson: LessonText, tmp_path):
    """Every text of a lesson keeps the rules of `.ci/prose.py`."""
    plain = yaml.safe_load((FOLDER / f"{lesson.id}.yaml").read_text(encoding="utf-8"))
    texts = [plain[kind][part] for kind in TASKS for part in plain[kind] if isinstance(plain[kind][part], str)]
    texts += [*plain["words"].values(), *plain["hints"], *(need["text"] for need in plain["needs"])]
    (tmp_path / "lesson.md").write_text("\n\n".join(texts), encoding="utf-8")
    assert [str(found) for found in prose.check([tmp_path / "lesson.md"])] == []
