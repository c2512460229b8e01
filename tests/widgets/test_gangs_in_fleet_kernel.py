"""Gangs in the Fleet mode, in the kernel: messages that make them, what the browser is told, and same rails."""

import pytest
from ipywidgets import Widget
from msgspec.structs import replace
from widget_messages import fleet_answered, say

from dra_lab import ClaimCanvas, PlanView, Session, load_cluster, read_sketch
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.sketch import ClaimSketch, GangDrawing

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
    session, view = fleet
    gang(session, view, 3)
    send(session, view, type="set-replicas", name=POD, replicas=2)
    send(session, view, type="set-gang", name=POD, gang=None)
    assert (session.fleet.workload(POD).gang, session.fleet.workload(POD).replicas) == (None, 6)


def test_a_minimum_that_is_the_whole_gang_is_none(fleet):
    session, view = fleet
    gang(session, view, 3, min=3)
    assert session.fleet.workload(POD).gang.min is None


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
    session, view = fleet
    gang(session, view, 3)
    view.fleet_domain = domains(view)["leaf-1"]["id"]
    card = view.fleet_domain_card
    assert card["title"] == "Why not leaf-1?"
    assert [bar["count"] for bar in card["bars"][0]["bars"]] == [4, 2]
    assert card["fixes"] == [["Free the devices in use on h100-01 or h100-02", "3 of 3 pods fit then"]]


def test_a_domain_that_is_too_small_says_so(fleet):
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
    session, view = fleet
    row = gang(session, view, 3)
    assert row["stops"][0]["says"] == "not known"
    assert row["queues"] == ["inference/serve", "research/study", "training/train"]


def test_ordinary_pods_are_planned_beside_a_gang(fleet):
    session, view = fleet
    gang(session, view, 3)
    session.fleet.add(session.sketch, 1, "single")
    session.fleet.plan()
    assert view.fleet_answer["tiles"][0]["value"] == "4 of 4"
    assert "1 of 1 gang and 1 of 1 other pod placed" in view.fleet_answer["sentence"]


def test_pinned_pods_beside_a_gang_are_refused(fleet):
    """A plan with gangs takes no pins: the answer says what to do, and does not ignore them."""
    session, view = fleet
    gang(session, view, 3)
    session.fleet.add(session.sketch, 1, "single")
    session.fleet.pin("single", "h100-03")
    fleet_answered(session)
    assert view.fleet_answer["state"] == "error"
    assert "single: a plan with gangs takes no pinned pods. Unpin them" in view.fleet_answer["sentence"]


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
    assert "No NVLink partition has all 14 pods of the gang, proven." in view.fleet_answer["sentence"]


PAIRS = "tests/golden/inputs/two-pairs.dralab.yaml"
LEAF = {"level": "leaf switch", "hierarchy": "h100-pod"}


@pytest.fixture
def rails():
    """Give a session on 16 nodes with identical NICs, its canvas, and the view that shows it."""
    session = Session("sample:h100-pod", sketch=read_sketch(PAIRS))
    yield session, ClaimCanvas(session), PlanView(session)
    session.close()
    Widget.close_all()


def planned(session, canvas, **gang: object):
    """Draw a gang of the present drawing, and return its plan."""
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["rail"], **gang})
    session.show_mode("fleet")
    fleet_answered(session)
    return session.fleet.answer.plan


def test_the_link_between_pods_is_drawn_changed_and_undone(rails):
    session, canvas, _ = rails
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["rail"]})
    assert canvas.gang["link"] == "same rails in all pods"
    bound = {row["name"]: row["requests"] for row in canvas.gang["sames"]}
    assert (bound["rail"], bound["resource.kubernetes.io/pciBusID"]) == (["nic"], ["gpu"])
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["dra.net/ifName"]})
    assert canvas.gang["link"] == "same ifName in all pods"
    say(canvas, type="set-gang", gang={"size": 3, **LEAF})
    assert "link" not in canvas.gang
    session.undo()
    session.undo()
    assert canvas.gang["same"] == ["rail"]


def test_attributes_that_make_no_sense_say_why(rails):
    _, canvas, _ = rails
    say(canvas, type="make-gang")
    reasons = {row["name"]: row.get("reason", "") for row in canvas.gang["sames"]}
    assert reasons["dra.net/mac"] == "each device has a value of its own"
    assert reasons["gpu.nvidia.com/productName"] == "one value for all"
    assert reasons["dra.net/ifName"] == ""


def test_what_is_no_name_of_an_attribute_is_refused(rails):
    session, canvas, _ = rails
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["rails"]})
    assert "same[0] of the gang 'two-pairs' is 'rails'" in canvas.problem
    assert session.fleet.drawn_gang is None


