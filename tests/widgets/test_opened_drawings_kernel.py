"""ClusterBar without a browser: samples' examples, claims and pods that open as a drawing."""

from __future__ import annotations

from widget_messages import answered, say

from dra_lab.widgets.cluster_bar import ClusterBar

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: NAME}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  resourceClaims: [{name: a, resourceClaimName: first}, {name: b, resourceClaimName: second}]
  containers: [{name: main, image: x}]
"""
BOTH = "---\n".join((POD, CLAIM.replace("NAME", "first"), CLAIM.replace("NAME", "second")))


def drop(bar: ClusterBar, text: str) -> None:
    say(bar, type="upload", number=1, files=[{"name": "pod.yaml", "size": len(text)}])
    say(bar, type="piece", number=1, buffers=[text.encode()])


def test_an_example_of_a_sample_opens_with_its_cluster_in_one_undo_step(session):
    bar = ClusterBar(session)
    before = session.sketch
    say(bar, type="load", source="sample:dgx-h100/gpu-nic-cpu")
    assert bar.loading.wait()
    answered(session)
    assert (session.cluster.name, len(session.sketch.requests)) == ("sample:dgx-h100", 3)
    session.undo()
    assert (session.cluster.name, session.sketch) == ("sample:eks-p4d", before)


def test_every_example_is_listed_under_its_sample(session):
    rows = ClusterBar(session).sources
    values = [row["value"] for row in rows]
    at = values.index("sample:dgx-h100")
    assert (values[at + 1], rows[at + 1]["example"]) == ("sample:dgx-h100/gpu-nic-cpu", True)


def test_an_example_that_there_is_not_is_refused_with_the_known_ones(session):
    bar = ClusterBar(session)
    say(bar, type="load", source="sample:dgx-h100/nothing")
    assert "gpu-nic-cpu" in bar.refused


def test_a_dropped_pod_of_two_claims_offers_each(session):
    bar = ClusterBar(session)
    before = session.sketch
    drop(bar, BOTH)
    assert [row["label"] for row in bar.offer["options"]] == ["Pod trainer: claim a", "Pod trainer: claim b"]
    assert session.sketch is before


def test_an_offered_drawing_is_opened_and_the_offer_ends(session):
    bar = ClusterBar(session)
    drop(bar, BOTH)
    say(bar, type="open-drawing", number=1)
    assert (session.sketch.name, bar.offer) == ("second", {})


def test_the_path_of_a_claim_is_offered_as_a_drawing(session, tmp_path):
    (tmp_path / "claim.yaml").write_text(CLAIM.replace("NAME", "mine"))
    bar = ClusterBar(session)
    say(bar, type="load", source=str(tmp_path / "claim.yaml"))
    assert bar.offer["text"].endswith("claim.yaml holds no cluster. It holds 1 drawing.")


def test_a_pod_whose_claims_are_elsewhere_says_which_are_missing(session):
    bar = ClusterBar(session)
    drop(bar, POD)
    assert "uses the ResourceClaim first, which is not in pod.yaml" in bar.refused
