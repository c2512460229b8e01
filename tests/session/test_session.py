"""A session: cluster, drawing, answers and file of one notebook."""

import subprocess
import sys
import threading
from contextlib import closing

import pytest
from checked_plans import broken_rules
from msgspec.structs import replace

from dra_lab import ClaimSketch, Link, Session, load_cluster, read_sketch, samples
from dra_lab.errors import Cancelled, InputError, ManifestError, SketchError, SourceError
from dra_lab.model.claims import DeviceRequest, DeviceToleration, ExactDeviceRequest
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import Drawing
from dra_lab.sources.drawing_files import read_drawing, write_drawing

PAIRS = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture
def session():
    """A session on the example, closed after the test."""
    made = Session("sample:eks-p4d", sketch=read_sketch(PAIRS))
    yield made
    made.close()


def other(sketch, count):
    """The sketch with another number of GPUs and NICs."""
    requests = tuple(replace(r, exactly=replace(r.exactly, count=count)) for r in sketch.requests)
    return replace(sketch, requests=requests)


def test_a_new_session_shows_a_solved_example():
    session = Session()
    assert session.example
    assert session.plan().status is PlanStatus.OPTIMAL
    session.close()


def test_a_sample_without_a_file_opens_its_example():
    session = Session("sample:dgx-h100")
    assert session.sketch == read_sketch("sample:dgx-h100/gpu-nic-cpu")
    session.close()


def test_an_edit_is_answered_and_ends_the_example(session):
    session.edit(other(session.sketch, 5))
    assert not session.example
    assert session.plan().status is PlanStatus.INFEASIBLE


def test_an_edit_in_the_midst_of_another_is_the_one_that_is_answered(session):
    """A followed cluster and a person may change something at once; whatever came last is planned."""
    session.wait()
    first = iter([other(session.sketch, 1)])
    off = session.on("solving", lambda: session.edit(sketch) if (sketch := next(first, None)) else None)
    session.edit(other(session.sketch, 5))
    off()
    assert session.wait(30)
    assert not session.stale
    assert session.plan().sketch == other(session.sketch, 1)


def test_undo_and_redo_are_answered_as_well(session):
    session.edit(other(session.sketch, 5))
    assert session.undo()
    assert session.plan().fits
    assert session.redo()
    assert not session.plan().fits


def test_an_inconsistent_edit_is_refused_and_nothing_changes(session):
    before = session.sketch
    with pytest.raises(SketchError):
        session.edit(replace(before, links=(Link(name="x", requests=("nobody",)),)))
    assert session.sketch == before
    assert not session.history.can_undo


def test_the_latest_edit_wins(session):
    for count in (5, 1, 5, 2, 5, 3):
        session.edit(other(session.sketch, count))
    assert session.plan().sketch.requests[0].exactly.count == 3


def test_another_cluster_keeps_the_drawing(session):
    """Loading a cluster is no edit of the drawing; a pinned node of the old one is dropped."""
    before = session.sketch
    session.pin(session.cluster.node_names[0])
    session.load("sample:oke-gb200")
    assert session.sketch == before
    assert session.drawing.node == ""
    assert session.plan().cluster == "sample:oke-gb200"


def test_a_cluster_that_cannot_be_read_leaves_the_present_one(session):
    with pytest.raises(SourceError):
        session.load("sample:nope")
    assert session.cluster.name == "sample:eks-p4d"


def test_a_mode_that_does_not_exist_is_refused_with_those_that_do(session):
    with pytest.raises(InputError, match="modes: plan"):
        session.show_mode("sketching")


def test_the_file_holds_every_change_and_restores_it(tmp_path):
    path = tmp_path / "plan.dralab.yaml"
    first = Session("sample:mi300x", file=path, sketch=read_sketch("sample:mi300x/gpu-nic-pairs"))
    first.edit(other(first.sketch, 2))
    first.move({"gpu": (1.0, 2.0)})
    first.close()
    again = Session(file=path)
    assert (again.sketch, again.drawing.layout, again.cluster.name) == (
        first.sketch,
        {"gpu": (1.0, 2.0)},
        "sample:mi300x",
    )
    again.close()


@pytest.mark.parametrize(("option", "name"), [("reload", "theirs"), ("overwrite", "mine")])
def test_a_file_changed_by_somebody_else_is_asked_about(tmp_path, option, name):
    path = tmp_path / "plan.dralab.yaml"
    session = Session("sample:eks-p4d", file=path, sketch=ClaimSketch(name="first"))
    session.edit(ClaimSketch(name="second"))
    write_drawing(path, replace(session.drawing, sketch=ClaimSketch(name="theirs")))
    session.edit(ClaimSketch(name="mine"))
    assert "changed outside this planner" in session.ask["text"]
    session.choose(option)
    assert session.sketch.name == name
    assert read_drawing(path).sketch.name == name
    assert not session.ask
    session.close()


def test_a_drawing_whose_cluster_is_gone_still_opens(tmp_path):
    path = tmp_path / "plan.dralab.yaml"
    session = Session("sample:eks-p4d", file=path, sketch=read_sketch(PAIRS))
    session.move({})
    session.close()
    write_drawing(path, replace(session.drawing, cluster=str(tmp_path / "gone.json")))
    again = Session(file=path)
    assert again.sketch == session.sketch
    assert "cannot be read" in again.problem
    again.close()


def test_callbacks_run_until_they_are_taken_off(session):
    heard = []
    off = session.on("sketch", lambda: heard.append(1))
    session.clear()
    off()
    session.undo()
    assert heard == [1]


