"""ClusterBar, PlanView, HardwareView and Lab without a browser: what a session makes of them, what messages do."""

from __future__ import annotations

import threading
import time

import pytest
from ipywidgets import Widget

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Severity
from dra_lab.model.plan import Plan, PlanStatus, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session, read_sketch
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.cluster_rows import MAX_FINDINGS, counts, finding_rows
from dra_lab.widgets.device_rows import MAX_DEVICES, device_table, fleet
from dra_lab.widgets.hardware_view import HardwareView
from dra_lab.widgets.kernel_loop import LoopPoster
from dra_lab.widgets.lab import Lab
from dra_lab.widgets.plan_view import PlanView, with_suggestion


@pytest.fixture
def session():
    made = Session()
    made.plan()
    yield made
    made.close()
    Widget.close_all()


def say(widget, **message):
    """Do what the browser's message does."""
    widget._handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})


def answered(session):
    """Wait until the present drawing is answered and every view was told."""
    assert session.wait(20)


# ---------------------------------------------------------------- ClusterBar


def test_the_bar_says_what_is_in_the_cluster(session):
    """The summary counts nodes, drivers, devices by kind, free ones and RDMA."""
    bar = ClusterBar(session)
    assert bar.source == "sample:eks-p4d"
    assert bar.summary.startswith("4 nodes · 2 drivers · 32 GPUs, ")
    assert "28 NICs" in bar.summary
    assert "16 with RDMA" in bar.summary
    assert bar.example is True
    assert bar.release == session.release.version
    assert {row["value"] for row in bar.sources} >= {"sample:eks-p4d", "sample:trouble"}


def test_loading_another_cluster_keeps_the_drawing(session):
    """The message `load` takes another cluster; the drawing stays, and the example is over."""
    bar = ClusterBar(session)
    before = session.sketch
    say(bar, type="load", source="sample:dgx-h100")
    assert bar.loading.wait()
    answered(session)
    assert bar.source == "sample:dgx-h100"
    assert session.sketch == before
    assert (bar.example, bar.busy, bar.problem) == (False, "", "")


def test_a_source_that_cannot_be_read_is_told_and_the_present_one_stays(session):
    """The problem names what was tried; it goes when it is dismissed."""
    bar = ClusterBar(session)
    say(bar, type="load", source="/nowhere/x.json")
    assert bar.loading.wait()
    assert "/nowhere/x.json" in bar.refused
    assert bar.source == "sample:eks-p4d"
    say(bar, type="dismiss-problem")
    assert bar.refused == ""


def test_dropped_files_become_the_cluster(session):
    """The texts of dropped files are read as one cluster, by their names."""
    bar = ClusterBar(session)
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'
    say(bar, type="files", files=[{"name": "nodes.json", "text": node}])
    assert bar.loading.wait()
    assert bar.source == "nodes.json"
    assert bar.summary.startswith("1 node · 0 drivers")


def test_start_empty_clears_the_drawing_as_one_step(session):
    """`start-empty` leaves an empty drawing that undo brings back."""
    bar = ClusterBar(session)
    say(bar, type="start-empty")
    assert session.sketch.requests == ()
    assert bar.example is False
    assert session.undo()
    assert session.sketch.requests


def test_hiding_the_example_line_keeps_the_example(session):
    """`dismiss-example` changes nothing but the line."""
    bar = ClusterBar(session)
    say(bar, type="dismiss-example")
    assert (bar.example, session.example) == (False, False)
    assert session.sketch.requests


def test_the_release_is_chosen_by_message_and_a_wrong_one_is_refused(session):
    """A known release is planned for; an unknown one is told as a problem."""
    bar = ClusterBar(session)
    say(bar, type="release", value="1.37")
    assert bar.release == "1.37"
    say(bar, type="release", value="1.99")
    assert "1.99" in bar.problem
    assert bar.release == "1.37"


def test_an_unknown_message_is_ignored(session):
    """Only messages that the bar knows do something."""
    bar = ClusterBar(session)
    for message in ({"type": "close"}, {"type": 3}, {"no": "type"}, {"type": "__init__"}):
        say(bar, **message)
    assert bar.problem == ""


