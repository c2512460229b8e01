"""The lessons in a real JupyterLab: each is played wrong, with a correct answer of another shape, and right."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lab_page import LabPage
from lab_server import until
from playwright.sync_api import Locator, expect

from dra_lab import lessons
from dra_lab.course.lesson_text import LessonText

pytestmark = pytest.mark.browser

OPEN = """from tempfile import mkdtemp
from dra_lab import Lesson
folder = mkdtemp()
lesson = Lesson({name!r}, folder=folder)
lesson"""
DRAW = """
from msgspec.structs import replace
answer = lesson.run.lesson.answers.{answer}
present = lesson._drawn.history.present
content = replace(present, workloads=answer.workloads, editing=answer.editing)
lesson._drawn.change(content.with_sketch(answer.sketch))
"""
TAKEN = "[str(one.device) for one in lesson.run.searched.first_fit.placements]"


def opened(desk, name: str, **size: int) -> LabPage:
    """Return the page with a lesson in its only cell."""
    lab = desk.show([OPEN.format(name=name)], **size)
    lab.run_all()
    lab.page.locator(".dra-lesson-picture [data-id]").first.wait_for()
    return lab


def pick(lab: LabPage, devices: Sequence[str]) -> None:
    """Click devices on the picture."""
    for device in devices:
        lab.page.locator(f'.dra-lesson-picture [data-id="{device}"]').first.click()


def press(lab: LabPage, name: str) -> None:
    lab.page.locator(".dra-lesson-buttons").get_by_role("button", name=name).click()


def judged(lab: LabPage) -> Locator:
    return lab.page.locator(".dra-lesson-judged")


def draw(lab: LabPage, answer: str) -> None:
    """Bring an answer of the lesson's file onto the canvas, and wait until the page shows it."""
    lab.run(DRAW.format(answer=answer))
    count = lab.eval("len(lesson._drawn.sketch.requests)")
    expect(lab.page.locator(".dra-lesson-canvas .dra-canvas")).to_have_attribute("data-requests", str(count))


def to_draw(lab: LabPage) -> None:
    """Predict right with the mouse, look at the trace, and go on to the canvas."""
    pick(lab, lab.eval(TAKEN))
    press(lab, "This is my prediction")
    press(lab, "Go to Trace")
    lab.page.locator(".dra-lesson-picture .dra-trace-card, .dra-lesson-picture h2").first.wait_for()
    press(lab, "Go to Draw")
    lab.page.locator(".dra-lesson-canvas .dra-canvas").wait_for()


@pytest.mark.some(2)
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_a_lesson_is_played_wrong_in_another_shape_and_right(desk, lesson: LessonText):
    """A wrong drawing gets rows that say what is missing, both correct ones pass, and the last step ends it."""
    lab = opened(desk, lesson.id)
    to_draw(lab)
    draw(lab, "wrong")
    press(lab, "Check my drawing")
    expect(judged(lab)).to_contain_text("Not yet. The drawing meets")
    lab.page.get_by_role("button", name="Show hint 1, A nudge").click()
    expect(lab.page.locator(".dra-lesson-hints")).to_contain_text(lesson.hints[0][:40])
    draw(lab, "other")
    press(lab, "Check again")
    expect(judged(lab)).to_contain_text("Right. The drawing meets every need.")
    press(lab, "Back to Draw")
    draw(lab, "right")
    press(lab, "Check my drawing")
    expect(judged(lab)).to_contain_text("Right. The drawing meets every need.")
    press(lab, "Go to Explain")
    lab.page.get_by_label("Your sentence").fill(lesson.explain.model)
    lab.page.keyboard.press("Enter")
    expect(lab.page.locator(".dra-lesson-compare")).to_contain_text("One good answer")
    expect(lab.page.locator(".dra-lesson-head")).to_contain_text("You finished this lesson.")


def test_a_wrong_prediction_can_be_tried_again_and_names_no_device(desk):
    """The keyboard chooses a device; the wrong prediction is told, and no trait has the right devices."""
    lab = opened(desk, "03-first-fit")
    taken = lab.eval(TAKEN)
    gpus = lab.page.locator('.dra-lesson-picture [data-id*="/gpu-"]').evaluate_all("all => all.map(a => a.dataset.id)")
    wrong = next(gpu for gpu in gpus if gpu not in taken)
    lab.page.locator(f'.dra-lesson-picture [data-id="{wrong}"]').first.focus()
    lab.page.keyboard.press("Space")
    press(lab, "This is my prediction")
    expect(judged(lab)).to_contain_text("Not these.")
    names = [device.rpartition("/")[2] for device in taken]
    said = judged(lab).inner_text()
    assert [name for name in names if name in said] == []
    pick(lab, [wrong, *taken])
    press(lab, "This is my prediction")
    expect(judged(lab)).to_contain_text("Right.")


