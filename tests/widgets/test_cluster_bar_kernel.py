"""ClusterBar without a browser: what it says of the cluster, pending pods, the check before an upgrade."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest
from pending.dumps import AMD, cluster, request, spec_of, waiting, write
from widget_messages import answered, say

from dra_lab import ClusterBar, Session, load_cluster, read_sketch
from dra_lab.widgets.cluster_rows import MOST_NODES

FULL, FREE = "ip-192-168-158-9.ec2.internal", "ip-192-168-140-52.ec2.internal"


def test_the_bar_says_what_is_in_the_cluster(session):
    bar = ClusterBar(session)
    assert bar.source == "sample:eks-p4d"
    assert bar.summary.startswith("4 nodes · 2 drivers · 32 GPUs, ")
    assert "28 NICs" in bar.summary
    assert "16 with RDMA" in bar.summary
    assert bar.example is True
    assert bar.release == session.release.version
    assert {row["value"] for row in bar.sources} >= {"sample:eks-p4d", "sample:trouble"}


def test_start_empty_clears_the_drawing_as_one_step(session):
    bar = ClusterBar(session)
    say(bar, type="start-empty")
    assert session.sketch.requests == ()
    assert bar.example is False
    assert session.undo()
    assert session.sketch.requests


def test_the_release_is_chosen_by_message_and_a_wrong_one_is_refused(session):
    bar = ClusterBar(session)
    say(bar, type="release", version="1.37")
    assert bar.release == "1.37.1"
    say(bar, type="release", version="1.99")
    assert "1.99" in bar.problem
    assert bar.release == "1.37.1"


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
    bar = ClusterBar(session)
    say(bar, **message)
    assert bar.problem.startswith("the browser sent a message that this view does not accept: ")


def test_the_meters_count_what_is_free(session):
    bar = ClusterBar(session)
    assert [(row["kind"], row["text"]) for row in bar.meters] == [("GPUs", "18 of 32 free"), ("NICs", "21 of 28 free")]
    full = {"node": FULL, "kind": "GPUs", "used": 8, "total": 8, "text": "0 of 8 free"}
    assert full in bar.node_use


def test_the_meters_of_many_nodes_open_by_hardware_type(session):
    """What is in use on thousands of nodes is counted when a person asks, a row for each type."""
    session.fleet.what_if(f"add {MOST_NODES}={FREE}")
    bar = ClusterBar(session)
    assert bar.node_use == []
    say(bar, type="show-use")
    assert [(row["node"], row["nodes"], row["total"], row["kind"]) for row in bar.node_use] == [
        ("p4d.24xlarge", 68, 544, "GPUs"),
        ("p4d.24xlarge", 68, 476, "NICs"),
    ]


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: prod
clusters:
- {name: east, cluster: {server: "https://me:secret@10.0.0.1:6443"}}
contexts:
- {name: prod, context: {cluster: east, user: alice}}
- {name: lab, context: {cluster: east, user: bob}}
users:
- {name: alice, user: {token: very-secret}}
"""