def jobs():
    """The threads of sessions that are alive."""
    return {thread for thread in threading.enumerate() if thread.name == "dra-lab job"}


def test_an_answered_session_has_no_thread():
    before = jobs()
    session = Session("sample:two-sockets", sketch=ClaimSketch())
    assert session.wait(30)
    for thread in jobs() - before:
        thread.join(10)
    assert jobs() <= before


def test_closing_ends_what_is_planned():
    session = Session("sample:two-sockets")
    session.close()
    assert session.wait(0)


def test_a_manifest_that_kube_scheduler_would_search_too_long_is_reported(session):
    preferred = tuple(replace(link, must=False) for link in session.sketch.links)
    session.edit(replace(other(session.sketch, 7), links=preferred))
    session.plan()
    assert session.wait(60)
    assert {f.rule for f in session.findings} & {"manifest-slow", "manifest-gives-up", "manifest-not-replayed"}


def test_what_the_api_server_would_refuse_of_the_manifest_is_reported(session):
    gpu = session.sketch.requests[0]
    odd = replace(gpu.exactly, tolerations=(DeviceToleration(key="a", operator="Maybe"),))
    session.edit(ClaimSketch(name="odd", requests=(replace(gpu, exactly=odd),)))
    session.plan()
    assert session.wait(60)
    refused = [str(f) for f in session.findings if f.rule == "api-refused"]
    assert any("tolerations[0].operator" in text for text in refused)


def test_a_misfit_is_shown_before_its_reasons_are_there(session):
    """Two `plan` events: the first while the answer is stale, the second with the reasons."""
    session.wait()
    seen = []
    session.on("plan", lambda: seen.append((session.stale, session.answer.fits, session.answer.reasons is None)))
    session.edit(replace(other(session.sketch, 30), links=()))
    assert session.wait(60)
    assert seen == [(True, False, True), (False, False, False)]


def test_leaving_python_in_the_middle_of_a_solve_is_quiet():
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
    path = tmp_path / "claim.yaml"
    path.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices:\n"
        "    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]\n"
        "    constraints:\n    - requests: [nic]\n      matchAttribute: resource.kubernetes.io/pcieRoot\n"
    )
    with pytest.raises(ManifestError, match=r"claim\.yaml:8, .*constraints\[0\]\.requests\[0\]: 'nic'"):
        read_sketch(path)


def test_a_drawing_is_restored_in_the_mode_in_which_it_was_left(tmp_path):
    path = tmp_path / "plan.dralab.yaml"
    with closing(Session("sample:eks-p4d", sketch=read_sketch(PAIRS), file=path)) as left:
        left.example = False
        left.show_mode("compare")
    with closing(Session(file=path)) as again:
        assert again.mode == "compare"


def test_an_untouched_example_is_not_stored_when_another_mode_is_shown(tmp_path):
    path = tmp_path / "plan.dralab.yaml"
    with closing(Session(file=path)) as session:
        session.show_mode("trace")
    assert not path.exists()


CPU = ClaimSketch("cpus", (DeviceRequest("cpu", ExactDeviceRequest("dra.cpu")),))


def test_undo_after_a_load_restores_the_cluster_and_its_node(session):
    """The drawing stays through a load, so the cluster is what comes back."""
    node = next(iter(session.cluster.node_names))
    session.pin(node)
    session.load("sample:dgx-h100")
    assert (session.cluster.name, session.drawing.node) == ("sample:dgx-h100", "")
    assert session.undo()
    assert (session.cluster.name, session.drawing.cluster, session.drawing.node) == (
        "sample:eks-p4d",
        "sample:eks-p4d",
        node,
    )


def test_redo_loads_the_cluster_again(session):
    session.load("sample:dgx-h100")
    session.undo()
    assert session.redo()
    assert session.cluster.name == "sample:dgx-h100"


def test_one_undo_takes_back_an_opened_drawing_with_its_cluster_and_places(session):
    before = session.sketch
    session.move({"gpu": (1.0, 2.0)})
    other = Session("sample:dgx-h100")
    session.open(Drawing(sketch=CPU, layout={"cpu": (5.0, 6.0)}), other.cluster)
    other.close()
    assert (session.sketch, session.cluster.name, session.drawing.layout) == (CPU, "sample:dgx-h100", {"cpu": (5, 6)})
    session.undo()
    assert (session.sketch, session.cluster.name, session.drawing.layout) == (before, "sample:eks-p4d", {"gpu": (1, 2)})


def test_undo_of_an_edit_keeps_the_cluster_that_was_loaded_before_it(session):
    session.load("sample:dgx-h100")
    session.edit(CPU)
    session.undo()
    assert session.cluster.name == "sample:dgx-h100"


def test_a_drawing_that_is_inconsistent_is_not_opened(session):
    before = session.sketch
    with pytest.raises(SketchError, match="connects 'nic'"):
        session.open(Drawing(sketch=ClaimSketch(requests=CPU.requests, links=(Link("k", ("nic",)),))))
    assert session.sketch is before


@pytest.mark.parametrize(
    ("sample", "example"), [(sample.name, example) for sample in samples() for example in sample.examples]
)
def test_the_plan_of_every_example_keeps_every_rule(sample, example):
    on = load_cluster(f"sample:{sample}")
    with closing(Session(on, sketch=read_sketch(f"sample:{sample}/{example}"))) as session:
        session.wait()
        assert broken_rules(on, session.answer) == []
