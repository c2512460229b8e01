"""A session whose cluster is followed: changes reach the answer, losses are told, and nothing is left behind."""

from __future__ import annotations

import gc
import os
import random
import threading
import time
import weakref

import pytest
from api_server.kubeconfig import write_kubeconfig
from api_server.server import ApiServer
from api_server.small_cluster import claim, recorded_store
from changing_clusters import a_world, anew, changes
from msgspec.structs import replace
from random_clusters import RULES, random_sketch
from random_pods import a_release
from widget_messages import say

from dra_lab import ClaimSketch, DraLabError, HardwareView, KubernetesRelease, Session, make_plan
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.sources.live.following import FollowState

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


def change(server, session, name):
    """Add a claim to the cluster, and wait until it is planned with."""
    server.store.put(claim(name, "gpu-0"))
    until(session, "plan", lambda: name in [one.metadata.name for one in session.cluster.claims])
    assert session.wait(60)


def test_a_change_reaches_the_answer(server, session):
    assert session.answer.fits
    take_all(server, session)
    until(session, "plan", lambda: not session.answer.fits)
    for _, name in [key for key in server.store.objects["resourceclaims"] if key[1].startswith("all-")]:
        server.store.delete("resourceclaims", name, "team-a")
    until(session, "plan", lambda: session.answer.fits)
    assert session.answer.fits


def test_following_changes_neither_drawing_nor_history(server, session):
    before = session.drawing
    take_all(server, session)
    until(session, "plan", lambda: not session.answer.fits)
    assert session.drawing == before
    assert not session.history.can_undo


def test_a_lost_connection_is_shown_and_healed(server, session):
    server.hang_up()
    until(session, "following", lambda: session.following.state is FollowState.LOST)
    assert "127.0.0.1" in session.following.reason
    assert session.answer.fits
    server.listen()
    until(session, "following", lambda: session.following.state is FollowState.LIVE)


def test_unfollow_keeps_the_cluster(server, session):
    cluster = session.cluster
    session.unfollow()
    assert session.following.state is FollowState.OFF
    server.store.put(claim("late"))
    assert session.cluster is cluster


def test_another_cluster_ends_the_following(server, session):
    session.load("sample:two-sockets")
    assert session.following.state is FollowState.OFF


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


def test_undo_of_an_edit_keeps_the_latest_state_of_the_cluster(server, session):
    """A state that came while the cluster was followed is no step: it must not be undone with the edit."""
    session.edit(ClaimSketch(name="other", requests=GPU.requests))
    change(server, session, "late")
    session.undo()
    assert session.sketch == GPU
    assert "late" in [one.metadata.name for one in session.cluster.claims]


def test_a_person_keeps_looking_at_a_node_while_the_cluster_changes(server, session):
    """Answers arrive every second, and without this rule only the plan's node could be viewed."""
    view = HardwareView(session)
    other = next(name for name in session.cluster.node_names if name != view.node)
    say(view, type="node", name=other)
    change(server, session, "late")
    assert view.node == other
    view.close()


def test_a_followed_cluster_keeps_its_latest_snapshot_alone(server, session):
    """A cluster is followed for hours: the snapshots before are gone."""
    before = []
    for number in range(5):
        before.append(weakref.ref(session.cluster))
        change(server, session, f"claim-{number}")
    gc.collect()
    assert [one() for one in before] == [None] * 5


# `DRA_LAB_RANDOM_CHANGES` is the number of clusters that go through random changes.
WORLDS, TURNS = int(os.environ.get("DRA_LAB_RANDOM_CHANGES", "12")), 8


def shown(cluster):
    """Return the picture of each node, with the places and the use of its devices."""
    return [hardware_svg(cluster, name) for name in cluster.node_names]


def planned(cluster, sketch, release):
    """Return what is planned on the cluster."""
    try:
        plan = make_plan(cluster, sketch, release=release)
    except DraLabError as error:
        return str(error)
    return plan.status, plan.node, plan.placements, plan.goals, plan.node_classes


def drawn(cluster, sketch, release):
    """Return what the canvas and the bar show once the cluster is counted and checked."""
    session = Session(cluster, sketch=sketch)
    session.set_release(release.version)
    session.wait(60)
    found = session.status, [(one.rule, one.message) for one in session.findings]
    session.close()
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_what_is_known_on_after_a_change_is_what_a_new_reading_finds(seed):
    rng = random.Random(f"changing {seed}")
    release = a_release(rng) if seed % 2 else KubernetesRelease("1.36")
    followed = a_world(rng)
    sketch = replace(random_sketch(rng, RULES, followed), name="claim")
    for turn in range(TURNS):
        if turn:
            followed = followed.with_objects(**changes(rng, followed))
        if turn and rng.random() < 0.25:
            continue
        fresh = anew(followed)
        assert shown(followed) == shown(fresh), turn
        assert planned(followed, sketch, release) == planned(fresh, sketch, release), turn
        assert drawn(followed, sketch, release) == drawn(fresh, sketch, release), turn
