"""A running cluster, followed: changes arrive, lost connections are resumed, and what no event told is listed."""

import random
import threading
from dataclasses import replace

import pytest
from api_server.small_cluster import claim
from api_server.watched import QUICK, Watched

from dra_lab.errors import InputError
from dra_lab.model.names import DeviceID
from dra_lab.sources import load_cluster
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.following import ClusterFollower, FollowState
from dra_lab.sources.live.reading import load_context

GPU = DeviceID("gpu.nvidia.com", "gpu-node-0", "gpu-x")


@pytest.fixture
def watched(server, config):
    """The cluster, read and followed until all kinds are live; stopped after the test."""
    made = Watched(load_context("test", limits=QUICK))
    made.until_live()
    yield made
    made.follower.stop()


def held(watched):
    return watched.latest.allocated.holders(GPU)


def test_a_claim_that_comes_and_goes_is_seen(server, watched):
    """ADDED, MODIFIED and DELETED change what is in use; nothing is listed again."""
    server.requests.clear()
    server.store.put(claim("late"))
    watched.until(lambda w: any(c.metadata.name == "late" for c in w.latest.claims))
    server.store.put(claim("late", "gpu-x"))
    watched.until(lambda w: held(w) == ("team-a/late",))
    server.store.delete("resourceclaims", "late", "team-a")
    watched.until(lambda w: held(w) == ())
    assert server.requests == []