def test_a_student_draws_with_the_mouse(desk):
    """A chip that is dragged to the canvas is the student's drawing, and Check plans it."""
    lab = opened(desk, "01-devices-and-slices", width=1440)
    to_draw(lab)
    canvas = lab.page.locator(".dra-lesson-canvas .dra-canvas")
    for at, label in enumerate(("A100", "NIC")):
        chip = canvas.locator(".dra-chip", has_text=label).first
        chip.drag_to(canvas.locator(".react-flow__pane"), target_position={"x": 120 + 300 * at, "y": 120})
        until(lambda at=at: lab.eval("len(lesson._drawn.sketch.requests)") == at + 1, "the drop is in the kernel")
    press(lab, "Check my drawing")
    expect(judged(lab)).to_contain_text("Right. The drawing meets every need.")
    expect(lab.page.locator(".dra-lesson-foot")).to_contain_text("YAML of your drawing")


@pytest.mark.long
def test_run_all_changes_neither_drawing_nor_progress(desk):
    """After the cell ran again, the files are the same byte by byte, and the lesson shows the same step."""
    lab = opened(desk, "03-first-fit")
    to_draw(lab)
    draw(lab, "wrong")
    lab.page.get_by_role("button", name="Show hint 1, A nudge").click()
    expect(lab.page.locator(".dra-lesson-hints [data-state=shown]")).to_have_count(1)
    read = "{path.name: path.read_text() for path in sorted(__import__('pathlib').Path(folder).iterdir())}"
    until(lambda: len(lab.eval(read)) == 2, "drawing and progress are files")
    before = lab.eval(read)
    lab.run("again = Lesson('03-first-fit', folder=folder)")
    assert lab.eval("[again.run.task, len(again._drawn.sketch.requests)]") == [2, 1]
    assert lab.eval(read) == before


def test_no_trait_has_the_answer_before_it_is_due(desk):
    """Before the prediction and before the check, nothing that the browser gets names what kube-scheduler takes."""
    lab = opened(desk, "05-links")
    state = (
        "[str({name: getattr(view, name) for name in view.keys if name not in ('_esm', '_css')})"
        " for view in (lesson._view, *lesson._grid.children[1:])]"
    )
    text = " ".join(lab.eval(state))
    assert "data-request=" not in text
    assert "pairwise" not in text
    to_draw(lab)
    draw(lab, "right")
    until(lambda: lab.eval("not lesson._drawn.stale"), "the drawing is planned")
    drawn = lab.eval(state)
    assert "data-request=" not in drawn[2]
    assert "matchAttribute" not in drawn[0]


@pytest.mark.long
def test_start_over_asks_first_and_keeps_copies(desk):
    """The lesson begins at its first step with an empty canvas, and both files stay as copies."""
    lab = opened(desk, "03-first-fit")
    to_draw(lab)
    draw(lab, "wrong")
    lab.page.get_by_role("button", name="Start over").first.click()
    dialog = lab.page.get_by_role("dialog", name="Start this lesson again?")
    dialog.get_by_role("button", name="Start over").click()
    expect(lab.page.locator(".dra-lesson-head")).to_contain_text("Step 1 of 5")
    names = lab.eval("sorted(path.name for path in __import__('pathlib').Path(folder).iterdir())")
    assert names == ["03-first-fit.dralab.yaml.bak", "03-first-fit.progress.json.bak"]


def test_the_mode_learn_leaves_the_plan_as_it_is(planner):
    """Learn lists the lessons, opens one, and the person's own drawing is there again afterwards."""
    planner.lab.run("lab.sketch = __import__('dra_lab').read_sketch('sample:two-sockets/lesson')")
    before = planner.lab.eval("[lab.sketch.name, lab.cluster.name, len(lab.sketch.links)]")
    planner.bar.get_by_role("radio", name="Learn").click(force=True)
    pane = planner.page.locator(".dra-learn")
    expect(pane.locator(".dra-lessons li")).to_have_count(len(lessons()))
    pane.get_by_role("button", name="First fit by hand").click()
    expect(pane.locator(".dra-lesson-head")).to_contain_text("Lesson 3 of 13")
    pane.get_by_role("button", name="All lessons").click()
    expect(pane.locator(".dra-lessons li")).to_have_count(len(lessons()))
    planner.bar.get_by_role("radio", name="Plan").click(force=True)
    expect(pane).to_be_hidden()
    assert planner.lab.eval("[lab.sketch.name, lab.cluster.name, len(lab.sketch.links)]") == before


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_lesson_is_accessible_and_large_enough_for_a_projector(desk, theme: str):
    """Axe finds nothing, and the text of a task has at least 16 px."""
    lab = opened(desk, "03-first-fit")
    lab.theme(theme)
    assert lab.axe(".dra-lesson") == []
    size = "() => parseFloat(getComputedStyle(document.querySelector('.dra-lesson-body p')).fontSize)"
    assert lab.page.evaluate(size) >= 16


