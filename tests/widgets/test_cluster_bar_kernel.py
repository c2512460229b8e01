"""ClusterBar without a browser: what it says of the cluster, and what is loaded, dropped and opened with it."""

from __future__ import annotations

import dataclasses

import pytest
from widget_messages import answered, say, upload

from dra_lab import ClaimSketch, ClusterBar, Lab, Session, load_cluster, read_sketch
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.layers import Layer
from dra_lab.model.sketch import Drawing, Kept, PodDrawing
from dra_lab.sources.archives import archive_bytes
from dra_lab.sources.snapshots import make_snapshot
from dra_lab.widgets.cluster_opening import MAX_UPLOAD_BYTES
from dra_lab.widgets.cluster_rows import MOST_NODES

FULL, FREE = "ip-192-168-158-9.ec2.internal", "ip-192-168-140-52.ec2.internal"


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


def test_start_empty_clears_the_drawing_as_one_step(session):
    """`start-empty` leaves an empty drawing that undo brings back."""
    bar = ClusterBar(session)
    say(bar, type="start-empty")
    assert session.sketch.requests == ()
    assert bar.example is False
    assert session.undo()
    assert session.sketch.requests


def test_the_release_is_chosen_by_message_and_a_wrong_one_is_refused(session):
    """A known release is planned for; an unknown one is reported as a problem."""
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


def test_the_meters_count_what_is_free(session):
    """GPUs and NICs, in all and on each node."""
    bar = ClusterBar(session)
    assert [(row["label"], row["text"]) for row in bar.meters] == [("GPUs", "18 of 32 free"), ("NICs", "21 of 28 free")]
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


def test_files_that_are_too_large_are_refused_before_they_are_sent(session):
    """With the limit, and what to do instead."""
    bar = ClusterBar(session)
    say(bar, type="upload", number=1, files=[{"name": "a.json", "size": MAX_UPLOAD_BYTES + 1}])
    assert "give its path" in bar.refused


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
    """The hierarchies stand below what was read, once the devices are counted."""
    session.load(load_cluster("sample:dgx-h100"))
    bar = ClusterBar(session)
    assert dict(bar.details)["Topology"] == "1 zone · 1 spine · 2 leaf switches of 4 nodes"


def test_only_a_running_cluster_has_a_switch_to_follow_it(session):
    """Files and samples do not change by themselves."""
    bar = ClusterBar(session)
    assert bar.follow == {}
    session.load(dataclasses.replace(session.cluster, name="context:prod"))
    assert bar.follow == {"state": "off", "reason": ""}


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


def test_an_example_of_a_sample_opens_with_its_cluster_in_one_undo_step(session):
    bar = ClusterBar(session)
    before = session.sketch
    say(bar, type="load", source="sample:dgx-h100/gpu-nic-cpu")
    assert bar.loading.wait()
    answered(session)
    assert (session.cluster.name, len(session.sketch.requests)) == ("sample:dgx-h100", 3)
    session.undo()
    assert (session.cluster.name, session.sketch) == ("sample:eks-p4d", before)


def test_an_example_that_there_is_not_is_refused_with_the_known_ones(session):
    bar = ClusterBar(session)
    say(bar, type="load", source="sample:dgx-h100/nothing")
    assert "gpu-nic-cpu" in bar.refused


def test_a_dropped_pod_of_two_claims_opens_as_one_drawing(session):
    """Its claims are allocated together."""
    upload(ClusterBar(session), "pod.yaml", BOTH)
    assert (session.sketch.name, session.sketch.claims) == ("trainer", ("a", "b"))


def test_claims_without_a_pod_are_offered_one_by_one_and_together(session):
    """Which of them a pod uses is not said in the file."""
    bar = ClusterBar(session)
    before = session.sketch
    upload(bar, "pod.yaml", CLAIMS)
    assert [label for label, _ in bar.offer["options"]] == ["first", "second", "All 2 claims as one pod"]
    assert session.sketch is before


def test_an_offered_drawing_is_opened_and_the_offer_ends(session):
    bar = ClusterBar(session)
    upload(bar, "pod.yaml", CLAIMS)
    say(bar, type="open-drawing", number=1)
    assert (session.sketch.name, bar.offer) == ("second", {})


def test_a_pod_whose_claims_are_elsewhere_says_which_are_missing(session):
    bar = ClusterBar(session)
    upload(bar, "pod.yaml", POD)
    assert "uses the ResourceClaim first, which is not in pod.yaml" in bar.refused


DGX = "sample:dgx-h100"
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
    assert (session.mode, session.answer.node, session.release.version) == ("fleet", node, "1.37.1")


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
    """The problem names the file."""
    bar = ClusterBar(session)
    before = session.sketch
    page = Lab(session=session).draw(tmp_path / "page.html").read_text(encoding="utf-8")
    upload(bar, "plan.html", page.replace("kind: Drawing", "kind: Nothing"))
    assert "plan.html" in bar.refused
    assert session.sketch == before


def test_what_if_changes_are_told_in_every_mode_and_undone_by_one_click(session):
    """The bar names them, and takes the last one back."""
    bar = ClusterBar(session)
    node, other = session.cluster.node_names[:2]
    session.fleet.what_if(f"drain {node}", f"drain {other}")
    assert bar.what_if == [f"Drain {node}", f"Drain {other}"]
    say(bar, type="undo-what-if")
    assert bar.what_if == [f"Drain {node}"]
    bar.close()
