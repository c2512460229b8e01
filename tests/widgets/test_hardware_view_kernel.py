"""HardwareView without a browser: the picture, the strip of nodes, and the Trace mode."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from msgspec.structs import replace
from widget_messages import answered, say, until

from dra_lab import HardwareView, Session, frame, load_cluster, read_sketch
from dra_lab.topology.locality import device_names


def test_the_picture_is_of_the_plans_node(session):
    view = HardwareView(session)
    assert view.node == session.answer.node
    assert view.svg.count('data-request="gpu"') == 2
    assert [item["fit"] for item in view.fleet["items"]].count("best") == 3


def test_a_click_looks_at_a_node_until_the_next_answer(session):
    view = HardwareView(session)
    other = session.cluster.node_names[-1]
    number = session.number
    say(view, type="node", name=other)
    assert (view.node, session.number, session.drawing.node) == (other, number, "")
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    answered(session)
    assert view.node == session.answer.node


def test_a_device_that_is_found_on_a_folded_root_is_drawn_and_marked():
    """A low pane folds the roots without GPUs; looking at a NIC there opens them."""
    pair = read_sketch("sample:oke-gb200/one-pair")
    with closing(Session("sample:oke-gb200", sketch=replace(pair, requests=pair.requests[:1], links=()))) as session:
        session.plan()
        view = HardwareView(session)
        view.height = 1
        nic = next(one for one in device_names(session.cluster, view.node) if one.driver == "dra.net")
        assert str(nic) not in view.svg
        session.look_at(view.node, str(nic))
        assert (view.looked, str(nic) in view.svg) == (str(nic), True)


def test_the_picture_of_a_refusal_is_of_the_node_that_it_names(session):
    view = HardwareView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert view.node == session.answer.shortfalls[0].node != session.cluster.node_names[0]


def test_a_pin_plans_on_that_node(session):
    view = HardwareView(session)
    node = session.answer.node
    say(view, type="pin", node=session.cluster.node_names[2])
    answered(session)
    assert view.pinned == session.answer.node == session.cluster.node_names[2]
    say(view, type="pin", node="")
    answered(session)
    assert (view.pinned, view.node) == ("", node)
    say(view, type="pin", node="nowhere")
    assert "nowhere" in view.problem


def test_the_kind_of_an_unknown_driver_is_set_and_its_profile_can_be_kept(tmp_path):
    """The guess is marked until a kind is set; the profile on the view is a file that gives the same kind."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "npu.acme.io", "nodeName": "n1", "pool": pool, "devices": [{"name": "npu-0"}]}
    slices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    (tmp_path / "slices.json").write_text(json.dumps(slices))
    with closing(Session(tmp_path / "slices.json")) as session:
        answered(session)
        view = HardwareView(session)
        assert [(row["kind"], row["guessed"]) for row in view.kinds] == [("gpu", True)]
        say(view, type="set-kind", driver="npu.acme.io", kind="nic")
        answered(session)
        assert [(row["kind"], row.get("guessed")) for row in view.kinds] == [("nic", None)]
        say(view, type="set-kind", driver="npu.acme.io", kind="fpga")
        assert "use one of gpu, nic" in view.problem
        (tmp_path / "own.yaml").write_text(view.kinds[0]["profile"])
    kept = load_cluster(tmp_path / "slices.json", drivers=tmp_path / "own.yaml")
    assert frame(kept).kind.tolist() == ["nic"]


def test_what_is_shown_redraws_the_picture(session):
    view = HardwareView(session)
    before = view.svg
    view.show = "plain"
    assert view.svg != before


def test_both_shows_what_differs_where_the_manifest_gives_the_best(session):
    """With this manifest kube-scheduler takes the best: what it takes without links lies over it, and is told."""
    view = HardwareView(session)
    assert {p.device for p in session.answer.first_fit.placements} == set(session.answer.chosen())
    view.show = "both"
    assert "dra-hw-only-k" in view.svg.split("dra-hw-legend")[0].split("</style>")[1]
    assert "only kube-scheduler without links" in view.svg
    assert view.caption.endswith("K: without links")
    view.show = "best"
    assert "K:" not in view.caption


def test_a_cluster_without_slices_is_an_empty_state_with_one_way_out(session):
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


def test_the_picture_is_laid_out_for_the_width_that_the_browser_has(session):
    view = HardwareView(session)
    view.width = 480
    assert ' width="480"' in view.svg
    view.width = 820
    assert ' width="820"' in view.svg


def test_the_strip_has_the_plans_node_first_and_those_that_do_not_fit_last(session):
    strip = HardwareView(session).fleet
    assert strip["items"][0]["id"] == strip["best"]
    assert [(item["label"], item["fit"], item.get("word", "")) for item in strip["items"]] == [
        ("128-17", "best", ""),
        ("140-52", "best", "idle"),
        ("149-201", "best", ""),
        ("158-9", "no", "full"),
    ]
    assert strip["items"][-1]["detail"] == "does not fit now; would if it were idle"


def test_the_nearest_node_of_a_misfit_comes_first_with_its_pairs(session):
    view = HardwareView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    words = [(item["label"], item["word"]) for item in view.fleet["items"]]
    assert words[:2] == [("140-52", "4 of 5 pairs"), ("128-17", "does not fit")]