def test_a_question_about_the_file_is_shown_and_answered(tmp_path):
    """A drawing's file that somebody else changed asks; the answer goes to the session."""
    session = Session("sample:two-sockets", file=tmp_path / "plan.dralab.yaml", sketch=ClaimSketch(name="one"))
    bar = ClusterBar(session)
    session.edit(ClaimSketch(name="two"))
    (tmp_path / "plan.dralab.yaml").write_text("apiVersion: dra-lab/v1\nkind: Drawing\nsketch: {name: theirs}\n")
    session.edit(ClaimSketch(name="three"))
    assert [option[0] for option in bar.ask["options"]] == ["reload", "overwrite"]
    say(bar, type="answer", id="reload")
    assert session.sketch.name == "theirs"
    assert bar.ask == {}
    session.close()


def test_the_bar_stands_alone(session):
    """Without a session the traits are given by hand and messages do no harm."""
    bar = ClusterBar(summary="1 node", example=True, findings=[{"severity": "note", "message": "x"}])
    say(bar, type="load", source="sample:eks-p4d")
    say(bar, type="dismiss-example")
    assert (bar.summary, bar.example) == ("1 node", False)


# ---------------------------------------------------------------- PlanView


def test_the_answer_strip_has_sentence_figures_and_proof(session):
    """The example's answer: where it fits, its goals, its proof, and what kube-scheduler takes."""
    view = PlanView(session)
    assert view.answer["state"] == "fits"
    assert view.answer["sentence"].startswith("Fits on 3 of 4 nodes now (4 when idle). Best on ")
    figures = {row.get("label", ""): row["value"] for row in view.answer["figures"]}
    assert figures["GPUs paired"] == "2 of 2"
    assert figures[""] == "proven best"
    assert figures["kube-scheduler:"] == "as good"
    assert "1 of 2 paired" in figures["without links:"]


def test_goals_stand_beside_what_kube_scheduler_reaches(session):
    """Every goal has a row with its proof and both comparisons."""
    rows = {row["goal"]: row for row in PlanView(session).goals}
    assert list(rows) == ["alternatives", "preferences", "numa", "unpaired", "roots", "damage"]
    assert (rows["numa"]["best"], rows["numa"]["manifest"], rows["numa"]["plain"]) == (1, "1", "2")
    assert rows["numa"]["better"] == "1 better than without links"
    assert all(row["proven"] for row in rows.values())


def test_yaml_lines_carry_the_letter_of_their_request(session):
    """The lines that were written for a request are marked with its letter."""
    view = PlanView(session)
    lines = view.yaml.splitlines()
    for number, letter in view.yaml_marks.items():
        assert letter in ("A", "B"), number
    first = min(int(number) for number, letter in view.yaml_marks.items() if letter == "A")
    assert "name: gpu" in lines[first - 1]
    assert view.badges["gpu"]["letter"] == "A"


def test_the_manifest_follows_every_change(session):
    """The YAML is that of the present drawing, before its answer is there."""
    view = PlanView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    assert "five-pairs" in view.yaml


def test_a_drawing_that_does_not_fit_has_reasons(session):
    """Reasons name roots and counts, and figures of a fit are gone."""
    view = PlanView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert view.answer["state"] == "misfit"
    assert "figures" not in view.answer
    assert any("pci0000:10" in row["message"] for row in view.reasons)
    assert view.goals == []
    assert view.chosen == {}


def test_the_last_answer_stays_while_the_next_is_sought(session):
    """A stale answer keeps its sentence and figures and says that it is stale."""
    view = PlanView(session)
    before = dict(view.answer)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    stale = dict(view.answer)
    go.set()
    answered(session)
    assert stale["stale"] is True
    assert stale["sentence"] == before["sentence"]
    assert stale["progress"]["text"] == "Planning ..."
    assert "stale" not in view.answer


