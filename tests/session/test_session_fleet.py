"""The fleet of a session: workloads, pins, layers, kept plans and running pods that move, with undo and plan file."""

import pytest
from msgspec.structs import replace

from dra_lab import Session, load_cluster, read_sketch
from dra_lab.errors import InputError, SketchError
from dra_lab.model.sketch import GangDrawing
from dra_lab.session.preparing import moved_layers
from dra_lab.sources.drawing_files import read_drawing
from dra_lab.widgets.verdict_row import fleet_answer_row
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.verdict import MAKE_ROOM, fixes

PAIRS = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture
def session():
    """Give a session of the shipped cluster with its example."""
    made = Session("sample:eks-p4d", sketch=read_sketch(PAIRS))
    yield made
    made.close()


def names(session) -> list[str]:
    """Return the names of the workloads."""
    return [pod.pod for pod in session.fleet.workloads]


def test_the_drawing_is_the_fleet_until_there_is_another_workload(session):
    assert names(session) == ["gpu-nic-pairs"]
    assert len(session.fleet.plan().pods) == 1


def test_the_fleet_of_the_drawing_alone_says_what_plan_says(session):
    """Also what kube-scheduler does without the links, and what that costs."""
    said = answer_sentence(session.plan(), session.cluster)
    session.fleet.plan()
    assert session.fleet.answer.sentence == said


def test_the_answer_has_what_more_fits_and_what_is_stranded(session):
    """4 pods fit in all, so 3 more after the first; only the kinds that are asked for are stranded."""
    session.fleet.plan()
    answer = session.fleet.answer
    assert [(headroom.count.value, headroom.count.bound) for headroom in answer.headroom] == [(3, 3)]
    assert {kind.kind for kind in answer.stranded.kinds} == {"gpu", "nic"}
    assert answer.complete


def test_each_change_is_one_undo_step(session):
    session.fleet.set_replicas("gpu-nic-pairs", 3)
    session.fleet.add_drawing()
    session.fleet.what_if("idle")
    states = []
    while session.undo():
        states.append((names(session), len(session.fleet.layers)))
    assert states == [
        (["gpu-nic-pairs", "gpu-nic-pairs-2"], 0),
        (["gpu-nic-pairs"], 0),
        (["gpu-nic-pairs"], 0),
    ]
    assert session.redo()
    assert session.fleet.workload("gpu-nic-pairs").replicas == 3


def test_a_workload_gets_another_name_in_one_step(session):
    """It stays the drawn one; a wrong or taken name is refused and changes nothing."""
    session.fleet.add_drawing()
    session.fleet.rename("gpu-nic-pairs", "trainer")
    assert (names(session), session.fleet.editing) == (["trainer", "gpu-nic-pairs-2"], "trainer")
    for wrong in ("Trainer!", "gpu-nic-pairs-2", ""):
        with pytest.raises(SketchError):
            session.fleet.rename("trainer", wrong)
    session.undo()
    assert names(session) == ["gpu-nic-pairs", "gpu-nic-pairs-2"]


def test_undo_of_a_layer_gives_the_snapshot_back(session):
    snapshot = session.cluster
    session.fleet.what_if(f"drain {snapshot.node_names[0]}")
    assert len(session.cluster.node_names) == 3
    session.undo()
    assert session.cluster is snapshot


def test_layers_change_the_plan_of_the_drawing_too(session):
    node = session.plan().node
    session.fleet.what_if(f"drain {node}")
    assert session.plan().node not in ("", node)


def test_a_release_layer_is_the_target(session):
    """Choosing a release in the bar removes the layer again."""
    session.fleet.what_if("release 1.37")
    assert session.release.version == "1.37.1"
    session.set_release("1.35")
    assert session.release.version == "1.35"
    assert session.fleet.layers == ()


def test_a_layer_that_names_nothing_is_refused(session):
    name = session.cluster.node_names[0]
    with pytest.raises(InputError, match="did you mean"):
        session.fleet.what_if(f"drain {name}x")
    assert not session.history.can_undo


