"""A session whose cluster is followed: changes reach the answer, losses are told, nothing is left behind."""

import threading
import time

import pytest
from api_server.kubeconfig import write_kubeconfig
from api_server.server import ApiServer
from api_server.small_cluster import claim, recorded_store

from dra_lab.errors import InputError
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session, planner_worker, preparing
from dra_lab.sources.live import FollowState

GPU = ClaimSketch(
    name="one", requests=(DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com")),)
)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The recorded cluster, served, with a kubeconfig that KUBECONFIG names."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with ApiServer(recorded_store()) as made:
        monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path, made)))
        yield made


@pytest.fixture
def session(server):
    """A session on the running cluster that asks for one GPU, followed; closed after the test."""
    made = Session("context:test", sketch=GPU)
    made.plan()
    made.follow()
    until(made, "following", lambda: made.following.state is FollowState.LIVE)
    yield made
    made.close()


def until(session, event, true, seconds=60):
    """Wait until something is true, looking after each event of that name."""
    seen = threading.Event()
    off = session.on(event, seen.set)
    end = time.monotonic() + seconds
    while not true():
        assert seen.wait(end - time.monotonic())
        seen.clear()
    off()


def take_all(server, session):
    """Let claims hold every GPU."""
    for slice_ in session.cluster.slices:
        for device in slice_.spec.devices or () if slice_.spec.driver == "gpu.nvidia.com" else ():
            name = f"all-{slice_.spec.pool.name}-{device.name}"
            server.store.put(claim(name, device.name, node=slice_.spec.pool.name))


def test_a_change_reaches_the_answer(server, session):
    """Claims take every GPU: the plan no longer fits; they go, and it fits again."""
    assert session.answer.fits
    take_all(server, session)
    until(session, "plan", lambda: not session.answer.fits)
    for _, name in [key for key in server.store.objects["resourceclaims"] if key[1].startswith("all-")]:
        server.store.delete("resourceclaims", name, "team-a")
    until(session, "plan", lambda: session.answer.fits)
    assert session.answer.fits


def test_following_changes_neither_drawing_nor_history(server, session):
    """A change of the cluster is no edit."""
    before = session.drawing
    take_all(server, session)
    until(session, "plan", lambda: not session.answer.fits)
    assert session.drawing == before
    assert not session.history.can_undo


def test_a_lost_connection_is_shown_and_healed(server, session):
    """`lost` with a reason while the server is away, then `live`; the answer stays."""
    server.hang_up()
    until(session, "following", lambda: session.following.state is FollowState.LOST)
    assert "127.0.0.1" in session.following.reason
    assert session.answer.fits
    server.listen()
    until(session, "following", lambda: session.following.state is FollowState.LIVE)


def test_unfollow_keeps_the_cluster_and_leaves_no_thread(server, session):
    """The last snapshot stays; no thread and no connection is left."""
    cluster = session.cluster
    session.unfollow()
    assert session.following.state is FollowState.OFF
    assert not [t for t in threading.enumerate() if t.name.startswith(("dra-lab-follow", "dra-lab-watch"))]
    server.store.put(claim("late"))
    assert session.cluster is cluster


def test_another_cluster_ends_the_following(server, session):
    """What is followed is what is shown."""
    session.load("sample:two-sockets")
    assert session.following.state is FollowState.OFF
    assert not [t for t in threading.enumerate() if t.name.startswith(("dra-lab-follow", "dra-lab-watch"))]


def test_a_pinned_node_that_vanishes_is_reported(server, session):
    """The plan goes on to all nodes, with a word about it."""
    name = session.answer.node
    session.pin(name)
    session.plan()
    server.store.delete("nodes", name)
    for slice_ in session.cluster.slices_by_node[name]:
        server.store.delete("resourceslices", slice_.name)
    until(session, "problem", lambda: "no longer in the cluster" in session.problem)
    until(session, "plan", lambda: session.answer.node != name)


def test_only_a_running_cluster_can_be_followed():
    """A sample does not change."""
    session = Session("sample:two-sockets", sketch=ClaimSketch())
    with pytest.raises(InputError, match="context:NAME"):
        session.follow()
    session.close()


def test_the_next_snapshot_waits_until_the_present_one_is_checked(session, server, monkeypatch):
    """While findings of a large cluster are worked out it is busy: the next one begins from what was found of it."""
    busy, check = [], planner_worker.check

    def looked_at(cluster):
        busy.append(session._live._busy())
        check(cluster)

    monkeypatch.setattr(preparing, "SMALL", 0)
    monkeypatch.setattr(planner_worker, "check", looked_at)
    take_all(server, session)
    until(session, "findings", lambda: busy)
    session.wait()
    assert all(busy)
    assert not session.checking