def test_every_device_is_in_the_table_once(session):
    """Up to a thousand devices the table has all of them, with an id each."""
    devices = PlanView(session).devices
    assert len(devices["rows"]) == len(set(devices["ids"])) == devices["total"] == 60
    assert all(len(row) == len(devices["columns"]) for row in devices["rows"])


def test_a_large_cluster_sends_one_node(session, monkeypatch):
    """Above the limit the table holds the devices of one node and says so."""
    monkeypatch.setattr("dra_lab.widgets.device_rows.MAX_DEVICES", 20)
    node = session.cluster.node_names[1]
    table = device_table(session.cluster, node)
    assert {row[1] for row in table.rows} == {node}
    assert f"the cluster has {table.total}" in table.caption
    assert MAX_DEVICES == 1000


def test_writing_tells_the_files_and_a_changed_file_is_a_problem(session, tmp_path):
    """`write` writes beside the notebook; what a person changed is not overwritten."""
    view = PlanView(session)
    say(view, type="write", folder=str(tmp_path / "out"))
    names = ["kustomization.yaml", "plan.json", "pod.yaml", "resourceclaimtemplate.yaml"]
    assert sorted(path.rsplit("/", 1)[-1] for path in view.written) == names
    (tmp_path / "out" / "pod.yaml").write_text("mine: true\n")
    say(view, type="write", folder=str(tmp_path / "out"))
    assert "pod.yaml" in view.problem
    assert (tmp_path / "out" / "pod.yaml").read_text() == "mine: true\n"


def test_a_changed_file_is_overwritten_where_the_person_asks_for_it(session, tmp_path):
    """`overwrite` must be true itself, not only something."""
    view, changed = PlanView(session), tmp_path / "pod.yaml"
    changed.write_text("mine: true\n")
    say(view, type="write", folder=str(tmp_path), overwrite="yes")
    assert changed.read_text() == "mine: true\n"
    say(view, type="write", folder=str(tmp_path), overwrite=True)
    assert "kind: Pod" in changed.read_text()


def test_a_suggestion_adds_its_selectors_once():
    """Selectors are added to the requests that they are for; doing it again changes nothing."""
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    helped = with_suggestion(sketch, Suggestion("x", "y", selectors={"gpu": ("device.driver == 'a'",)}))
    texts = [selector.cel.expression for selector in helped.request("gpu").exactly.selectors]
    assert texts.count("device.driver == 'a'") == 1
    assert with_suggestion(helped, Suggestion("x", "y", selectors={"gpu": ("device.driver == 'a'",)})) == helped
    assert helped.request("nic") == sketch.request("nic")


def test_a_suggestion_can_be_applied_by_its_number():
    """On oke-gb200 the reasons come with selectors; applying them is one step of the drawing."""
    session = Session("sample:oke-gb200", sketch=read_sketch("sample:oke-gb200/one-pair"))
    session.plan()
    view = PlanView(session)
    assert view.answer["state"] == "misfit"
    usable = [row["id"] for row in view.suggestions if row.get("id")]
    assert usable
    before = session.sketch
    say(view, type="apply-suggestion", id=usable[0])
    assert session.sketch != before
    assert session.undo()
    say(view, type="apply-suggestion", id="99")
    assert session.sketch == before
    session.close()


def test_cancel_ends_the_search_and_says_so(session):
    """A cancelled question leaves neither a waiting strip nor an old answer that looks like the new one."""
    view = PlanView(session)
    begun = threading.Event()

    def slow(*_arguments, cancel, **_options):
        begun.set()
        assert cancel.wait(10)
        from dra_lab.errors import Cancelled

        raise Cancelled("cancelled before there was any answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dra_lab.planner.make_plan", slow)
        session.edit(read_sketch("sample:eks-p4d/four-pairs"))
        assert begun.wait(10)
        say(view, type="cancel")
        answered(session)
    assert (view.answer["state"], view.answer["stale"]) == ("fits", True), "the answer before stays"
    assert "cancelled" in view.answer["trouble"]


# ---------------------------------------------------------------- HardwareView


