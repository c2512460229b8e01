"""What passes by itself on a real cluster: restarts, updates, rights that come and go, servers that end watches."""

import threading

import pytest
from api_server.kubeconfig import plugin_user, write_kubeconfig
from api_server.small_cluster import claim
from api_server.watched import QUICK, Watched

from dra_lab.errors import InputError
from dra_lab.findings import Severity
from dra_lab.model.names import DeviceID
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.following import FollowState
from dra_lab.sources.live.reading import load_context

GPU = DeviceID("gpu.nvidia.com", "gpu-node-0", "gpu-x")
SOON = ReadLimits(connect=2, read=2, overall=20, attempts=3, backoff_first=0.01, backoff_most=0.05, barred=0.01)


@pytest.fixture
def watched(server, config):
    """The cluster, read and followed, asked for missing rights every hundredth of a second."""
    made = Watched(load_context("test", limits=SOON), SOON)
    made.until_live()
    yield made
    made.follower.stop()


def held(watched):
    return watched.latest.allocated.holders(GPU)


def rules(watched):
    return [finding.rule for finding in watched.latest.findings]


def test_a_server_that_is_restarted_in_the_middle_of_a_reading_is_waited_for(server, config):
    """Connection refused is final at first, and passing once the server has answered: the rest is read then."""
    whole, refused = load_context("test"), threading.Semaphore(0)

    class Signalling(ReadLimits):
        def delay(self, attempt, retry_after=None):
            refused.release()
            return 0.01

    limits = Signalling(connect=2, read=5, overall=30, attempts=1000, page=2)
    server.faults.add("resourceslices?limit=2&continue", silent=True)
    read = []
    thread = threading.Thread(target=lambda: read.append(load_context("test", limits=limits)))
    thread.start()
    assert server.faults.waiting.acquire(timeout=60)
    server.hang_up()
    for _ in range(10):
        assert refused.acquire(timeout=60)
    server.listen()
    thread.join(60)
    assert read[0].slices == whole.slices
    # a reading does not wait long for the levels of the fabric (`kinds.ATTEMPTS`); a note says if they were not read
    assert [finding for finding in read[0].findings if finding.severity is not Severity.NOTE] == []


def test_a_right_to_watch_that_comes_back_is_used(server, watched):
    """A server just begun refuses what it allows a moment later: the kind is followed again, the finding goes."""
    server.denied = {("admin", "watch", "resourceclaims")}
    server.drop()
    watched.until(lambda w: rules(w) == ["right-missing"])
    server.store.put(claim("late", "gpu-x"))
    server.denied = set()
    watched.until(lambda w: held(w) and rules(w) == [])
    watched.until_live()


def test_a_right_to_list_that_is_withdrawn_is_named_so(server, watched):
    """If a kind must be listed again, the finding names that right, and what was read stays."""
    server.hang_up()
    watched.until_state(FollowState.LOST)
    server.store.put(claim("late"))
    server.store.compact()
    server.denied = {("admin", "list", "resourceclaims")}
    server.listen()
    watched.until(rules)
    (finding,) = watched.latest.findings
    assert (
        "may not list resourceclaims.resource.k8s.io: dra-lab does not follow changes of resourceclaims"
        in finding.message
    )
    assert "can-i list resourceclaims.resource.k8s.io" in finding.advice


@pytest.mark.parametrize("trouble", ["denied", "failing"])
def test_a_kind_that_could_not_be_read_is_read_once_that_is_possible(server, config, trouble):
    """Claims that were forbidden, or that the server failed on: then they are known, and what was missing is not."""
    server.store.put(claim("held", "gpu-x"))
    if trouble == "denied":
        server.denied = {("admin", "list", "resourceclaims")}
    else:
        server.faults.add("resourceclaims", times=10_000, status=500, reason="InternalError")
    followed = Watched(load_context("test", limits=SOON), SOON)
    assert len(rules(followed)) == 1
    assert not followed.latest.claims_known
    server.denied = set()
    server.faults.clear()
    followed.until(lambda w: w.latest.claims_known and held(w) and rules(w) == [])
    followed.until_live()
    followed.follower.stop()