def test_moving_a_pod_back_removes_its_pin_from_the_other_node(session):
    session.fleet.set_replicas("gpu-nic-pairs", 2)
    first, second = session.cluster.node_names[:2]
    session.fleet.pin("gpu-nic-pairs", first, 2)
    session.fleet.plan()
    session.fleet.move("gpu-nic-pairs", first, second)
    assert session.fleet.workload("gpu-nic-pairs").pins == {first: 1, second: 1}
    session.fleet.set_replicas("gpu-nic-pairs", 1)
    assert sum(session.fleet.workload("gpu-nic-pairs").pins.values()) == 1


def test_more_pins_than_pods_are_refused(session):
    with pytest.raises(InputError, match="has 1 pods, and 2 would be pinned"):
        session.fleet.pin("gpu-nic-pairs", session.cluster.node_names[0], 2)


def test_what_is_drawn_changes_the_workload_that_is_edited(session):
    """The drawing is the workload that is edited, and no other one."""
    session.fleet.add(read_sketch("sample:eks-p4d/five-pairs"))
    session.fleet.open("five-pairs")
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    assert session.fleet.workload("five-pairs").claims == (session.sketch,)
    assert session.fleet.workload("gpu-nic-pairs").claims == (read_sketch(PAIRS),)


def test_an_answer_can_be_kept_and_asked_again(session):
    session.fleet.set_replicas("gpu-nic-pairs", 4)
    session.fleet.plan()
    name = session.comparing.keep_fleet()
    session.fleet.what_if(f"drain {session.fleet.answer.plan.nodes[0]}")
    assert len(session.fleet.plan().pods) < 4
    drained = session.comparing.keep_fleet()
    session.comparing.restore(name)
    assert (name, session.fleet.layers) == ("As it is", ())
    placed = [kept.figures["placed"].value for kept in session.comparing.every]
    assert placed[0] == 4 > placed[1]
    assert drained.startswith("Drain ")


def test_everything_of_a_fleet_is_in_the_plan_file(tmp_path):
    path = tmp_path / "plan.dralab.yaml"
    session = Session("sample:eks-p4d", sketch=read_sketch(PAIRS), file=path)
    node = session.cluster.node_names[0]
    session.fleet.pin("gpu-nic-pairs", node)
    session.fleet.what_if("add 2=" + node)
    session.fleet.plan()
    session.comparing.keep_fleet("more")
    session.close()
    again = Session(file=path)
    kept = [one.name for one in again.comparing.every]
    found = (again.fleet.workload("gpu-nic-pairs").pins, again.fleet.layers, kept)
    again.close()
    assert found == ({node: 1}, session.fleet.layers, ["more"])
    assert len(again.cluster.node_names) == 6
    assert read_drawing(path).cluster == "sample:eks-p4d"


def test_another_cluster_drops_what_names_its_nodes(session):
    """Layers and pins of nodes that are not there go; the others stay."""
    session.fleet.pin("gpu-nic-pairs", session.cluster.node_names[0])
    session.fleet.what_if(f"drain {session.cluster.node_names[1]}", "idle")
    session.load("sample:dgx-h100")
    assert [str(layer) for layer in session.fleet.layers] == ["--idle"]
    assert session.fleet.workload("gpu-nic-pairs").pins == {}


def test_unknown_names_are_refused(session):
    with pytest.raises(InputError, match="did you mean 'gpu-nic-pairs'"):
        session.fleet.set_replicas("gpu-nic-pair", 2)
    with pytest.raises(InputError, match="no kept plan"):
        session.comparing.restore("x")
    with pytest.raises(InputError, match="enter 0 to"):
        session.fleet.set_replicas("gpu-nic-pairs", -1)
    with pytest.raises(SketchError, match="has no claim"):
        session.fleet.add(())


def test_a_stopped_fleet_keeps_its_plan(session):
    session.show_mode("fleet")
    session.fleet.set_replicas("gpu-nic-pairs", 3)
    session.cancel()
    assert session.wait(30)
    assert not session.fleet.stale
    assert len(session.fleet.plan().pods) == 3


def test_the_drawing_is_answered_before_the_fleet(session):
    """A person who draws does not wait for all workloads."""
    session.show_mode("fleet")
    session.wait()
    states = []
    session.on("plan", lambda: states.append((session.stale, session.fleet.stale)))
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    session.wait()
    assert states[-1] == (False, True)
    assert (session.stale, session.fleet.stale) == (False, False)