def test_contexts_are_offered_when_the_choice_opens(session, tmp_path, monkeypatch):
    """Those of the kubeconfig as it is at that moment, with server and user, and nothing secret."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    bar = ClusterBar(session)
    assert not [row for row in bar.sources if row.get("group") == "Running clusters"]
    (tmp_path / "config").write_text(KUBECONFIG, encoding="utf-8")
    say(bar, type="sources")
    rows = [row for row in bar.sources if row.get("group") == "Running clusters"]
    assert [row["value"] for row in rows] == ["context:prod", "context:lab"]
    assert rows[0]["detail"] == "https://10.0.0.1:6443 · as alice · current context"
    assert "secret" not in str(bar.sources)


def test_racks_and_switches_of_the_cluster_are_reported(session):
    session.load(load_cluster("sample:dgx-h100"))
    bar = ClusterBar(session)
    assert dict(bar.details)["Topology"] == "1 zone · 1 spine · 2 leaf switches of 4 nodes"


def test_only_a_running_cluster_has_a_switch_to_follow_it(session):
    bar = ClusterBar(session)
    assert bar.follow == {}
    session.load(dataclasses.replace(session.cluster, name="context:prod"))
    assert bar.follow == {"state": "off", "reason": ""}


def test_what_if_changes_are_told_in_every_mode_and_undone_by_one_click(session):
    bar = ClusterBar(session)
    node, other = session.cluster.node_names[:2]
    session.fleet.what_if(f"drain {node}", f"drain {other}")
    assert bar.what_if == [f"Drain {node}", f"Drain {other}"]
    say(bar, type="undo-what-if")
    assert bar.what_if == [f"Drain {node}"]
    bar.close()


def test_pending_pods_have_their_reasons_and_open_as_the_drawing(tmp_path):
    path = write(tmp_path, [*cluster(), *waiting(spec_of(request(count=9)), name="big-0")])
    session = Session(path)
    bar = ClusterBar(session)
    assert session.pending.wait(30)
    [row] = bar.pending
    assert (row["pod"], "9" in row["reason"], row["reason"].startswith("team-a")) == ("team-a/big-0", True, False)
    before = session.sketch
    say(bar, type="open-pod", pod="team-a/big-0")
    answered(session)
    [drawn] = session.sketch.requests
    assert (drawn.exactly.device_class_name, drawn.exactly.count, session.answer.fits) == (AMD, 9, False)
    session.undo()
    assert session.sketch == before
    bar.close()
    session.close()


def test_a_cluster_without_pending_pods_has_no_strip(session):
    bar = ClusterBar(session)
    assert session.pending.wait(30)
    assert bar.pending == []
    bar.close()


GOLDEN = Path(__file__).parents[1] / "golden" / "inputs"


@pytest.fixture
def upgrading():
    """A bar over a session whose cluster is read as Kubernetes 1.34."""
    session = Session("sample:mig", sketch=read_sketch(GOLDEN / "mig-1g.yaml"), release="1.34")
    view = ClusterBar(session)
    yield view, session
    view.close()
    session.close()


def checked(view, seconds=60.0):
    """Wait until the check has an answer."""
    there = threading.Event()
    view.observe(lambda change: there.set() if change["new"].get("sentence") else None, "upgrade")
    if not view.upgrade.get("sentence"):
        there.wait(seconds)
    return view.upgrade


def test_the_menu_has_the_newer_releases(upgrading):
    view, session = upgrading
    assert view.upgrades[0] == ["1.35", "1.35"]
    assert view.upgrades[-1] == ["1.38", "1.38 (alpha)"]
    session.set_release("1.38")
    assert view.upgrades == []


def test_a_chosen_release_shows_the_answers_that_change(upgrading):
    """Partitions are used from 1.36; the drawing is checked as a manifest."""
    view, _ = upgrading
    say(view, type="check-upgrade", version="1.36.3")
    row = checked(view)
    assert row["sentence"] == "3 answers change from Kubernetes 1.34 to 1.36.3. Starts working: 3."
    subjects = [one["subject"] for one in row["changes"][0]["findings"]]
    assert subjects[0] == "pool gpu.nvidia.com/mig-a100"
    assert subjects[-1].startswith("workload Pod/")


def test_the_answer_is_old_once_the_drawing_changes(upgrading):
    view, session = upgrading
    say(view, type="check-upgrade", version="1.35")
    assert not checked(view).get("old")
    session.clear()
    assert view.upgrade["old"]
    session.set_release("1.36")
    assert view.upgrade == {}


def test_a_release_that_is_not_newer_is_refused_in_words(upgrading):
    view, _ = upgrading
    say(view, type="check-upgrade", version="1.34")
    assert "1.34 is not newer than 1.34" in view.problem