def test_a_task_is_read_as_a_whole_in_a_narrow_cell(desk):
    """Beside JupyterLab's file browser, at 1280 pixels, no line of the task is cut."""
    lab = opened(desk, "10-from-device-plugins", width=1280)
    lab.page.wait_for_function("() => document.querySelector('.dra-lesson').clientWidth < 880")
    cut = lab.page.locator(".dra-lesson-body").evaluate("body => body.scrollHeight - body.clientHeight")
    assert cut <= 1


def test_a_word_does_not_cover_its_meaning(desk):
    """The longest word of the course has a column that is wide enough."""
    lab = opened(desk, "13-claim-to-git", width=1440)
    lab.page.get_by_role("button", name="Words in this lesson").click()
    word = lab.page.locator(".dra-lesson-panel dt", has_text="ResourceClaimTemplate")
    text = "word => { const all = document.createRange(); all.selectNodeContents(word);"
    text += " return all.getBoundingClientRect().right - word.nextSibling.getBoundingClientRect().left }"
    assert word.evaluate(text) <= 0


SHOW = """from dra_lab import Lesson
lesson = Lesson("03-first-fit", folder={folder!r})
lesson"""


@pytest.mark.long
def test_the_same_lesson_in_two_cells_is_one_lesson(desk, tmp_path):
    """The cell that ran first says why it has ended, and the second one has the lesson."""
    lab = desk.show([SHOW.format(folder=str(tmp_path))] * 2)
    lab.run_all()
    outputs = lab.page.locator(".jp-OutputArea-child .dra-lesson")
    expect(outputs.nth(0)).to_contain_text("This lesson has ended because another cell opened it again.")
    expect(outputs.nth(1).locator(".dra-lesson-head")).to_contain_text("Step 1 of 5")


@pytest.mark.long
def test_a_restarted_kernel_shows_the_lesson_as_it_was_left(desk, tmp_path):
    """Step, hints and drawing are read from the files, and Run All writes none of them."""
    lab = desk.show([SHOW.format(folder=str(tmp_path))])
    lab.run_all()
    lab.page.locator(".dra-lesson-picture [data-id]").first.wait_for()
    to_draw(lab)
    draw(lab, "wrong")
    lab.page.get_by_role("button", name="Show hint 1, A nudge").click()
    expect(lab.page.locator(".dra-lesson-hints [data-state=shown]")).to_have_count(1)
    until(lambda: len(list(tmp_path.iterdir())) == 2, "drawing and progress are files")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    lab.kill_kernel()
    lab.wait_for_new_kernel().run_all()
    expect(lab.page.locator(".dra-lesson-head")).to_contain_text("Step 3 of 5")
    expect(lab.page.locator(".dra-lesson-hints [data-state=shown]")).to_have_count(1)
    expect(lab.page.locator(".dra-lesson-canvas .dra-canvas")).to_have_attribute("data-requests", "1")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.long
def test_damaged_progress_is_a_message_on_the_screen(desk, tmp_path):
    """The message says which file it is and what becomes of it; the first action keeps it under another name."""
    (tmp_path / "03-first-fit.progress.json").write_text('{"lesson": "03-first-fit", "done": ["pre', encoding="utf-8")
    lab = desk.show([SHOW.format(folder=str(tmp_path))])
    lab.run_all()
    task = lab.page.locator(".dra-lesson-task")
    expect(task).to_contain_text("'03-first-fit.progress.json' is not the progress of a lesson")
    expect(task).to_contain_text("the file is renamed before the first change")
    pick(lab, lab.eval(TAKEN))
    press(lab, "This is my prediction")
    expect(judged(lab)).to_contain_text("Right.")
    expect(task).not_to_contain_text("is not the progress of a lesson")
    assert (tmp_path / "03-first-fit.progress.json.bak").is_file()