def test_a_stepper_keeps_the_answer_to_the_drawing(session):
    session.show_mode("fleet")
    session.wait()
    before = session.latest
    session.fleet.set_replicas("gpu-nic-pairs", 2)
    assert not session.stale
    session.wait()
    assert session.latest is before
    assert len(session.fleet.answer.plan.pods) == 2


def test_a_drawing_that_is_no_workload_keeps_the_answer_to_the_fleet(session):
    session.fleet.add(read_sketch("sample:eks-p4d/five-pairs"))
    session.fleet.remove("gpu-nic-pairs")
    session.show_mode("fleet")
    session.wait()
    before = session.fleet.answer
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    assert not session.fleet.stale
    session.wait()
    assert session.fleet.answer is before


FORMER = "sample:h100-pod"


@pytest.fixture
def gang():
    """A session with a gang in one leaf switch of a cluster, planned and kept as a scenario."""
    made = Session(load_cluster(FORMER), sketch=read_sketch(f"{FORMER}/eight-pairs"))
    made.fleet.set_gang("eight-pairs", GangDrawing(size=2, level="leaf switch"))
    made.fleet.plan()
    made.comparing.keep_fleet("former")
    yield made
    made.close()


@pytest.mark.parametrize("mode", ["plan", "fleet"])
def test_the_answer_is_gone_once_another_cluster_is_loaded(gang, mode):
    gang.show_mode(mode)
    gang.load("sample:dgx-h100")
    answer = gang.fleet.answer
    assert answer is None or answer.question.cluster.name == "sample:dgx-h100"
    assert gang.fleet.unchanged is None


def test_a_level_that_the_cluster_lacks_is_a_message(gang):
    gang.load("sample:two-sockets")
    gang.show_mode("fleet")
    gang.wait()
    row = fleet_answer_row(gang)
    assert row.state == "error"
    assert row.sentence == "gang 'eight-pairs': no hierarchy has 'leaf switch'; there are: zone: zone"


def test_the_answer_comes_again_when_the_cluster_does(gang):
    gang.load("sample:two-sockets")
    gang.undo()
    assert gang.fleet.plan().cluster == FORMER


@pytest.fixture
def busy():
    """A session on a full cluster with a claim of a whole node, closed after the test."""
    made = Session("sample:h100-busy", sketch=read_sketch("sample:h100-busy/eight-pairs"))
    made.wait()
    yield made
    made.close()


def test_a_claim_that_does_not_fit_gets_the_moves_that_make_room_once(busy):
    (fix, *_) = fixes(busy.answer, busy.room)
    assert (fix.title, fix.brings) == ("Move 2 pods, no fewer", "it fits; they leave dgx-14")
    assert fix.number == MAKE_ROOM
    busy.fleet.what_if(*moved_layers(busy.room.moves))
    assert busy.plan().node == "dgx-14"
    assert moved_layers(busy.cluster.moves, busy.fleet.layers) == ()
    assert [layer.words for layer in busy.fleet.layers] == [
        "Move batch/tune-0 to dgx-13",
        "Move serving/rank-5f7b8-9qhcl to dgx-13",
    ]
    busy.undo()
    assert not busy.plan().fits


def test_what_a_card_says_of_drained_pods_holds_after_it_is_applied(busy):
    """Pods that leave dgx-13 go where the card has them, also if another place is better after the moves."""
    wanted = (replace(one, exactly=replace(one.exactly, count=6)) for one in busy.sketch.requests)
    busy.edit(replace(busy.sketch, requests=tuple(wanted)))
    busy.fleet.what_if("drain dgx-13")
    busy.wait()
    room, before = busy.room, busy.layer_notes[0]
    busy.fleet.what_if(*moved_layers(room.moves))
    busy.wait()
    assert busy.plan().node == room.node
    assert {str(move) for move in busy.cluster.moves} == {str(move) for move in room.moves}
    assert (busy.refused_layers, busy.layer_notes[0]) == ({}, before)


def test_nothing_is_moved_where_no_pod_may(busy):
    busy.fleet.what_if("idle")
    busy.wait()
    assert busy.plan().fits
    assert busy.room is None