def test_the_picture_is_of_the_plans_node(session):
    """Without a wish the plan's node is drawn, with the chosen devices on it."""
    view = HardwareView(session)
    assert view.node == session.answer.node
    assert view.svg.count('data-request="gpu"') == 2
    assert [item["fit"] for item in view.fleet["items"]].count("best") == 3


def test_a_click_looks_at_a_node_until_the_next_answer(session):
    """Looking changes neither drawing nor answer; the next answer shows itself again."""
    view = HardwareView(session)
    other = session.cluster.node_names[-1]
    number = session.number
    say(view, type="node", name=other)
    assert (view.node, session.number, session.drawing.node) == (other, number, "")
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    answered(session)
    assert view.node == session.answer.node


def test_the_picture_of_a_refusal_is_of_the_node_that_it_names(session):
    """Where nothing fits, the node of the first reason is drawn, so that words and picture speak of the same."""
    view = HardwareView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert view.node == session.answer.shortfalls[0].node != session.cluster.node_names[0]


def test_a_pin_plans_on_that_node(session):
    """`pin` holds the plan to a node, "" lets it go; an unknown node is a problem."""
    view = HardwareView(session)
    node = session.answer.node
    say(view, type="pin", name=session.cluster.node_names[2])
    answered(session)
    assert view.pinned == session.answer.node == session.cluster.node_names[2]
    say(view, type="pin", name="")
    answered(session)
    assert (view.pinned, view.node) == ("", node)
    say(view, type="pin", name="nowhere")
    assert "nowhere" in view.problem


def test_what_is_shown_redraws_the_picture(session):
    """The comparison with kube-scheduler is another picture."""
    view = HardwareView(session)
    before = view.svg
    view.show = "plain"
    assert view.svg != before


def test_a_cluster_without_slices_is_an_empty_state_with_one_way_out(session):
    """No ResourceSlices: a sentence and an action, which loads the sample."""
    from dra_lab.model.cluster import Cluster
    from dra_lab.model.nodes import Node, ObjectMeta

    view = HardwareView(session)
    session.load(Cluster(name="bare", nodes=(Node(metadata=ObjectMeta(name="a")),)))
    answered(session)
    assert (view.svg, bool(view.empty), bool(view.empty_action)) == ("", True, True)
    say(view, type="sample")
    answered(session)
    assert view.svg
    assert view.empty == ""


def test_the_graph_comes_when_asked_and_goes_again(session):
    """The page is large, so it is made only while it is open."""
    view = HardwareView(session)
    assert view.graph_html == ""
    say(view, type="graph")
    assert "<html" in view.graph_html
    say(view, type="close-graph")
    assert view.graph_html == ""


def test_many_nodes_are_classes_and_not_tiles(session, monkeypatch):
    """Above the limit of tiles the strip has a row a class, most nodes first."""
    monkeypatch.setattr("dra_lab.pictures.fleet.MOST_TILES", 2)
    strip = fleet(session.cluster, session.answer)
    assert strip.kind == "classes"
    assert sum(item.nodes for item in strip.items) == strip.total == 4
    counts = [item.nodes for item in strip.items]
    assert counts == sorted(counts, reverse=True)


def test_an_answer_of_another_cluster_is_not_shown(session):
    """Between loading and the next answer no view shows the old one on the new nodes."""
    view = HardwareView(session)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.load("sample:dgx-h100")
    assert all(item.get("fit", "unknown") == "unknown" for item in view.fleet["items"])
    go.set()
    answered(session)
    assert view.node.startswith("dgx-")


def test_views_share_one_highlight(session):
    """What is lit in one view is lit in the others, through the session."""
    plan_view, hardware = PlanView(session), HardwareView(session)
    hardware.highlight = "gpu"
    assert plan_view.highlight == session.highlight == "gpu"


def test_a_defect_of_one_pane_leaves_the_others_alone(session, monkeypatch):
    """A picture that cannot be drawn is told in its own pane; the fleet beside it is there."""

    def broken(*_arguments, **_options):
        raise ValueError("no paint")

    monkeypatch.setattr("dra_lab.pictures.hardware.hardware_svg", broken)
    view = HardwareView(session)
    assert "no paint" in view.problem
    assert view.fleet["items"]