def test_the_followed_cluster_is_the_one_that_a_new_reading_gives(server, watched):
    """Slices, classes, nodes, claims, taint rules and pods are equal and in one order, followed or read again."""
    first = watched.latest
    spec = {"driver": "d.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    taint = {"spec": {"taint": {"key": "a", "effect": "NoSchedule"}}}
    server.store.put({"kind": "ResourceSlice", "metadata": {"name": "aaa"}, "spec": {**spec, "devices": []}})
    server.store.put({"kind": "DeviceClass", "metadata": {"name": "aaa"}, "spec": {}})
    server.store.put({"kind": "Node", "metadata": {"name": "aaa", "labels": {"x": "y"}}})
    server.store.put({"kind": "DeviceTaintRule", "metadata": {"name": "aaa"}, **taint})
    server.store.put(
        {"kind": "Pod", "metadata": {"name": "a", "namespace": "z"}, "spec": {"resourceClaims": [{"name": "g"}]}}
    )
    server.store.put(claim("aaa", "gpu-x"))
    server.store.delete("resourceslices", first.slices[0].name)
    server.store.delete("nodes", first.nodes[0].name)

    def same(watched):
        new, old = load_context("test", limits=QUICK), watched.latest
        fields = ("slices", "classes", "nodes", "claims", "taint_rules", "pods", "findings")
        return all(getattr(new, name) == getattr(old, name) for name in fields)

    watched.until(lambda w: w.latest.allocated.holders(GPU) and len(w.latest.nodes) == len(first.nodes))
    assert same(watched)


def test_a_change_of_nothing_that_is_kept_makes_no_snapshot(server, watched):
    """A node's heartbeat is an event twenty times a second on a large cluster, and no reason for another plan."""
    for beat in range(5):
        name = watched.latest.nodes[0].name
        labels = watched.latest.nodes[0].metadata.labels
        status = {"conditions": [{"type": "Ready", "lastHeartbeatTime": str(beat)}]}
        server.store.put({"kind": "Node", "metadata": {"name": name, "labels": dict(labels)}, "status": status})
    server.store.put(claim("late", "gpu-x"))
    watched.until(held)
    assert watched.latest.resource_versions["ResourceClaim"] == str(server.store.version)
    assert watched.count <= 2


def test_a_lost_connection_is_reported_and_resumed_from_the_last_version(server, watched):
    """While the server is away the state says so; then events go on where they ended, without a new list."""
    server.store.put(claim("before", "gpu-x"))
    watched.until(held)
    server.hang_up()
    watched.until(lambda w: w.follower.following.state is FollowState.LOST)
    assert watched.follower.following.reason
    server.store.delete("resourceclaims", "before", "team-a")
    server.whole.clear()
    server.listen()
    watched.until_live()
    watched.until(lambda w: not held(w))
    assert {target.partition("?")[2].partition("&")[0] for target in server.whole} == {"watch=true"}


def test_what_the_server_forgot_is_listed_anew(server, watched):
    """410 as an event: the kind is read again, and what vanished in between is gone."""
    server.store.put(claim("before", "gpu-x"))
    watched.until(held)
    server.hang_up()
    watched.until(lambda w: w.follower.following.state is FollowState.LOST)
    server.store.delete("resourceclaims", "before", "team-a")
    server.store.put(claim("after"))
    server.store.compact()
    server.listen()
    watched.until(lambda w: not held(w) and any(c.metadata.name == "after" for c in w.latest.claims))
    watched.until_live()


def test_a_cut_is_reported_in_plain_words(server, watched):
    server.drop()
    watched.until(lambda w: f"the connection to {server.url} was interrupted" in {state.reason for state in w.states})
    watched.until_live()


def test_410_after_an_outage_is_no_loss(server, config):
    """After an outage the server has often forgotten: the kind is listed at once, and the state has no word of it."""
    followed = Watched(load_context("test", limits=QUICK))
    followed.until_live()
    server.hang_up()
    followed.until_state(FollowState.LOST)
    for plural in ("resourceslices", "deviceclasses", "resourceclaims", "nodes", "devicetaintrules", "pods"):
        server.faults.add(f"{plural}?watch=true", status=410, reason="Expired")
    server.listen()
    followed.until_live()
    followed.follower.stop()
    assert not [s.reason for s in followed.states if "410" in s.reason.replace(server.url, "")]


def test_410_again_and_again_waits_between_the_lists(server, watched):
    """A server that forgets what it has just listed is told, and is not asked in a loop without pauses."""
    server.faults.add("resourceclaims?watch", times=10_000, status=410, reason="Expired")
    server.whole.clear()
    server.drop()
    watched.until(lambda w: any("410" in s.reason.replace(server.url, "") for s in w.states))
    server.faults.clear()
    watched.until_live()
    assert watched.follower.following.state is FollowState.LIVE


def test_watches_are_renewed_when_the_server_ends_them(server, config):
    """Servers end every watch after a while; it resumes from the last version, and no finding appears."""
    followed = Watched(load_context("test", limits=QUICK), ReadLimits(backoff_first=0.01, watch=1, idle=30))
    followed.until_live()
    followed.until_elsewhere(lambda: len(server.requests_for("resourceclaims?watch")) > 1)
    server.store.put(claim("late", "gpu-x"))
    followed.until(held)
    followed.follower.stop()
    assert {state.state for state in followed.states} == {FollowState.LIVE, FollowState.STOPPED}


def test_bookmarks_move_the_version_of_a_quiet_kind(server, config):
    """A watch that is resumed begins at the last bookmark, so that the server need not have kept its old events."""
    server.bookmark = 0.02
    followed = Watched(load_context("test", limits=QUICK))
    followed.until_live()
    server.store.put(claim("late", "gpu-x"))
    version = server.store.version

    def nodes_moved() -> bool:
        server.store.put(claim("next", "" if server.store.version % 2 else "gpu-x"))
        return int(followed.latest.resource_versions["Node"]) >= version

    followed.until_elsewhere(nodes_moved)
    followed.follower.stop()


def test_a_missing_right_to_watch_is_a_finding(server, config):
    server.denied = {("admin", "watch", "resourceclaims")}
    followed = Watched(load_context("test", limits=QUICK))
    followed.until(lambda w: w.latest.findings)
    (finding,) = followed.latest.findings
    assert "can-i watch resourceclaims.resource.k8s.io" in finding.advice
    assert "does not follow" in finding.message
    followed.until_live()
    followed.follower.stop()


def test_a_broken_object_is_reported_until_it_is_mended(server, watched):
    """What is wrong with an object is a finding for as long as it is wrong."""
    spec = {"driver": "d.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    broken = {"kind": "ResourceSlice", "metadata": {"name": "odd"}, "spec": {**spec, "devices": [{"name": 1}]}}
    server.store.put(broken)
    watched.until(lambda w: [f.rule for f in w.latest.findings] == ["document-broken"])
    server.store.put({**broken, "spec": {**spec, "devices": []}})
    watched.until(lambda w: not w.latest.findings and any(s.name == "odd" for s in w.latest.slices))


def test_nothing_is_told_once_it_has_stopped(server, watched):
    """After `stop` there is no snapshot and no state any more, whatever the server says."""
    watched.follower.stop()
    assert watched.follower.following.state is FollowState.STOPPED
    told = watched.count, len(watched.states)
    server.store.put(claim("late", "gpu-x"))
    server.hang_up()
    for thread in [t for t in threading.enumerate() if t.name.startswith("dra-lab-watch")]:
        thread.join(30)
    assert (watched.count, len(watched.states)) == told


def test_what_no_event_told_is_seen_with_the_next_list(server, config):
    """A restored etcd sends no event: each kind is listed again now and then although its watch is open."""
    server.store.put(claim("of-the-old-store", "gpu-x"))
    followed = Watched(load_context("test", limits=QUICK), replace(QUICK, relist=0.5))
    followed.until_live()
    server.store.objects["resourceclaims"].pop(("team-a", "of-the-old-store"))
    followed.until(lambda w: not held(w))
    followed.until_live()
    followed.follower.stop()


def test_only_a_running_cluster_can_be_followed():
    with pytest.raises(InputError, match="not a running cluster"):
        ClusterFollower(load_cluster("sample:two-sockets"), lambda _cluster: None, lambda: None)


def test_a_defect_of_who_looks_at_snapshots_is_reported_and_ends_the_following(server, config):
    """Not a state that says `live` while nothing comes any more."""
    states = []

    def fails(cluster):
        raise RuntimeError("as by a defect")

    follower = ClusterFollower(
        load_context("test", limits=QUICK), fails, lambda: states.append(follower.following), limits=QUICK, gather=0.01
    )
    follower.start()
    server.store.put(claim("late"))
    for thread in [t for t in threading.enumerate() if t.name == "dra-lab-follow"]:
        thread.join(30)
    assert states[-1].state is FollowState.STOPPED
    assert "RuntimeError: as by a defect" in states[-1].reason


SOON = ReadLimits(
    connect=2, read=2, overall=60, attempts=9, backoff_first=0.01, backoff_most=0.03, barred=0.02, page=3, watch=2
)
KINDS = ("slices", "classes", "nodes", "claims", "taint_rules", "pods", "findings")
PLURALS = ("resourceslices", "deviceclasses", "resourceclaims", "nodes", "devicetaintrules", "pods")


def change(server, chance):
    """Add, change or delete something."""
    name = f"c{chance.randrange(6)}"
    held = server.store.objects["resourceclaims"]
    if chance.random() < 0.4 and ("team-a", name) in held:
        server.store.delete("resourceclaims", name, "team-a")
    elif chance.random() < 0.8:
        server.store.put(claim(name, chance.choice(("", "gpu-x", "gpu-1"))))
    elif chance.random() < 0.5:
        labels = {"x": str(chance.randrange(3))}
        server.store.put({"kind": "Node", "metadata": {"name": f"n{chance.randrange(3)}", "labels": labels}})
    else:
        pod = {"kind": "Pod", "metadata": {"name": name, "namespace": "team-a"}, "spec": {}}
        uses = {"resourceClaims": [{"name": "g", "resourceClaimName": name}]} if chance.random() < 0.5 else {}
        server.store.put({**pod, "spec": uses})


def trouble(server, chance):
    faults = (
        {"status": 500, "reason": "InternalError"},
        {"status": 429, "reason": "TooManyRequests", "headers": {"Retry-After": "0.01"}},
        {"status": 410, "reason": "Expired"},
        {"status": 403, "reason": "Forbidden"},
        {"cut": 0},
        {"cut": 40},
        {"garbage": b"<html>"},
        {"ends": True, "match": "watch=true"},
    )
    what = chance.randrange(5)
    if what == 0:
        server.drop()
    elif what == 1:
        server.store.compact()
        server.drop()
    elif what == 2:
        server.hang_up()
        change(server, chance)
        server.listen()
    elif what == 3:
        server.denied = {("admin", chance.choice(("list", "watch")), plural) for plural in chance.sample(PLURALS, 2)}
        server.drop()
    else:
        fault = {"match": chance.choice(PLURALS), **chance.choice(faults)}
        server.faults.add(fault.pop("match"), times=chance.randint(1, 4), **fault)
        server.drop()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_followed_is_in_the_end_what_there_is(server, config, seed):
    """Changes between cuts, restarts, forgotten versions, refusals and rights that go: nothing is lost or left over."""
    chance = random.Random(seed)
    followed = Watched(load_context("test", limits=SOON), SOON)
    for _ in range(12):
        for _ in range(chance.randint(0, 6)):
            change(server, chance)
        asked = len(server.requests) + chance.randint(0, 8)
        trouble(server, chance)
        followed.until_elsewhere(lambda asked=asked: len(server.requests) >= asked)
    server.denied = set()
    server.faults.clear()
    server.store.put(claim("last"))
    followed.until(lambda w: any(c.metadata.name == "last" for c in w.latest.claims))
    new = load_context("test", limits=SOON)
    followed.until(lambda w: all(getattr(w.latest, kind) == getattr(new, kind) for kind in KINDS))
    followed.until_live()
    followed.follower.stop()
