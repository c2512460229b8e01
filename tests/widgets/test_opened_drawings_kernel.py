"""ClusterBar without a browser: samples' examples, claims and pods that open as a drawing."""

from __future__ import annotations

from widget_messages import answered, say

from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.layers import Layer
from dra_lab.model.sketch import Drawing, Kept, PodDrawing
from dra_lab.session import read_sketch
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
CLAIMS = "---\n".join((CLAIM.replace("NAME", "first"), CLAIM.replace("NAME", "second")))
BOTH = f"{POD}---\n{CLAIMS}"


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


def test_a_dropped_pod_of_two_claims_opens_as_one_drawing(session):
    """Its claims are allocated together."""
    drop(ClusterBar(session), BOTH)
    assert (session.sketch.name, session.sketch.claims) == ("trainer", ("a", "b"))


def test_claims_without_a_pod_are_offered_one_by_one_and_together(session):
    """Which of them a pod uses is not said in the file."""
    bar = ClusterBar(session)
    before = session.sketch
    drop(bar, CLAIMS)
    assert [row["label"] for row in bar.offer["options"]] == ["first", "second", "All 2 claims as one pod"]
    assert session.sketch is before


def test_an_offered_drawing_is_opened_and_the_offer_ends(session):
    bar = ClusterBar(session)
    drop(bar, CLAIMS)
    say(bar, type="open-drawing", number=1)
    assert (session.sketch.name, bar.offer) == ("second", {})


def test_the_path_of_a_claim_is_offered_as_a_drawing(session, tmp_path):
    (tmp_path / "claim.yaml").write_text(CLAIM.replace("NAME", "mine"))
    bar = ClusterBar(session)
    say(bar, type="load", source=str(tmp_path / "claim.yaml"))
    assert bar.offer["text"].endswith("claim.yaml contains no cluster. It contains 1 drawing.")


def test_a_pod_whose_claims_are_elsewhere_says_which_are_missing(session):
    bar = ClusterBar(session)
    drop(bar, POD)
    assert "uses the ResourceClaim first, which is not in pod.yaml" in bar.refused


DGX = "sample:dgx-h100"
PAIRS = read_sketch("sample:eks-p4d/gpu-nic-pairs")


def plan_file(**fields) -> Drawing:
    """Return a drawing with settings of its own."""
    return Drawing(sketch=PAIRS, **fields)


def opened(bar, session, drawing: Drawing, name: str = "other.dralab.yaml") -> None:
    """Drop a plan file, and wait for its cluster and its answer."""
    text = encode_drawing(drawing)
    say(bar, type="upload", number=1, files=[{"name": name, "size": len(text)}])
    say(bar, type="piece", number=1, buffers=[text.encode()])
    assert bar.loading.wait()
    answered(session)


def test_a_plan_file_opens_with_all_that_it_says(session):
    """Node, release, goals, what-if changes, workloads, kept plans, bandwidths and mode are those of the file."""
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
    assert (session.mode, session.answer.node, session.release.version) == ("fleet", node, "1.37")


def test_one_undo_brings_back_all_that_was_there_before_a_plan_file(session):
    """The settings come back with the drawing and the cluster."""
    session.set_release("1.35")
    session.order_goals(("roots",))
    before = session.drawing
    opened(ClusterBar(session), session, plan_file(cluster=DGX, release="1.37"))
    session.undo()
    assert session.drawing == before
    assert session.cluster.name == "sample:eks-p4d"


def test_a_plan_file_of_another_sample_opens_on_it(session):
    bar = ClusterBar(session)
    opened(bar, session, plan_file(cluster=DGX))
    assert (session.cluster.name, bar.refused) == (DGX, "")


def test_a_plan_file_of_a_file_that_is_there_opens_on_it(session, tmp_path):
    path = tmp_path / "slices.yaml"
    path.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: only}\n")
    opened(ClusterBar(session), session, plan_file(cluster=str(path)))
    assert session.cluster.node_names == ("only",)


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
    """They can be compared with that of the file."""
    session.comparing.keep(session.plan(), "mine")
    opened(ClusterBar(session), session, plan_file())
    assert [kept.name for kept in session.comparing.plans] == ["mine"]
