"""How ClusterBar loads clusters, without a browser: in a thread, in pieces, from contexts, with an end to it."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from ipywidgets import Widget
from widget_messages import say

from dra_lab.errors import SourceError
from dra_lab.session import Session
from dra_lab.sources import load_cluster
from dra_lab.sources.archives import archive_bytes
from dra_lab.sources.live import Read
from dra_lab.sources.snapshots import make_snapshot
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.cluster_loading import Loading, progress_words
from dra_lab.widgets.cluster_rows import detail_rows
from dra_lab.widgets.messages import FileSize
from dra_lab.widgets.uploads import MAX_UPLOAD_BYTES, Upload

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


@pytest.fixture
def session():
    made = Session("sample:two-sockets")
    made.plan()
    yield made
    made.close()
    Widget.close_all()


def test_files_arrive_in_pieces(session):
    """A snapshot's archive, cut anywhere, is put together again and read."""
    bar = ClusterBar(session)
    data = archive_bytes(make_snapshot(load_cluster("sample:mig")).files)
    say(bar, type="upload", number=1, files=[{"name": "mig.tgz", "size": len(data)}])
    seen = []
    for at in range(0, len(data), 1000):
        say(bar, [memoryview(data[at : at + 1000])], type="piece", number=1)
        seen.append(bar.uploaded)
    assert bar.loading.wait()
    assert (bar.source, seen[-1], seen == sorted(seen)) == ("mig.tgz", len(data), True)


def test_pieces_of_a_drop_that_was_given_up_are_passed_over(session):
    """They may still be on their way when another drop begins."""
    bar = ClusterBar(session)
    say(bar, type="upload", number=1, files=[{"name": "a.json", "size": 10}])
    say(bar, type="upload", number=2, files=[{"name": "b.json", "size": 10}])
    say(bar, [b"x" * 10], type="piece", number=1)
    assert bar.uploaded == 0
    say(bar, type="cancel")
    say(bar, [b"x" * 10], type="piece", number=2)
    assert (bar.uploaded, bar.refused) == (0, "")


def test_files_that_are_too_large_are_refused_before_they_are_sent(session):
    """With the limit, and what to do instead."""
    bar = ClusterBar(session)
    say(bar, type="upload", number=1, files=[{"name": "a.json", "size": MAX_UPLOAD_BYTES + 1}])
    assert "give its path" in bar.refused


def test_more_than_was_announced_is_refused():
    """Memory is taken for what was announced, and for nothing else."""
    upload = Upload(1, [FileSize("a", 3)])
    with pytest.raises(SourceError, match="more than it announced"):
        upload.add(b"1234")


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


def test_a_kubeconfig_that_is_broken_is_reported(session, tmp_path, monkeypatch):
    """The samples stay on offer."""
    (tmp_path / "config").write_text("{", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    bar = ClusterBar(session)
    say(bar, type="sources")
    assert "cannot be read" in bar.problem
    assert bar.sources


def test_what_was_read_is_reported_line_by_line(session):
    """Counts of every kind, when, and as whom."""
    cluster = dataclasses.replace(session.cluster, read_at="2026-10-01T12:00:00+00:00", read_as="alice")
    found = {row.label: row.value for row in detail_rows(cluster, "2 nodes")}
    assert found["Read"].startswith("2 nodes, 6 ResourceSlices, ")
    assert "DeviceClasses" in found["Read"]
    assert found["At"].startswith("2026-10-01")
    assert found["As"] == "alice"


def test_racks_and_switches_of_the_cluster_are_reported(session):
    """The hierarchies stand below what was read, once the devices are counted."""
    session.load(load_cluster("sample:dgx-h100"))
    bar = ClusterBar(session)
    found = {row["label"]: row["value"] for row in bar.details}
    assert found["Topology"] == "1 zone · 1 spine · 2 leaf switches of 4 nodes"


def test_only_a_running_cluster_has_a_switch_to_follow_it(session):
    """Files and samples do not change by themselves."""
    bar = ClusterBar(session)
    assert bar.follow == {}
    session.load(dataclasses.replace(session.cluster, name="context:prod"))
    assert bar.follow == {"state": "off"}


class Reported:
    """What a Loading tells."""

    def __init__(self):
        self.words, self.clusters, self.problems = [], [], []
        self.loading = Loading(lambda call: call(), self.words.append, self.clusters.append, self.problems.append)


def test_a_reading_that_is_given_up_leaves_nothing(session):
    """It is told to stop, and what it brings all the same is passed over."""
    reports, began, ended = Reported(), threading.Event(), threading.Event()

    def slow(stop, _progress):
        began.set()
        ended.wait(10)
        return session.cluster if stop.is_set() else None

    reports.loading.begin("Reading ...", slow)
    assert began.wait(10)
    reports.loading.cancel()
    ended.set()
    assert reports.loading.wait()
    assert (reports.words, reports.clusters, reports.problems) == (["Reading ...", ""], [], [])


def test_the_latest_reading_wins(session):
    """An earlier one that ends later changes nothing."""
    reports, ended = Reported(), threading.Event()
    other = dataclasses.replace(session.cluster, name="late")
    reports.loading.begin("first", lambda _stop, _progress: (ended.wait(10), other)[1])
    reports.loading.begin("second", lambda _stop, _progress: session.cluster)
    ended.set()
    assert reports.loading.wait()
    assert [cluster.name for cluster in reports.clusters] == ["sample:two-sockets"]


def test_a_defect_in_a_reading_is_reported():
    """A wait for a thread that has ended ends too."""
    reports = Reported()
    reports.loading.begin("Reading ...", lambda _stop, _progress: 1 / 0)
    assert reports.loading.wait()
    assert "defect of dra_lab: ZeroDivisionError" in reports.problems[0]
    assert reports.words[-1] == ""


def test_progress_is_reported_in_words():
    """Counts by kind, and about how many there are where the server says it."""
    counts = (Read("Node", 5000, 5000), Read("ResourceSlice", 1500, 15000), Read("Pod"))
    assert progress_words(counts) == "5,000 Node, 1,500 of about 15,000 ResourceSlice"
