"""What the bar opens: samples, files that arrive in pieces, claims of pods, plan files and pages of plans."""

from __future__ import annotations

import dataclasses

import pytest
from small_manifests import claim, request
from widget_messages import answered, say, upload

from dra_lab import ClusterBar, Lab, load_cluster, read_sketch
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.layers import Layer
from dra_lab.model.sketch import Drawing, Kept, PodDrawing
from dra_lab.sources.archives import archive_bytes
from dra_lab.sources.snapshots import make_snapshot
from dra_lab.widgets.cluster_opening import MAX_UPLOAD_BYTES


def test_files_arrive_in_pieces(session):
    bar = ClusterBar(session)
    data = archive_bytes(make_snapshot(load_cluster("sample:mig")).files)
    say(bar, type="upload", number=1, files=[{"name": "mig.tgz", "size": len(data)}])
    seen = []
    for at in range(0, len(data), 1000):
        say(bar, [memoryview(data[at : at + 1000])], type="piece", number=1)
        seen.append(bar.uploaded)
    assert bar.loading.wait()
    assert (bar.source, seen[-1], seen == sorted(seen)) == ("mig.tgz", len(data), True)


def test_a_source_that_cannot_be_read_is_reported_and_the_present_one_stays(session):
    bar = ClusterBar(session)
    say(bar, type="load", source="/nowhere/x.json")
    assert bar.loading.wait()
    assert "/nowhere/x.json" in bar.refused
    assert bar.source == "sample:eks-p4d"
    say(bar, type="dismiss-problem")
    assert bar.refused == ""


def test_files_that_are_too_large_are_refused_before_they_are_sent(session):
    bar = ClusterBar(session)
    say(bar, type="upload", number=1, files=[{"name": "a.json", "size": MAX_UPLOAD_BYTES + 1}])
    assert "give its path" in bar.refused


POD = """apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  resourceClaims: [{name: a, resourceClaimName: first}, {name: b, resourceClaimName: second}]
  containers: [{name: main, image: x}]
"""


CLAIMS = "".join(claim(name, request("one", "gpu.nvidia.com", "count: 1")) for name in ("first", "second"))


def test_an_example_that_there_is_not_is_refused_with_the_known_ones(session):
    bar = ClusterBar(session)
    say(bar, type="load", source="sample:dgx-h100/nothing")
    assert "gpu-nic-cpu" in bar.refused


def test_claims_without_a_pod_are_offered_until_one_of_them_is_opened(session):
    bar = ClusterBar(session)
    before = session.sketch
    upload(bar, "pod.yaml", CLAIMS)
    assert [label for label, _ in bar.offer["options"]] == ["first", "second", "All 2 claims as one pod"]
    assert session.sketch is before
    say(bar, type="open-drawing", number=1)
    assert (session.sketch.name, bar.offer) == ("second", {})


def test_a_pod_whose_claims_are_elsewhere_says_which_are_missing(session):
    bar = ClusterBar(session)
    upload(bar, "pod.yaml", POD)
    assert "uses the ResourceClaim first, which is not in pod.yaml" in bar.refused


PAIRS = read_sketch("sample:eks-p4d/gpu-nic-pairs")


def plan_file(**fields) -> Drawing:
    """Return a drawing with settings of its own."""
    return Drawing(sketch=PAIRS, **fields)


def opened(bar, session, drawing: Drawing, name: str = "other.dralab.yaml") -> None:
    """Drop a plan file, and wait for its cluster and its answer."""
    upload(bar, name, encode_drawing(drawing))
    assert bar.loading.wait()
    answered(session)


def test_a_plan_file_opens_with_all_that_it_says(session):
    node = session.cluster.node_names[1]
    drawing = plan_file(
        cluster=session.cluster.name,
        node=node,
        release="1.37",
        goals=("roots",),
        layers=(Layer(change="drain", subject=session.cluster.node_names[0]),),
        workloads=(PodDrawing(pod="train", claims=(PAIRS,), replicas=2),),
        kept=(Kept(name="first", sketch=PAIRS),),
        measured={"numa": (40.0, 20.0)},
        view={"mode": "fleet"},
    )
    opened(ClusterBar(session), session, drawing)
    assert session.drawing == drawing
    assert (session.mode, session.answer.node, session.release.version) == ("fleet", node, "1.37.1")


def test_a_plan_file_of_a_running_cluster_says_what_to_load(session):
    """The cluster is not asked without the person; the drawing is planned on the one that is loaded."""
    bar = ClusterBar(session)
    opened(bar, session, plan_file(cluster="context:prod", goals=("roots",)))
    assert (session.cluster.name, session.drawing.goals) == ("sample:eks-p4d", ("roots",))
    assert "Load context:prod to see the same answer" in bar.refused


def test_a_pinned_node_that_is_not_there_is_said(session):
    """No answer is given for another node than the one that the file names."""
    opened(ClusterBar(session), session, plan_file(node="nowhere"))
    assert "The plan file pins a node" in session.problem


def test_plans_that_are_kept_stay_when_a_plan_file_without_any_is_opened(session):
    session.comparing.keep(session.plan(), "mine")
    opened(ClusterBar(session), session, plan_file())
    assert [kept.name for kept in session.comparing.plans] == ["mine"]


@pytest.mark.parametrize("name", ["sample:dgx-h100", "context:prod"])
def test_the_page_of_a_plan_opens_as_that_plan(session, name, tmp_path):
    """A shipped cluster is loaded by its name; another one is in the page, under the name of the file."""
    cluster = dataclasses.replace(load_cluster("sample:dgx-h100"), name=name)
    lab = Lab(cluster, "sample:dgx-h100/gpu-nic-cpu", file=None)
    devices = [one.device for one in lab.plan().placements]
    page = lab.draw(tmp_path / "plan.html").read_text(encoding="utf-8")
    lab.close()
    bar = ClusterBar(session)
    upload(bar, "plan.html", page)
    assert bar.loading.wait()
    answered(session)
    assert (session.cluster.name, bar.refused) == (name.replace("context:prod", "prod (from plan.html)"), "")
    assert [one.device for one in session.answer.placements] == devices


def test_a_page_whose_drawing_is_broken_changes_nothing(session, tmp_path):
    bar = ClusterBar(session)
    before = session.sketch
    page = Lab(session=session).draw(tmp_path / "page.html").read_text(encoding="utf-8")
    upload(bar, "plan.html", page.replace("kind: Drawing", "kind: Nothing"))
    assert "plan.html" in bar.refused
    assert session.sketch == before