def test_many_nodes_are_classes_with_a_heat_map_of_their_racks(session):
    """The strip has a row for each class, most nodes first, and a cell for each rack with a node to look at."""
    session.fleet.what_if(f"add 80={session.cluster.node_names[1]}")
    answered(session)
    strip = HardwareView(session).fleet
    counts = [item.get("nodes", 1) for item in strip["items"]]
    assert (strip["kind"], sum(counts), counts) == ("classes", 84, sorted(counts, reverse=True))
    assert all(cell["id"] in session.cluster.node_by_name for cell in strip["heat"]["cells"])


EKS = "sample:eks-p4d"
FULL = "ip-192-168-158-9.ec2.internal"


@pytest.fixture
def view():
    """A view in Trace mode on the shipped example."""
    session = Session(EKS)
    session.wait()
    shown = HardwareView(session)
    session.show_mode("trace")
    traced(shown)
    yield shown
    shown.close()
    session.close()


def traced(view) -> None:
    """Wait until the search is there and the step that was asked for is shown."""
    until(view, lambda: view.trace.get("total") and view.trace_now.get("step") == view.trace_step)


def device_of(view, name: str) -> str:
    """Return the id of a device of the shown node."""
    return f"gpu.nvidia.com/{view.node}/{name}"


def go(view, step: int) -> None:
    """Choose a step and wait until it is shown."""
    view.trace_step = step
    traced(view)


def test_the_mode_shows_the_first_step(view):
    assert (view.trace["total"], view.trace_now["step"]) == (87, 1)
    assert view.trace_now["held"] == ["A gpu: none yet, 2 needed", "B nic: none yet, 2 needed"]


def test_nothing_is_traced_in_another_mode():
    session = Session(EKS)
    session.wait()
    view = HardwareView(session)
    assert view.trace == {}
    view.close()
    session.close()


def test_a_step_shows_its_device_and_what_is_held(view):
    go(view, 11)
    assert view.trace_now["device"] == device_of(view, "gpu-3")
    marked = view.trace_svg.partition(f'data-id="{device_of(view, "gpu-3")}"')[2].partition(">")[0]
    assert 'data-request="gpu"' in marked
    assert [row["last"] for row in view.trace_now["rows"]] == [1, 2, 3, 7, 10, 11]


def test_what_the_planner_knows_is_said_of_the_latest_device(view):
    """gpu-3 has no free NIC on its PCIe root, which the search finds out only when it tries the NICs."""
    go(view, 11)
    assert view.trace_now["unseen"] == [
        "gpu-3 is on PCIe root pci0000:20. rdmap32s27 for nic is in use there, so it has no partner."
    ]


def test_an_attempt_that_was_given_back_is_folded_and_opens(view):
    """The row has all steps of the attempt, and the rows inside it reach from its first to its last step."""
    go(view, 40)
    row = next(row for row in view.trace_now["rows"] if row.get("opens"))
    say(view, type="open-trace-row", first=row["first"], last=row["last"])
    until(view, lambda: row["key"] in view.trace_inside)
    inside = view.trace_inside[row["key"]]
    assert (inside[0]["first"], inside[-1]["last"]) == (row["first"], row["last"])


def test_the_next_device_passes_over_rejected_ones(view):
    say(view, type="next-allocation")
    until(view, lambda: view.trace_step == 11)


def test_the_search_without_links_is_another_one(view):
    view.trace_links = False
    until(view, lambda: view.trace.get("total") == 20)


def test_another_node_is_traced(view):
    say(view, type="node", name=FULL)
    until(view, lambda: "finds no allocation" in view.trace.get("end", ""))


@pytest.mark.parametrize(
    ("picked", "score", "words"),
    [
        ("gpu-3", 1, "Right: kube-scheduler allocates gpu-3 to A1."),
        ("gpu-0", 0, "It rejects gpu-0: in use by training/llm-7b-0-devices-wslqm."),
        ("gpu-7", 0, "It takes the first device that passes all tests, and gpu-7 comes later."),
    ],
)
def test_a_prediction_is_compared_and_counted(view, picked, score, words):
    view.trace_predict = True
    say(view, type="predict", device=device_of(view, picked))
    until(view, lambda: view.trace_prediction.get("verdict") and view.trace_step == 11)
    found = view.trace_prediction
    assert (view.trace_step, found.get("score", 0), found["asked"]) == (11, score, 1)
    assert found["verdict"].endswith(words)
    assert found["question"] == "Which device does kube-scheduler allocate next to A1?"


def test_a_step_of_a_long_search_is_a_small_message():
    session = Session(EKS, sketch=read_sketch(f"{EKS}/five-pairs"))
    session.wait()
    view = HardwareView(session)
    say(view, type="node", name="ip-192-168-140-52.ec2.internal")
    session.show_mode("trace")
    traced(view)
    go(view, 40_000)
    assert view.trace_now["step"] == 40_000
    assert len(json.dumps(view.trace_now)) + len(view.trace_svg) < 100_000
    view.close()
    session.close()
