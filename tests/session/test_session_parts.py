"""The parts of a session: history, worker, the drawing's file."""

import subprocess
import sys
import threading
from contextlib import closing

import pytest

from dra_lab.errors import Cancelled, ManifestError
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.session import Session, read_sketch
from dra_lab.session.drawing_file import DrawingFile
from dra_lab.session.history import MAX_STEPS, History
from dra_lab.session.worker import Worker


def test_history_goes_back_and_forth_and_forgets_what_a_new_step_replaces():
    """Undo, redo, and a new value after an undo drops the undone ones."""
    history = History(0)
    for value in (1, 2, 3):
        history.push(value)
    assert history.undo()
    assert history.undo()
    assert history.present == 1
    assert history.redo()
    assert history.present == 2
    history.push(9)
    assert not history.redo()
    assert history.undo()
    assert history.present == 2


def test_history_keeps_two_hundred_steps():
    """The oldest steps go first."""
    history = History(0)
    for value in range(1, 1000):
        history.push(value)
    while history.undo():
        pass
    assert history.present == 999 - MAX_STEPS


def test_an_equal_value_is_no_step():
    """What does not change anything cannot be undone."""
    history = History(1)
    assert not history.push(1)
    assert not history.can_undo


def test_a_job_that_fails_is_reported_and_the_next_one_runs(monkeypatch):
    """A defect in one answer does not leave a planner without any further one."""
    worker, errors, done = Worker(), [], []
    monkeypatch.setattr(threading, "excepthook", lambda what: errors.append(str(what.exc_value)))
    for job in (lambda _: [].remove(1), lambda _: done.append("next")):
        worker.submit(job)
        assert worker.wait(10)
    worker.close()
    assert (errors, done) == (["list.remove(x): x not in list"], ["next"])


def test_the_latest_job_wins():
    """A running job is asked to stop, a waiting one is dropped, the newest runs to its end."""
    worker, done, started = Worker(), [], threading.Event()

    def slow(stop):
        started.set()
        stop.wait(10)
        done.append("slow stopped")

    worker.submit(slow)
    assert started.wait(10)
    worker.submit(lambda _: done.append("dropped"))
    worker.submit(lambda _: done.append("newest"))
    assert worker.wait(10)
    worker.close()
    assert done[0] == "slow stopped"
    assert done[-1] == "newest"


def test_closing_leaves_no_thread():
    """After close the worker's thread has ended."""
    worker = Worker(name="dra-lab-test-worker")
    worker.submit(lambda stop: None)
    worker.close()
    assert "dra-lab-test-worker" not in [thread.name for thread in threading.enumerate()]


def test_a_file_that_somebody_else_changed_is_not_written_over(tmp_path):
    """Writing returns False and leaves the other person's content."""
    path = tmp_path / "plan.dralab.yaml"
    file = DrawingFile(path)
    assert file.write(Drawing(sketch=ClaimSketch(name="mine")))
    path.write_text("# theirs\n")
    assert not file.write(Drawing(sketch=ClaimSketch(name="mine-again")))
    assert path.read_text() == "# theirs\n"


def test_a_file_reads_back_what_was_written(tmp_path):
    """Reopening finds the same drawing."""
    path = tmp_path / "plan.dralab.yaml"
    drawing = Drawing(sketch=ClaimSketch(name="mine"), layout={"a": (1.0, 2.0)})
    DrawingFile(path).write(drawing)
    assert DrawingFile(path).read() == drawing
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_leaving_python_in_the_middle_of_a_solve_is_quiet():
    """A script that ends while an answer is being worked on ends with status 0 and says nothing."""
    code = "from dra_lab.session import Session\nSession('sample:dgx-h100')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_question_that_the_worker_does_not_have_yet_is_waited_for():
    """Another thread may have asked it a moment ago, as a followed cluster does: that is no cancelled plan."""
    session, found = Session(), []
    session.wait(30)

    def ask() -> None:
        try:
            found.append(session.plan())
        except Cancelled as error:
            found.append(error)

    waiting = threading.Thread(target=ask)

    def while_it_is_asked() -> None:
        waiting.start()
        waiting.join(0.3)

    session.on("solving", while_it_is_asked)
    session.pin("")
    waiting.join(30)
    session.close()
    assert [getattr(answer, "fits", answer) for answer in found] == [True]


def test_a_claim_that_no_api_server_takes_is_refused_where_it_stands(tmp_path):
    """A constraint that names no request of its claim: file, line and path, as for a field that is not known."""
    path = tmp_path / "claim.yaml"
    path.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices:\n"
        "    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]\n"
        "    constraints:\n    - requests: [nic]\n      matchAttribute: resource.kubernetes.io/pcieRoot\n"
    )
    with pytest.raises(ManifestError, match=r"claim\.yaml:8, .*constraints\[0\]\.requests\[0\]: 'nic'"):
        read_sketch(path)


def test_what_only_the_canvas_shows_is_left_out_where_nothing_is_drawn():
    """The command line needs a plan, and no counts of the devices that each request may mean."""
    with closing(
        Session("sample:two-sockets", sketch=read_sketch("sample:two-sockets/lesson"), drawn=False)
    ) as session:
        assert (session.plan().fits, session.status) == (True, {})


def test_a_drawing_is_restored_in_the_mode_in_which_it_was_left(tmp_path):
    """The mode is in the plan file once something is drawn."""
    path = tmp_path / "plan.dralab.yaml"
    with closing(Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/four-pairs"), file=path)) as left:
        left.example = False
        left.show_mode("compare")
    with closing(Session(file=path)) as again:
        assert again.mode == "compare"


def test_an_untouched_example_is_not_stored_when_another_mode_is_shown(tmp_path):
    """Looking at the example makes no file."""
    path = tmp_path / "plan.dralab.yaml"
    with closing(Session(file=path)) as session:
        session.show_mode("trace")
    assert not path.exists()
