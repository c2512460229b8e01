"""Captured clusters: what goes into a snapshot, what never does, and that it is the same cluster when read back."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from checked_plans import checked_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed
from random_documents import documents
from topology_texts import SERVER

from dra_lab.cli import main
from dra_lab.errors import ExportError, ManifestError, SourceError
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.samples import samples
from dra_lab.sources.snapshot_info import OLD_DAYS
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from dra_lab.topology.locality import localities

SAMPLES = [sample.name for sample in samples()]
EXAMPLES = [f"{sample.name}/{example}" for sample in samples() for example in sample.examples]


def captured(cluster: Cluster, out: Path) -> Cluster:
    write_snapshot(make_snapshot(cluster), out)
    return load_cluster(out)


@pytest.mark.some(4)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_captured_sample_is_captured_again_byte_for_byte(name, tmp_path):
    """Capturing a snapshot that was read gives the same files as capturing the cluster itself."""
    cluster = load_cluster(f"sample:{name}")
    first = make_snapshot(cluster)
    again = make_snapshot(captured(cluster, tmp_path / "out"))
    objects = {file: content for file, content in first.files.items() if file != "snapshot.json"}
    assert {file: again.files[file] for file in objects} == objects
    assert again.info.counts == first.info.counts


@pytest.mark.some(2)
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_snapshot_gives_the_same_plan(example, tmp_path):
    """Every example of every sample is planned alike on the sample and on its snapshot."""
    name = f"sample:{example.split('/')[0]}"
    cluster, sketch = load_cluster(name), read_sketch(f"sample:{example}")
    release = KubernetesRelease(cluster.default_release)
    read = replace(captured(cluster, tmp_path / "c.tgz"), name=name)
    assert answer(checked_plan(read, sketch, release=release)) == answer(checked_plan(cluster, sketch, release=release))


def answer(plan):
    return (plan.status, plan.node, plan.placements, plan.goals, plan.shortfalls, plan.node_classes, plan.first_fit)


@settings(max_examples=15, deadline=None)
@given(st.lists(documents("ResourceSlice"), min_size=1, max_size=3), st.lists(documents("ResourceClaim"), max_size=2))
def test_random_slices_and_claims_are_read_back_as_they_were(tmp_path_factory, slices, claims):
    """Whatever the API can say of a slice, and of a claim apart from configuration and status of devices, is kept."""
    named = [item | {"metadata": {"name": f"o{index}"}} for index, item in enumerate([*slices, *claims])]
    try:
        cluster = load_texts({"c.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": named})})
    except SourceError:
        return  # nothing that can be used was drawn
    read = captured(cluster, tmp_path_factory.mktemp("random") / "out")
    assert read.slices == cluster.slices
    assert [c.spec.devices.requests for c in read.claims] == [c.spec.devices.requests for c in cluster.claims]
    assert read.allocated == cluster.allocated


OPAQUE = {"opaque": {"driver": "d", "parameters": {"password": "x"}}}
API = "resource.k8s.io/v1"
RESULT = {"request": "r", "driver": "d", "pool": "node-1", "device": "gpu-0"}
SLICE = {
    "apiVersion": API,
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    },
}
ITEMS = (
    SLICE,
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"zone": "a"}, "annotations": {"a": "x"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.1"}},
    },
    {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": "k"},
        "spec": {"selectors": [{"cel": {"expression": "true"}}], "config": [OPAQUE]},
    },
    {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
        "status": {"allocation": {"devices": {"results": [RESULT]}}},
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]},
    },
)


def listed() -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS})


def small() -> Cluster:
    """A cluster of one node, whose device a pod uses."""
    return load_texts({"c.json": listed()})


def test_a_snapshot_under_pseudonyms_says_what_was_left_out(tmp_path, capsys):
    """The same as one under the real names: what was gone before names were replaced counts too."""
    (tmp_path / "c.json").write_text(listed())
    left_out = []
    for number, option in enumerate(([], ["--anonymise"])):
        assert main(["capture", str(tmp_path / "c.json"), str(tmp_path / f"out{number}"), *option]) == 0
        left_out.append([line for line in capsys.readouterr().out.splitlines() if "Left out: " in line])
    assert left_out[0] == left_out[1] != []


def test_what_planning_needs_stays(tmp_path):
    """Labels, taints and kubelet versions of nodes, claims with what they hold, pods with what they use."""
    cluster = captured(small(), tmp_path / "out")
    node, pod = cluster.nodes[0], cluster.pods[0]
    assert (node.metadata.labels, node.status.node_info.kubelet_version) == ({"zone": "a"}, "v1.36.1")
    assert node.spec.taints == ({"key": "k", "effect": "NoSchedule"},)
    assert [str(device) for device in cluster.allocated.exclusive] == ["d/node-1/gpu-0"]
    assert (pod.spec.node_name, [one.resource_claim_name for one in pod.spec.resource_claims]) == ("node-1", ["c"])


def test_the_time_of_the_capture_is_that_of_the_snapshot(tmp_path):
    """Not the time of reading the files: what is free is as old as the capture."""
    cluster = replace(small(), read_at="2026-10-01T12:00:00+00:00")
    assert captured(cluster, tmp_path / "out").read_at == "2026-10-01T12:00:00+00:00"


@pytest.mark.parametrize(("days", "expected"), [(OLD_DAYS, False), (OLD_DAYS + 1, True)])
def test_an_old_snapshot_is_reported(tmp_path, days, expected):
    """A snapshot that is more than 30 days old may be out of date."""
    moment = datetime.now().astimezone() - timedelta(days=days, hours=1)
    cluster = replace(small(), read_at=moment.isoformat(timespec="seconds"))
    rules = [finding.rule for finding in captured(cluster, tmp_path / "out").findings]
    assert ("snapshot-old" in rules) is expected


def test_an_old_file_is_reported_by_the_day_on_which_it_was_changed(tmp_path):
    """A dump of kubectl says nothing of its time, so its file's counts."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(SLICE), encoding="utf-8")
    os.utime(path, (0, 86400 * 365))
    assert "1971-01-01" in next(f.message for f in load_cluster(path).findings if f.rule == "snapshot-old")


