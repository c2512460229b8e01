"""One undo step reverts one act: a load, an opened drawing, or an edit."""

from __future__ import annotations

import pytest

from dra_lab import ClaimSketch, Link, Session
from dra_lab.errors import SketchError
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import Drawing

CPU = ClaimSketch("cpus", (DeviceRequest("cpu", ExactDeviceRequest("dra.cpu")),))


@pytest.fixture
def session():
    opened = Session("sample:eks-p4d")
    yield opened
    opened.close()


def test_undo_after_a_load_restores_the_cluster_and_its_node(session):
    """The drawing stays through a load, so the cluster is what comes back."""
    node = next(iter(session.cluster.node_names))
    session.pin(node)
    session.load("sample:dgx-h100")
    assert (session.cluster.name, session.drawing.node) == ("sample:dgx-h100", "")
    assert session.undo()
    assert (session.cluster.name, session.drawing.cluster, session.drawing.node) == (
        "sample:eks-p4d",
        "sample:eks-p4d",
        node,
    )


def test_redo_loads_the_cluster_again(session):
    session.load("sample:dgx-h100")
    session.undo()
    assert session.redo()
    assert session.cluster.name == "sample:dgx-h100"


def test_one_undo_takes_back_an_opened_drawing_with_its_cluster_and_places(session):
    before = session.sketch
    session.move({"gpu": (1.0, 2.0)})
    other = Session("sample:dgx-h100")
    session.open(Drawing(sketch=CPU, layout={"cpu": (5.0, 6.0)}), other.cluster)
    other.close()
    assert (session.sketch, session.cluster.name, session.drawing.layout) == (CPU, "sample:dgx-h100", {"cpu": (5, 6)})
    session.undo()
    assert (session.sketch, session.cluster.name, session.drawing.layout) == (before, "sample:eks-p4d", {"gpu": (1, 2)})


def test_undo_of_an_edit_keeps_the_cluster_that_was_loaded_before_it(session):
    session.load("sample:dgx-h100")
    session.edit(CPU)
    session.undo()
    assert session.cluster.name == "sample:dgx-h100"


def test_a_drawing_that_is_inconsistent_is_not_opened(session):
    before = session.sketch
    with pytest.raises(SketchError, match="connects 'nic'"):
        session.open(Drawing(sketch=ClaimSketch(requests=CPU.requests, links=(Link("k", ("nic",)),))))
    assert session.sketch is before
