"""Rails on screen, in the kernel: what can be chosen, what the plan chose, what is exported, and replicas apart."""

import pytest
from ipywidgets import Widget
from msgspec.structs import replace
from widget_messages import fleet_answered, say

from dra_lab import ClaimCanvas, PlanView, Session, load_cluster, read_sketch
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.sketch import ClaimSketch

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
    """It binds the NICs; another attribute is one step, and so is none."""
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
    """MAC addresses differ on all devices, and a model is the same on all."""
    _, canvas, _ = rails
    say(canvas, type="make-gang")
    reasons = {row["name"]: row.get("reason", "") for row in canvas.gang["sames"]}
    assert reasons["dra.net/mac"] == "each device has a value of its own"
    assert reasons["gpu.nvidia.com/productName"] == "one value for all"
    assert reasons["dra.net/ifName"] == ""


def test_what_is_no_name_of_an_attribute_is_refused(rails):
    """The message says where, and the drawing stays as it is."""
    session, canvas, _ = rails
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["rails"]})
    assert "same[0] of the gang 'two-pairs' is 'rails'" in canvas.problem
    assert session.fleet.drawn_gang is None


def test_the_answer_names_the_rails_and_marks_them(rails):
    """They are in the headline, on the link, and in the table of the nodes where the pods are."""
    session, canvas, view = rails
    (same,) = planned(session, canvas).same
    values = f"rails {same.values[0]} and {same.values[1]}"
    assert view.fleet_answer["verdict"] == f"The gang fits in spine-1/leaf-2: 3 pods on 3 nodes, on {values}."
    assert view.fleet_answer["proof"].startswith("The rails are inferred from dra.net/pciAddress")
    assert canvas.gang["values"] == values
    (table,) = view.fleet_rails
    assert [row["value"] for row in table["rows"] if row.get("chosen")] == list(same.values)
    assert [sum(box[1] for box in row["boxes"]) for row in table["rows"]] == [3, 3, 0, 0, 0, 0, 0, 0]


def test_gangs_that_fit_on_other_rails_are_not_excluded(rails):
    """After a plan with rails, the count of further gangs is a least number."""
    session, canvas, view = rails
    planned(session, canvas)
    assert view.fleet_workloads[0]["more"] == "≥ 1"
    tile = next(tile for tile in view.fleet_answer["tiles"] if tile["title"] == "More gangs")
    assert (tile["value"], tile["caption"]) == ("1 more", "gangs fit on these rails")


def test_the_sheet_writes_the_rails_as_a_selector(rails):
    """The template has the values, and a kept plan has them too."""
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
    assert view.fleet_answer["verdict"].endswith(f"on rails {same.values[0]} and {same.values[1]}.")
    session.close()
    Widget.close_all()


def test_values_that_are_no_rails_are_called_values(rails):
    """All pods may have NICs on the same NUMA node."""
    session, canvas, view = rails
    (same,) = planned(session, canvas, same=["dra.net/numaNode"]).same
    assert view.fleet_answer["asked"].endswith("with the same values of numaNode (2 gpu + 2 nic).")
    assert view.fleet_answer["verdict"].endswith(f"with the value {same.values[0]}.")
    assert view.fleet_domains["title"].endswith("with these values of numaNode")


def test_the_link_forgets_the_values_of_another_question(rails):
    """After the attribute changed in Plan, no values are shown until the fleet is planned again."""
    session, canvas, _ = rails
    planned(session, canvas)
    session.show_mode("plan")
    say(canvas, type="set-gang", gang={"size": 3, **LEAF, "same": ["dra.net/numaNode"]})
    assert "values" not in canvas.gang