def test_the_answer_marks_the_rails_and_does_not_exclude_gangs_on_other_rails(rails):
    """After a plan with rails, the count of further gangs is a least number."""
    session, canvas, view = rails
    (same,) = planned(session, canvas).same
    values = f"rails {same.values[0]} and {same.values[1]}"
    assert view.fleet_answer["sentence"] == f"The gang fits in spine-1/leaf-2: 3 pods on 3 nodes, on {values}."
    assert view.fleet_answer["proof"].startswith("The rails are inferred from dra.net/pciAddress")
    assert canvas.gang["values"] == values
    (table,) = view.fleet_rails
    assert [row["value"] for row in table["rows"] if row.get("chosen")] == list(same.values)
    assert [sum(box[1] for box in row["boxes"]) for row in table["rows"]] == [3, 3, 0, 0, 0, 0, 0, 0]
    assert view.fleet_workloads[0]["more"] == "≥ 1"
    tile = next(tile for tile in view.fleet_answer["tiles"] if tile["title"] == "More gangs")
    assert (tile["value"], tile["caption"]) == ("1 more", "gangs fit on these rails")


def test_the_sheet_writes_the_rails_as_a_selector(rails):
    session, canvas, _ = rails
    (same,) = planned(session, canvas).same
    session.exporting.open()
    session.exporting.wait()
    selector = f'pciAddress in ["{same.values[0]}", "{same.values[1]}"]'
    assert any(selector in text for text in session.exporting.chosen.texts.values())
    session.comparing.keep_fleet("rails")
    assert selector in session.comparing.kept("rails").yaml


def test_replicas_on_other_rails_are_one_workload_on_screen(rails):
    """13 nodes have a free NIC on a rail, so each gang of 13 pods has a rail of its own; they are not one file."""
    session, canvas, view = rails
    nic = session.sketch.request("nic")
    session.edit(ClaimSketch(name="one", requests=(replace(nic, exactly=replace(nic.exactly, count=1)),)))
    say(canvas, type="set-gang", gang={"size": 12, "same": ["rail"]})
    session.show_mode("fleet")
    say(view, type="set-replicas", name="one", replicas=2)
    fleet_answered(session)
    assert [(one.name, one.replicas) for one in session.fleet.answer.plan.workloads] == [("one", 1), ("one-2", 1)]
    assert view.fleet_workloads[0]["placed"] == 2
    assert view.fleet_domains["gangs"] == ["one", "one-2"]
    assert canvas.gang["values"].count("rail ") == 2
    session.exporting.open()
    assert "the gangs of one do not all use the same rails" in session.exporting.problem


def test_nodes_to_add_are_refused_with_what_to_do(rails):
    """That question does not know rails, and an answer without them would be wrong."""
    session, canvas, view = rails
    planned(session, canvas, size=6)
    assert view.fleet_answer["state"] == "misfit"
    session.adding.find()
    session.adding.wait(30)
    assert "remove Same in all pods" in str(session.adding.refusal)


def test_published_rails_are_offered_by_their_name():
    """The menu has the attribute first and infers nothing; a file may still say rail."""
    plain = load_cluster("sample:h100-pod")
    rails = {f"0000:{at}:00.0": number for number, at in enumerate(("18", "40", "4f", "5e", "9a", "c0", "ce", "dc"))}

    def with_rail(device):
        address = device.attributes["dra.net/pciAddress"].string
        return replace(device, attributes={**device.attributes, "dra.net/rail": DeviceAttribute(int_=rails[address])})

    slices = tuple(
        replace(one, spec=replace(one.spec, devices=tuple(map(with_rail, one.spec.devices))))
        if one.spec.driver == "dra.net"
        else one
        for one in plain.slices
    )
    session = Session(plain.with_objects(slices=slices), sketch=read_sketch(PAIRS))
    canvas, view = ClaimCanvas(session), PlanView(session)
    say(canvas, type="make-gang")
    assert canvas.gang["sames"][0] == {"name": "dra.net/rail", "label": "dra.net/rail", "requests": ["nic"]}
    (same,) = planned(session, canvas).same
    assert (same.attribute, same.inferred) == ("dra.net/rail", False)
    assert canvas.gang["sames"][0] == {"name": "rail", "label": "rail", "requests": ["nic"]}
    assert view.fleet_answer["sentence"].endswith(f"on rails {same.values[0]} and {same.values[1]}.")
    session.close()
    Widget.close_all()


def test_values_that_are_no_rails_are_called_values(rails):
    session, canvas, view = rails
    (same,) = planned(session, canvas, same=["dra.net/numaNode"]).same
    assert view.fleet_answer["asked"].endswith("with the same values of numaNode (2 gpu + 2 nic).")
    assert view.fleet_answer["sentence"].endswith(f"with the value {same.values[0]}.")
    assert view.fleet_domains["title"].endswith("with these values of numaNode")


def test_the_link_forgets_the_values_of_another_question(rails):
    session, canvas, _ = rails
    planned(session, canvas, same=["dra.net/numaNode"])
    assert canvas.gang["values"]
    session.show_mode("plan")
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["rail"]})
    assert "values" not in canvas.gang