def test_what_could_not_be_read_then_is_unknown_now(tmp_path):
    """A cluster whose claims were not read is captured as one whose devices in use are unknown."""
    cluster = load_texts({"c.json": json.dumps(SLICE)})
    read = captured(cluster, tmp_path / "out")
    assert read.claims_known is False
    assert [f.rule for f in read.findings] == ["claims-missing"]


def test_objects_that_are_gone_from_a_snapshot_are_reported(tmp_path):
    """The description counts every kind, so a file that was lost or cut is noticed."""
    write_snapshot(make_snapshot(small()), tmp_path / "out")
    (tmp_path / "out" / "resourceclaims.json").unlink()
    assert "snapshot-incomplete" in {finding.rule for finding in load_cluster(tmp_path / "out").findings}


@pytest.mark.parametrize("broken", [{"formatVersion": 2}, {"capturedAt": "yesterday"}, {"counts": 3}])
def test_a_description_that_cannot_be_read_is_refused(tmp_path, broken):
    """A later format or a broken description is an error with the file, and nothing is guessed."""
    write_snapshot(make_snapshot(small()), tmp_path / "out")
    file = tmp_path / "out" / "snapshot.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | broken), encoding="utf-8")
    with pytest.raises(ManifestError, match=r"snapshot\.json"):
        load_cluster(tmp_path / "out")


