"""A student's run of a lesson: predictions, hints, checks, explanation, and the file that keeps them."""

from __future__ import annotations

import json

import pytest

from dra_lab import ClaimSketch
from dra_lab.course.lesson_run import open_lesson
from dra_lab.course.lesson_text import TASKS
from dra_lab.errors import InputError

LESSON = "03-first-fit"


def files(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def taken(run):
    return [placement.device for placement in run.searched.first_fit.placements]


def played(folder, **options):
    """Return a run in which every task is done."""
    run = open_lesson(LESSON, folder, **options)
    run.predict(taken(run))
    run.go(1)
    run.go(2)
    run.check(run.lesson.answers.right)
    run.explain("The first free devices are taken, and nothing is preferred without a link.")
    return run


def test_opening_a_lesson_writes_nothing(tmp_path):
    open_lesson(LESSON, tmp_path)
    assert files(tmp_path) == set()


def test_opening_a_lesson_again_changes_no_byte(tmp_path):
    played(tmp_path)
    before = (tmp_path / f"{LESSON}.progress.json").read_bytes()
    open_lesson(LESSON, tmp_path)
    assert (tmp_path / f"{LESSON}.progress.json").read_bytes() == before


def test_a_right_prediction_is_right_in_any_order(tmp_path):
    """The devices that kube-scheduler allocates are the right prediction."""
    run = open_lesson(LESSON, tmp_path)
    assert run.predict(taken(run)[::-1]).passed


def test_a_wrong_prediction_names_no_device(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    judged = run.predict([])
    assert not judged.passed
    assert [str(device) for device in taken(run) if device.device in judged.message] == []
    assert run.progress.predictions == (False,)


def test_tasks_open_one_after_the_other(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    with pytest.raises(InputError, match="opens when task 1 is done: predict"):
        run.go(1)


def test_a_lesson_is_finished_when_every_task_is_done(tmp_path):
    run = played(tmp_path)
    assert run.progress.done == TASKS
    assert run.finished
    assert run.progress.minutes is not None


def test_hints_come_one_by_one_and_are_counted(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    given = [run.hint() for _ in range(4)]
    assert [hint and hint.grade for hint in given] == ["A nudge", "A direction", "Nearly there", None]
    assert run.progress.hints == 3


def test_an_empty_drawing_is_told_what_to_do(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    assert run.check(ClaimSketch()).message == "Nothing is drawn. Add a request to the canvas, then check again."
    assert run.progress.checks == 0


def test_a_check_that_fails_leaves_the_task_open(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    run.check(run.lesson.answers.wrong)
    assert (run.progress.checks, "check" in run.progress.done) == (1, False)


def test_the_explanation_is_kept_beside_the_model_sentence(tmp_path):
    explained = open_lesson(LESSON, tmp_path).explain("  It takes the first\n one. ")
    assert explained.yours == "It takes the first one."
    assert [named for _, named in explained.points] == [True, False, False]


@pytest.mark.parametrize(("text", "reason"), [(" \n ", "the sentence is empty"), ("dunno", "not a sentence yet")])
def test_a_text_that_is_no_sentence_is_refused(text: str, reason: str, tmp_path):
    with pytest.raises(InputError, match=reason):
        open_lesson(LESSON, tmp_path).explain(text)


def test_a_point_is_found_at_the_beginning_of_a_word_only(tmp_path):
    """`own` of "a card of its own" is not found in `known`."""
    explained = open_lesson("05-links", tmp_path).explain("It is known where they are.")
    assert explained.points[0] == ("Each GPU has a card of its own.", False)


def test_the_order_of_a_slice_is_shown_before_the_prediction(tmp_path):
    assert open_lesson("02", tmp_path).slice_lines == ("Order in the slice of `dra.net`: eno1, rdma0, rdma1, rdma2.",)
    assert "cpudevnuma000, cpudevnuma001" in open_lesson("06", tmp_path).slice_lines[0]


def test_a_reset_keeps_a_copy_of_everything(tmp_path):
    for _ in range(2):
        run = played(tmp_path)
        run.drawing_path.write_text("drawn", encoding="utf-8")
        run.reset()
    kept = {f"{LESSON}{end}" for end in (".progress.json", ".dralab.yaml")}
    assert files(tmp_path) == {f"{name}{bak}" for name in kept for bak in (".bak", ".2.bak")}
    assert open_lesson(LESSON, tmp_path).progress.done == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b'{"lesson": 3}', b'{"lesson": "03-first-fit", "format": 99}',
     b'{"lesson": "03-first-fit", "started": "soon", "finished": "later"}', b'{"lesson": "05-links"}',
     b"[" * 100_000, b" " * 2**20 + b"{}", '{"lesson": "03-first-fit"}'.encode("utf-16"),
     b'{"lesson": "03-first-fit", "hints": 9}', b'{"lesson": "03-first-fit", "checks": -1}'],
    ids=["empty", "cut off", "no text", "a list", "wrong type", "version", "no times", "another lesson", "deep", "huge",
         "UTF-16", "too many hints", "negative"],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_kept_under_another_name(content: bytes, tmp_path):
    (tmp_path / f"{LESSON}.progress.json").write_bytes(content)
    run = open_lesson(LESSON, tmp_path)
    assert f"{LESSON}.progress.json" in run.problem
    assert (run.progress.done, files(tmp_path)) == ((), {f"{LESSON}.progress.json"})
    run.hint()
    assert (tmp_path / f"{LESSON}.progress.json.bak").read_bytes() == content
    assert (run.problem, open_lesson(LESSON, tmp_path).progress.hints) == ("", 1)


def test_two_kernels_add_to_one_progress(tmp_path):
    one, two = (open_lesson(LESSON, tmp_path) for _ in range(2))
    one.hint()
    two.predict(taken(two))
    kept = json.loads((tmp_path / f"{LESSON}.progress.json").read_text(encoding="utf-8"))
    assert (kept["hints"], kept["predictions"]) == (1, [True])


def test_another_seed_begins_anew_and_keeps_the_former_progress(tmp_path):
    played(tmp_path, seed=1)
    run = open_lesson(LESSON, tmp_path, seed=2)
    run.hint()
    assert run.progress.done == ()
    assert f"{LESSON}.progress.json.bak" in files(tmp_path)


def test_without_a_seed_the_progress_of_any_seed_goes_on(tmp_path):
    open_lesson(LESSON, tmp_path, seed=1).hint()
    run = open_lesson(LESSON, tmp_path)
    assert (run.seed, run.progress.hints, run.problem) == (1, 1, "")


def test_without_a_folder_that_can_be_written_the_lesson_goes_on_in_memory(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    run = open_lesson(LESSON, tmp_path / "file")
    run.hint()
    run.predict(taken(run))
    assert (run.progress.hints, run.progress.done) == (1, ("predict",))
    assert run.problem.startswith("Your progress is not saved:")
    assert "open the lesson with `folder=`" in run.problem


def test_two_students_in_one_folder_have_files_of_their_own(tmp_path):
    mia = open_lesson(LESSON, tmp_path, student="Mia")
    mia.hint()
    noor = open_lesson(LESSON, tmp_path, student="Noor B.")
    noor.predict(taken(noor))
    assert files(tmp_path) == {f"{LESSON}.progress.json", f"{LESSON}.noor-b.progress.json"}
    again = [open_lesson(LESSON, tmp_path, student=name) for name in ("Mia", "Noor B.")]
    assert [(run.progress.hints, run.progress.done) for run in again] == [(1, ()), (0, ("predict",))]
    assert mia.drawing_path != noor.drawing_path


def test_two_students_who_open_a_lesson_at_once_lose_nothing(tmp_path):
    """Both begin before there is a file: the progress that the other one wrote is renamed, never overwritten."""
    mia, noor = (open_lesson(LESSON, tmp_path, student=name) for name in ("Mia", "Noor"))
    mia.hint()
    noor.predict(taken(noor))
    kept = json.loads((tmp_path / f"{LESSON}.progress.json.bak").read_text(encoding="utf-8"))
    assert (kept["student"], kept["hints"]) == ("Mia", 1)


def test_a_name_that_is_given_later_is_kept_with_the_progress(tmp_path):
    open_lesson(LESSON, tmp_path).hint()
    open_lesson(LESSON, tmp_path, student="Mia").hint()
    assert open_lesson(LESSON, tmp_path).progress.student == "Mia"


def test_a_prediction_of_devices_that_are_gone_is_not_shown(tmp_path):
    run = open_lesson(LESSON, tmp_path)
    run.predict(taken(run))
    path = tmp_path / f"{LESSON}.progress.json"
    path.write_text(path.read_text(encoding="utf-8").replace("gpu-1", "gpu-99"), encoding="utf-8")
    assert open_lesson(LESSON, tmp_path).picked == ("gpu.nvidia.com/lab-2/gpu-2",)


@pytest.mark.parametrize("name", ["3", "03", "03-first-fit"])
def test_a_lesson_is_opened_by_number_or_name(name: str, tmp_path):
    assert open_lesson(name, tmp_path).lesson.id == LESSON


@pytest.mark.parametrize("name", ["", "0", "99", "03-frist-fit", "../03-first-fit"])
def test_an_unknown_lesson_is_told_with_the_names(name: str, tmp_path):
    with pytest.raises(InputError, match="01-devices-and-slices"):
        open_lesson(name, tmp_path)
