"""Gangs in the Fleet mode, in the kernel: messages that make and change them, and what the browser is told."""

import pytest
from ipywidgets import Widget
from widget_messages import fleet_answered, say

from dra_lab import PlanView, Session, read_sketch
from dra_lab.model.sketch import GangDrawing

POD = "eight-pairs"


@pytest.fixture
def fleet():
    """Give a session with 16 nodes below four leaf switches in Fleet mode, and the view that shows it."""
    session = Session("sample:h100-pod")
    view = PlanView(session)
    session.show_mode("fleet")
    session.fleet.plan()
    yield session, view
    session.close()
    Widget.close_all()


def send(session, view, **message) -> None:
    """Send a message of the browser, and wait for the answer."""
    say(view, **message)
    fleet_answered(session)


def gang(session, view, size: int, **fields: object) -> dict:
    """Make a gang of some pods below one leaf switch, or as `fields` say, and return its row."""
    made = {"size": size, "level": "leaf switch", "hierarchy": "h100-pod", **fields}
    send(session, view, type="set-gang", name=POD, gang=made)
    return view.fleet_workloads[0]["gang"]


def domains(view) -> dict[str, dict]:
    """Return the rows of domains by their name."""
    return {row["name"]: row for row in view.fleet_domains["rows"]}


def test_a_workload_becomes_a_gang_of_all_its_pods_below_one_leaf_switch(fleet):
    """Five pods are one gang of five, in one domain of the innermost level."""
    session, view = fleet
    send(session, view, type="set-replicas", name=POD, replicas=5)
    send(session, view, type="make-gang", name=POD)
    made = session.fleet.workload(POD)
    assert (made.replicas, made.gang.size, made.gang.level, made.gang.hierarchy) == (1, 5, "leaf switch", "h100-pod")


def test_a_gang_that_is_given_up_is_as_many_pods_again(fleet):
    """Two gangs of three are six pods."""
    session, view = fleet
    gang(session, view, 3)
    send(session, view, type="set-replicas", name=POD, replicas=2)
    send(session, view, type="set-gang", name=POD, gang=None)
    assert (session.fleet.workload(POD).gang, session.fleet.workload(POD).replicas) == (None, 6)


def test_each_change_of_a_gang_is_one_undo_step(fleet):
    """After a change of its size, one undo brings the size before back, and a second one ordinary pods."""
    session, view = fleet
    gang(session, view, 2)
    gang(session, view, 3)
    session.undo()
    assert session.fleet.workload(POD).gang.size == 2
    session.undo()
    assert session.fleet.workload(POD).gang is None


def test_a_minimum_that_is_the_whole_gang_is_none(fleet):
    """A gang that needs all its pods has no minimum of its own."""
    session, view = fleet
    gang(session, view, 3, min=3)
    assert session.fleet.workload(POD).gang.min is None


def test_the_verdict_names_the_domain_and_what_more_fits(fleet):
    """Three pods fit below leaf-2, and one more such gang below leaf-4."""
    session, view = fleet
    gang(session, view, 3)
    assert view.fleet_answer["verdict"] == "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes."
    assert view.fleet_answer["proof"] == "Every goal is proven optimal."


def test_the_verdict_of_a_gang_that_does_not_fit_names_the_nearest_domain(fleet):
    """No leaf switch holds four pods; the largest holds three."""
    session, view = fleet
    gang(session, view, 4)
    assert view.fleet_answer["state"] == "misfit"
    assert view.fleet_answer["verdict"] == "No leaf switch has all 4 pods of the gang, proven. spine-1/leaf-2 has 3."


def test_the_price_of_a_level_counts_the_gangs_that_fit_in_all(fleet):
    """Without a level three gangs of three fit, below one leaf switch two."""
    session, view = fleet
    row = gang(session, view, 3)
    price = {one["level"]: one["gangs"] for one in row["price"]}
    assert price == {"node": "0", "leaf switch": "2", "spine": "2", "none": "3"}


def test_a_domain_says_what_it_holds_and_what_it_lacks(fleet):
    """leaf-2 is chosen, leaf-4 fits, and leaf-1 holds two of three pods, as devices are in use."""
    session, view = fleet
    gang(session, view, 3)
    rows = domains(view)
    assert {name: row["state"] for name, row in rows.items() if row["state"] != "outer"} == {
        "leaf-1": "refused",
        "leaf-2": "chosen",
        "leaf-3": "refused",
        "leaf-4": "fits",
    }
    assert rows["leaf-1"]["holds"] == "2 of 3"
    assert "GPUs and NICs in use on h100-01, h100-02" in rows["leaf-1"]["words"]


def test_the_pods_of_a_domain_add_up_to_what_it_holds_idle(fleet):
    """Each node holds one pod if it is idle: placed, free, kept away, in use and cordoned are four in all."""
    session, view = fleet
    gang(session, view, 3)
    sums = {row["name"]: sum(row["sums"]) for row in view.fleet_domains["rows"] if row["state"] != "outer"}
    assert set(sums.values()) == {4}