def test_a_namespace_that_could_not_be_read_is_read_once_that_is_possible(server, config):
    """Only the finding about this namespace is removed."""
    server.store.put(claim("held", "gpu-x", namespace="team-b"))
    server.denied = {("admin", "list", "resourceclaims")}
    spaces = ["team-a", "team-b", "team-c"]
    server.granted = {("admin", "team-a")}
    followed = Watched(load_context("test", limits=SOON, namespaces=spaces), SOON)
    assert rules(followed).count("right-missing") == 2
    server.granted = {("admin", "team-a"), ("admin", "team-b")}
    followed.until(held)
    followed.until(lambda w: rules(w).count("right-missing") == 1)
    assert "'team-c'" in next(f.message for f in followed.latest.findings if f.rule == "right-missing")
    followed.follower.stop()


def test_a_kind_that_may_never_be_read_leaves_the_others_followed(server, config):
    """The finding from the first reading stays, appears once, and the state is live."""
    server.denied = {("admin", verb, "pods") for verb in ("list", "watch")}
    followed = Watched(load_context("test", limits=SOON), SOON)
    followed.until_live()
    server.store.put(claim("late", "gpu-x"))
    followed.until(held)
    assert rules(followed) == ["right-missing"]
    followed.follower.stop()


def test_all_rights_to_watch_withdrawn_is_said_and_passes(server, watched):
    """The state says why nothing comes; it is live again when the rights are back."""
    plurals = ("resourceslices", "deviceclasses", "resourceclaims", "nodes", "devicetaintrules", "pods")
    server.denied = {("admin", "watch", plural) for plural in plurals}
    server.drop()
    watched.until(lambda w: "may not watch" in w.follower.following.reason)
    server.denied = set()
    watched.until_live()


def test_a_kind_that_moves_to_another_version_is_followed_there(server, watched):
    """An update of the server takes an old version away: the newest that is left is watched, from the same moment."""
    server.versions = ("v1beta2", "v1beta1")
    server.requests.clear()
    server.whole.clear()
    server.drop()
    server.store.put(claim("late", "gpu-x"))
    watched.until(held)
    watched.until_live()
    assert server.requests_for("v1beta2/resourceclaims?watch")
    assert not [target for target in server.whole if "resourceclaims" in target and "watch" not in target]


def test_a_group_that_is_switched_off_is_said_until_it_is_back(server, watched):
    """The objects that were read stay, and the state names the kinds that the server does not serve any more."""
    there = server.versions
    server.versions = ()
    server.drop()
    watched.until(lambda w: "any more" in w.follower.following.reason)
    assert watched.latest.slices
    server.versions = there
    watched.until_live()


def test_a_plugin_is_not_run_again_and_again(server, tmp_path, monkeypatch):
    """Refused credentials while following: the plug-in may open a browser, so six watches ask it once in a while."""
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path, server, plugin_user(tmp_path, {"token": "t"}))))
    server.tokens["t"] = "admin"
    followed = Watched(load_context("test", limits=SOON), SOON)
    followed.until_live()
    before = (tmp_path / "plugin-runs").read_text()
    del server.tokens["t"]
    server.drop()
    for _ in range(5):
        known = len(server.requests)
        followed.until_elsewhere(lambda known=known: len(server.requests) > known + 6)
    assert len((tmp_path / "plugin-runs").read_text()) == len(before) + 1
    assert "401 Unauthorized). Log in again" in followed.follower.following.reason
    followed.follower.stop()


def test_a_watch_that_ends_at_once_is_no_loop(server, config):
    """A server that ends every watch without an event is asked again after a pause, and it is said."""
    followed = Watched(load_context("test", limits=QUICK), ReadLimits(backoff_first=60, backoff_most=60))
    followed.until_live()
    server.faults.add("watch=true", times=10_000, ends=True)
    server.requests.clear()
    server.drop()
    followed.until_state(FollowState.LOST)
    followed.follower.stop()
    assert len(server.requests) <= 12


def test_a_watch_that_does_not_begin_is_lost(server, config):
    """Silence is in order once a watch has begun; before, the connection is of no use, which is shown."""
    followed = Watched(load_context("test", limits=QUICK), ReadLimits(read=0.5, backoff_first=0.01, backoff_most=0.05))
    followed.until_live()
    server.faults.add("watch=true", times=10_000, silent=True)
    server.drop()
    followed.until(lambda w: "does not answer" in w.follower.following.reason)
    server.faults.clear()
    server.faults.go_on.set()
    followed.until_live()
    followed.follower.stop()


