"""Fleet after another cluster was loaded: no answer of the former one is left."""

import pytest

from dra_lab import load_cluster, read_sketch
from dra_lab.model.sketch import GangDrawing
from dra_lab.session import Session
from dra_lab.widgets.fleet_mode import fleet_answer_row

FORMER = "sample:h100-pod"


@pytest.fixture
def session():
    """A session with a gang in one leaf switch of a cluster, planned and kept as a scenario."""
    made = Session(load_cluster(FORMER), sketch=read_sketch(f"{FORMER}/eight-pairs"))
    made.fleet.set_gang("eight-pairs", GangDrawing(size=2, level="leaf switch"))
    made.fleet.plan()
    made.comparing.keep_fleet("former")
    yield made
    made.close()


@pytest.mark.parametrize("mode", ["plan", "fleet"])
def test_the_answer_is_gone_once_another_cluster_is_loaded(session, mode):
    """Neither the verdict nor the plan without changes stays, whichever mode is shown."""
    session.show_mode(mode)
    session.load("sample:dgx-h100")
    answer = session.fleet.answer
    assert answer is None or answer.question.cluster.name == "sample:dgx-h100"
    assert session.fleet.unchanged is None


def test_a_level_that_the_cluster_lacks_is_a_message(session):
    """Fleet names the gang, the level and the levels that there are."""
    session.load("sample:two-sockets")
    session.show_mode("fleet")
    session.fleet.wait()
    row = fleet_answer_row(session)
    assert (row.state, row.verdict) == ("error", "No answer.")
    assert row.proof == "gang 'eight-pairs': no hierarchy has 'leaf switch'; there are: zone: zone"


def test_the_answer_comes_again_when_the_cluster_does(session):
    """Undo loads the former cluster, which is planned again."""
    session.load("sample:two-sockets")
    session.undo()
    assert session.fleet.plan().cluster == FORMER