def test_a_domain_that_refuses_says_what_would_make_it_hold_the_gang(fleet):
    """One of the two nodes in use below leaf-1 is enough."""
    session, view = fleet
    gang(session, view, 3)
    view.fleet_domain = domains(view)["leaf-1"]["id"]
    card = view.fleet_domain_card
    assert card["title"] == "Why not leaf-1?"
    assert [bar["count"] for bar in card["bars"][0]["bars"]] == [4, 2]
    assert card["fixes"] == [["Free the devices in use on h100-01 or h100-02", "3 of 3 pods fit then"]]


def test_a_domain_that_is_too_small_says_so(fleet):
    """Four nodes hold four pods at most, also if nothing is in use."""
    session, view = fleet
    gang(session, view, 5)
    view.fleet_domain = domains(view)["leaf-1"]["id"]
    card = view.fleet_domain_card
    assert "fixes" not in card
    assert "leaf-1 would hold 4 of 5 pods" in card["lines"][-1]


def test_the_quota_of_the_queue_stops_a_gang(fleet):
    """The queue of the gang may use 40 GPUs at most, and six pods need 48: the verdict and the row say it."""
    session, view = fleet
    row = gang(session, view, 6, level="spine", queue="training/train")
    assert (row["stops"][0]["question"], row["stops"][0]["stops"]) == ("quota", True)
    assert view.fleet_answer["scheduler"].startswith("Quota stops it: training may use at most 40")


def test_without_a_queue_the_row_names_those_of_the_cluster(fleet):
    """The cluster has several queues: nothing is known of the quota until one is chosen."""
    session, view = fleet
    row = gang(session, view, 3)
    assert row["stops"][0]["says"] == "not known"
    assert row["queues"] == ["inference/serve", "research/study", "training/train"]


def test_ordinary_pods_are_planned_beside_a_gang(fleet):
    """A second workload of one pod is placed as well, and both are counted."""
    session, view = fleet
    gang(session, view, 3)
    session.fleet.add(session.sketch, 1, "single")
    session.fleet.plan()
    assert view.fleet_answer["tiles"][0]["value"] == "4 of 4"
    assert "1 of 1 gang and 1 of 1 other pod placed" in view.fleet_answer["verdict"]


def test_pinned_pods_beside_a_gang_are_refused(fleet):
    """A plan with gangs takes no pins: the answer says what to do, and does not ignore them."""
    session, view = fleet
    gang(session, view, 3)
    session.fleet.add(session.sketch, 1, "single")
    session.fleet.pin("single", "h100-03")
    fleet_answered(session)
    assert view.fleet_answer["state"] == "error"
    assert "single: a plan with gangs takes no pinned pods. Unpin them" in view.fleet_answer["proof"]


def test_a_kept_gang_is_compared_and_restored(fleet):
    """A kept gang is a column of Compare, and restoring it brings its size back."""
    session, view = fleet
    gang(session, view, 3)
    session.comparing.keep_fleet("three")
    gang(session, view, 2)
    session.comparing.keep_fleet("two")
    session.show_mode("compare")
    placed = next(row for row in view.compare["lines"] if row["label"] == "Pods placed")
    session.comparing.restore("three")
    assert [cell["text"] for cell in placed["cells"]] == ["3 of 3", "2 of 2"]
    assert session.fleet.workload(POD).gang.size == 3


def test_an_unknown_level_is_refused_with_the_levels(fleet):
    """The answer names the levels that the cluster has, and the plan before it is not shown as the answer."""
    session, view = fleet
    gang(session, view, 3, level="rack", hierarchy="")
    assert view.fleet_answer["state"] == "error"
    assert "leaf switch" in view.fleet_answer["proof"]


def test_levels_of_several_hierarchies_have_a_price():
    """A level with one domain, which is no choice of its own, is in the price; UUIDs of NVLink partitions are cut."""
    session = Session("sample:gb200-nvl72", sketch=read_sketch("sample:gb200-nvl72/whole-tray"))
    view = PlanView(session)
    session.show_mode("fleet")
    drawn = GangDrawing(size=14, level="NVLink partition", hierarchy="nvl72")
    session.fleet.set_gang("whole-tray", drawn)
    session.fleet.plan()
    levels = [row["level"] for row in view.fleet_workloads[0]["gang"]["price"]]
    session.close()
    Widget.close_all()
    assert levels == ["node", "NVLink partition", "zone", "none"]
    assert "No NVLink partition has all 14 pods of the gang, proven." in view.fleet_answer["verdict"]


def test_the_plan_file_keeps_the_gang(tmp_path):
    """A session that opens the file has the gang with its level."""
    file = tmp_path / "plan.yaml"
    session = Session("sample:h100-pod", sketch=read_sketch("sample:h100-pod/eight-pairs"), file=file)
    drawn = GangDrawing(size=3, min=2, level="leaf switch", hierarchy="h100-pod", queue="team-a", same=("rail",))
    session.fleet.set_gang(POD, drawn)
    session.close()
    other = Session("sample:h100-pod", file=file)
    kept = other.fleet.workload(POD).gang
    other.close()
    assert kept == drawn