def test_a_cut_after_a_quiet_while_is_resumed_without_a_word(server, config):
    """Load balancers end connections on which nothing moves: that is no loss, and nothing is missed."""
    followed = Watched(load_context("test", limits=QUICK), ReadLimits(quiet=0, backoff_first=0.01, backoff_most=0.05))
    followed.until_live()
    server.requests.clear()
    server.drop()
    server.store.put(claim("late", "gpu-x"))
    followed.until(held)
    followed.until_elsewhere(lambda: len(server.requests_for("watch=true")) >= 6)
    followed.follower.stop()
    assert {state.state for state in followed.states} == {FollowState.LIVE, FollowState.STOPPED}


def test_a_server_that_went_away_after_a_quiet_while_is_lost(server, config):
    """What is resumed without a word must be there: the next attempt tells."""
    followed = Watched(load_context("test", limits=QUICK), ReadLimits(quiet=0, backoff_first=0.01, backoff_most=0.05))
    followed.until_live()
    server.hang_up()
    followed.until_state(FollowState.LOST)
    server.listen()
    followed.until_live()
    followed.follower.stop()


def test_a_silent_list_is_a_loss(server, config):
    """Only an open watch may be silent; a server that does not answer when a kind is listed again is lost."""
    limits = ReadLimits(read=0.1, attempts=2, backoff_first=0.01, backoff_most=0.05)
    followed = Watched(load_context("test", limits=QUICK), limits)
    followed.until_live()
    server.faults.add("resourceclaims?limit", times=10_000, silent=True)
    server.store.compact()
    server.drop()
    followed.until_state(FollowState.LOST)
    server.faults.clear()
    server.faults.go_on.set()
    followed.until_live()
    followed.follower.stop()


def test_a_server_with_too_much_to_do_is_not_asked_for_lists(server, watched):
    """After any number of 429 and 503 on watches, the watch resumes where it ended, and no kind is listed again."""
    server.whole.clear()
    server.faults.add("watch=true", times=40, status=429, reason="TooManyRequests")
    server.drop()
    server.store.put(claim("late", "gpu-x"))
    watched.until(held)
    watched.until_live()
    assert not [target for target in server.whole if "watch" not in target]


def test_rights_in_some_namespaces_are_enough_for_these(server, config):
    """Claims of all namespaces are forbidden, those of one are read, and the other is named with its right."""
    server.store.put(claim("b", "gpu-1", namespace="team-b"))
    server.denied = {("admin", "list", "resourceclaims"), ("admin", "list", "pods")}
    server.granted = {("admin", "team-b")}
    cluster = load_context("test", limits=QUICK, namespaces=["team-b", "team-c"])
    assert [c.metadata.name for c in cluster.claims] == ["b"]
    advice = [finding.advice for finding in cluster.findings if finding.rule == "right-missing"]
    assert "the devices of its claims look free" in cluster.findings[1].message
    assert [f"list {kind} --namespace team-c" in text for kind, text in zip(CLAIMS_PODS, advice, strict=True)] == [
        True
    ] * 2


CLAIMS_PODS = ("resourceclaims.resource.k8s.io", "pods")


def test_a_namespace_with_nothing_in_it_may_be_a_wrong_name(server, config):
    """The server answers alike for one that does not exist; what cannot be a name is refused at once."""
    found = load_context("test", limits=QUICK, namespaces=["team-a", "taem-a"]).findings
    assert [f.rule for f in found] == ["claims-some-namespaces", "namespace-empty"]
    assert "'taem-a'" in found[1].message
    assert {c.metadata.namespace for c in load_context("test", namespaces="team-a").claims} == {"team-a"}
    server.requests.clear()
    with pytest.raises(InputError, match="not a name of a namespace"):
        load_context("test", namespaces=["../../nodes"])
    assert server.requests == []


@pytest.mark.parametrize("versions", [("v1", "v1beta2"), ("v1beta2", "v1beta1"), ("v1beta1", "v1alpha3"), ()])
def test_without_discovery_the_lists_are_asked(server, config, versions):
    """A user who may list but not discover: the same cluster, of whatever versions there are."""
    server.versions = versions
    known = load_context("test", limits=QUICK)
    server.faults.add("/apis/resource.k8s.io", times=1, status=403, reason="Forbidden")
    found = load_context("test", limits=QUICK)
    assert (found.slices, found.taint_rules, found.findings) == (known.slices, known.taint_rules, known.findings)