def test_a_closed_view_follows_no_longer(session):
    """Closing ends every subscription."""
    view = PlanView(session)
    view.close()
    session.edit(ClaimSketch(name="later"))
    assert "later" not in view.yaml


# ---------------------------------------------------------------- Lab


@pytest.fixture
def lab():
    made = Lab(file=None)
    yield made
    made.close()
    Widget.close_all()


def test_lab_ties_four_views_to_one_session(lab):
    """The parts show the same session; methods hand over to it."""
    assert lab.plan().fits
    assert lab.bar.source == lab.cluster.name == "sample:eks-p4d"
    lab.sketch = read_sketch("sample:eks-p4d/five-pairs")
    assert lab.plan().status is PlanStatus.INFEASIBLE
    assert lab.undo()
    assert lab.redo()
    assert repr(lab).startswith("Lab('sample:eks-p4d')")


def test_lab_writes_pictures_manifests_and_tables(lab, tmp_path):
    """What leaves the planner by mouse leaves it by method as well."""
    lab.plan()
    assert lab.draw(tmp_path / "plan.html").read_text().startswith("<!")
    names = ["resourceclaimtemplate.yaml", "pod.yaml", "kustomization.yaml", "plan.json"]
    assert [path.name for path in lab.export(tmp_path / "out")] == names
    assert len(lab.devices()) == 60


def test_lab_closes_once(lab):
    """Closing ends worker and views; a second time nothing happens."""
    lab.close()
    lab.close()
    assert lab.comm is None


def test_lab_refuses_a_cluster_that_is_not_there():
    """The error of the reader comes through."""
    with pytest.raises(SourceError, match="nowhere"):
        Lab("/nowhere", file=None)


def test_callbacks_of_the_worker_run_on_the_loop_of_the_kernel():
    """Calls from another thread wait for the loop, calls from its own thread run at once."""
    import asyncio

    async def main() -> tuple[list[int], int]:
        seen: list[int] = []
        post = LoopPoster()
        post(lambda: seen.append(threading.get_ident()))
        thread = threading.Thread(target=lambda: post(lambda: seen.append(threading.get_ident())))
        thread.start()
        thread.join()
        assert len(seen) == 1
        await asyncio.sleep(0)
        return seen, threading.get_ident()

    seen, own = asyncio.run(main())
    assert seen == [own, own]


def test_a_plan_is_for_its_cluster(session):
    """The views compare the names, so the planner must write the name that was read."""
    assert isinstance(session.answer, Plan)
    assert session.answer.cluster == session.cluster.name


def test_the_first_screen_is_small(session):
    """Opening the planner on the example sends the browser less than 200 kB beside the code."""
    import json

    started = time.perf_counter()
    views = (ClusterBar(session), PlanView(session), HardwareView(session))
    size = sum(
        len(json.dumps({key: value for key, value in view.get_state().items() if not key.startswith("_")}, default=str))
        for view in views
    )
    assert size < 200_000, (size, time.perf_counter() - started)


def test_thousands_of_findings_are_counted_and_the_first_are_told():
    """The browser gets a list that it can show, and where the others are."""
    findings = tuple(Finding("rule", Severity.NOTE, str(number), "message") for number in range(MAX_FINDINGS + 1200))
    rows = finding_rows(findings)
    assert len(rows) == MAX_FINDINGS + 1
    assert rows[-1].message == "1,200 more findings"
    assert counts(findings).note == len(findings)
    assert len(finding_rows(findings[:MAX_FINDINGS])) == MAX_FINDINGS


def test_a_question_that_waits_can_be_cancelled(session):
    """Cancelling while the question before it still stops leaves no strip that waits for ever."""
    view = PlanView(session)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    say(view, type="cancel")
    go.set()
    answered(session)
    assert session.stale is False
    assert "cancelled" in view.answer["trouble"]