def test_a_capture_replaces_a_snapshot_and_nothing_else(tmp_path):
    """What is there already stays as it is unless it is a snapshot."""
    snapshot = make_snapshot(small())
    folder, file = tmp_path / "mine", tmp_path / "mine.tgz"
    folder.mkdir()
    (folder / "notes.txt").write_text("keep me")
    file.write_text("keep me")
    for out in (folder, file):
        with pytest.raises(ExportError, match="nothing is written"):
            write_snapshot(snapshot, out)
    assert ((folder / "notes.txt").read_text(), file.read_text()) == ("keep me", "keep me")
    write_snapshot(snapshot, tmp_path / "out")
    write_snapshot(make_snapshot(load_cluster("sample:mig")), tmp_path / "out")
    assert len(load_cluster(tmp_path / "out").nodes) == 1


def test_a_place_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ExportError, match="out' cannot be written"):
        write_snapshot(make_snapshot(small()), tmp_path / "file" / "out")


def test_a_capture_that_breaks_leaves_what_was_there(tmp_path):
    """An interruption while the new folder is written keeps the old one whole, and nothing half written beside it."""
    write_snapshot(make_snapshot(small()), tmp_path / "out")
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    snapshot = make_snapshot(load_cluster("sample:mig"))
    broken = changed(snapshot, files={**snapshot.files, "no/such/folder.json": b""})
    with pytest.raises(ExportError):
        write_snapshot(broken, tmp_path / "out")
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def _made(folder):
    (folder / "dgx.xml").write_bytes(SERVER)
    return load_cluster(f"topo:{folder / 'dgx.xml'}*3")


def _places(cluster):
    """Return, node by node and device by device in order, the places of every level and whether they are derived."""
    levels = ("switch", "pcieRoot", "numaNode", "socket")
    return [
        [[(p.value, p.derived) if (p := place.place(level)) else None for level in levels] for place in here.values()]
        for here in (localities(cluster, node) for node in cluster.node_names)
    ]


def test_what_a_file_said_is_read_back(tmp_path):
    """A captured cluster knows the same places, from the same lines of the same file."""
    cluster = _made(tmp_path)
    write_snapshot(make_snapshot(cluster), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    sources = [{o.source for o in c.file_places.values()} for c in (cluster, again)]
    assert sources[0] == sources[1]


def test_under_pseudonyms_the_places_stay_and_the_name_of_the_file_goes(tmp_path):
    """The plan needs the places; the name of a person's file is private."""
    cluster = _made(tmp_path)
    hidden = anonymise(cluster)
    write_snapshot(make_snapshot(hidden.cluster, replaced=hidden.counts), tmp_path / "out")
    again = load_cluster(tmp_path / "out")
    assert _places(again) == _places(cluster)
    assert "dgx.xml" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def everything(path):
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(path.iterdir()))


def test_a_context_is_captured_and_read_back_as_it_was(server, config, tmp_path):
    """Slices, selectors of classes, what claims hold, pods that use them, and when all of it was read."""
    live = load_cluster("context:test")
    assert main(["capture", "context:test", str(tmp_path / "out")]) == 0
    read = load_cluster(tmp_path / "out")
    assert [s.spec for s in read.slices] == [s.spec for s in live.slices]
    assert [c.spec.selectors for c in read.classes] == [c.spec.selectors for c in live.classes]
    assert (read.allocated, read.claims_known) == (live.allocated, live.claims_known)
    assert [pod.spec.resource_claims for pod in read.pods] == [pod.spec.resource_claims for pod in live.pods]
    assert read.read_at[:16] >= live.read_at[:16]


def test_neither_credentials_nor_server_are_in_a_snapshot(server, config, tmp_path):
    """Only the name of the context is, and under pseudonyms not even that."""
    assert main(["capture", "context:test", str(tmp_path / "plain")]) == 0
    assert main(["capture", "context:test", str(tmp_path / "hidden"), "--anonymise"]) == 0
    plain, hidden = everything(tmp_path / "plain"), everything(tmp_path / "hidden")
    for secret in ("good-token", server.url, "test-user"):
        assert secret not in plain
        assert secret not in hidden
    assert '"context:test"' in plain
    assert '"context:test"' not in hidden
    names = {node.name for node in load_cluster("context:test").nodes}
    assert not [name for name in names if name in hidden]
