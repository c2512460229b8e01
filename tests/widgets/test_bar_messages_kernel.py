"""ClusterBar without a browser: what a session makes of it, what messages do."""

from __future__ import annotations

import pytest
from widget_messages import answered, say

from dra_lab.findings import Finding, Severity
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.cluster_rows import MAX_FINDINGS, counts, finding_rows


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


def test_a_source_that_cannot_be_read_is_reported_and_the_present_one_stays(session):
    """The problem names what was tried; it goes when it is dismissed."""
    bar = ClusterBar(session)
    say(bar, type="load", source="/nowhere/x.json")
    assert bar.loading.wait()
    assert "/nowhere/x.json" in bar.refused
    assert bar.source == "sample:eks-p4d"
    say(bar, type="dismiss-problem")
    assert bar.refused == ""


def test_dropped_files_become_the_cluster(session):
    """Dropped files are read as one cluster, by their names."""
    bar = ClusterBar(session)
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}'
    say(bar, type="upload", number=1, files=[{"name": "nodes.json", "size": len(node)}])
    say(bar, type="piece", number=1, buffers=[node.encode()])
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
    """A known release is planned for; an unknown one is reported as a problem."""
    bar = ClusterBar(session)
    say(bar, type="release", value="1.37")
    assert bar.release == "1.37"
    say(bar, type="release", value="1.99")
    assert "1.99" in bar.problem
    assert bar.release == "1.37"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "close"},
        {"type": 3},
        {"no": "type"},
        {"type": "__init__"},
        {"type": "load"},
        {"type": "load", "source": 3},
        {"type": "load", "source": "x", "more": 1},
    ],
)
def test_a_message_that_the_bar_does_not_take_is_refused_in_words(session, message):
    """Only messages of the table do something; a type, a field or a value that is wrong is named."""
    bar = ClusterBar(session)
    say(bar, **message)
    assert bar.problem.startswith("the browser sent a message that this view does not accept: ")


def test_a_question_about_the_file_is_shown_and_answered(tmp_path):
    """A question appears if another program changed the drawing's file; the answer goes to the session."""
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


def test_thousands_of_findings_are_counted_and_the_first_are_reported():
    """The browser gets a list that it can show, and where the others are."""
    findings = tuple(Finding("rule", Severity.NOTE, str(number), "message") for number in range(MAX_FINDINGS + 1200))
    rows = finding_rows(findings)
    assert len(rows) == MAX_FINDINGS + 1
    assert rows[-1].message == "1,200 more findings"
    assert counts(findings).note == len(findings)
    assert len(finding_rows(findings[:MAX_FINDINGS])) == MAX_FINDINGS
