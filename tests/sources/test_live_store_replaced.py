"""An etcd that is restored, emptied or replaced sends no event: lists now and then find it."""

import json
import threading
from dataclasses import replace

import pytest
from api_server.small_cluster import claim, recorded_store
from api_server.store import Store
from api_server.watched import Watched

from dra_lab.sources.live import FollowState, ReadLimits, load_context

OFTEN = ReadLimits(connect=2, read=2, attempts=3, backoff_first=0.01, backoff_most=0.05, consistency=0.05, settle=0.05)


@pytest.fixture
def watched(server, config):
    """The cluster with a claim of its own, followed with frequent comparisons; stopped after the test."""
    server.store.put(claim("of-the-old-store", "gpu-x"))
    made = Watched(load_context("test", limits=OFTEN), OFTEN)
    made.until_live()
    yield made
    made.follower.stop()


def names(watched) -> set[str]:
    """The names of the claims that are shown."""
    return {item.metadata.name for item in watched.latest.claims}


def devices(watched, name) -> set[str]:
    """The devices that a claim holds, as it is shown."""
    held = [item.status.allocation for item in watched.latest.claims if item.metadata.name == name]
    return {result.device for allocation in held if allocation for result in allocation.devices.results}


def replace_store(server, store, *, cut=True) -> None:
    """Let the server have another store, as after `etcdctl snapshot restore`; `cut` restarts it too."""
    old, server.store = server.store, store
    if cut:
        server.drop()
    with old.changed:
        old.changed.notify_all()


def test_a_store_whose_versions_went_back_is_listed_anew(server, watched):
    """A lower resource version than before means an older store: all kinds are listed again."""
    replace_store(server, recorded_store())
    watched.until(lambda w: "of-the-old-store" not in names(w))
    server.store.put(claim("of-the-new-store"))
    watched.until(lambda w: "of-the-new-store" in names(w))


def test_an_emptied_store_shows_an_empty_cluster(server, watched):
    """Where the server has nothing any more, nothing is shown."""
    replace_store(server, Store(version=3))
    watched.until(lambda w: not (w.latest.slices or w.latest.nodes or w.latest.claims))
    watched.until_live()


@pytest.mark.parametrize("cut", [True, False])
def test_a_store_with_other_objects_and_higher_versions_is_listed_anew(server, watched, cut):
    """Versions that grew say nothing: the names, `uid`s and versions of the objects are compared."""
    other = recorded_store()
    other.version = server.store.version + 1000
    other.put(claim("of-the-new-store"))
    replace_store(server, other, cut=cut)
    watched.until(lambda w: names(w) >= {"of-the-new-store"} and "of-the-old-store" not in names(w))


def test_objects_of_the_same_names_and_another_uid_are_listed_anew(server, watched):
    """Names are given again: the `uid` says that it is another object."""
    other = recorded_store()
    other.put(claim("of-the-old-store") | {"metadata": {"name": "of-the-old-store", "namespace": "team-a", "uid": "n"}})
    other.version = server.store.version
    replace_store(server, other)
    watched.until(lambda w: [c.metadata.uid for c in w.latest.claims if c.metadata.name == "of-the-old-store"] == ["n"])


def test_an_object_of_an_earlier_version_of_its_own_is_listed_anew(server, watched):
    """A store restored with `--bump-revision` has higher versions, and objects as before their last change."""
    compared = next(watch for watch in watched.follower._watches if watch.label == "ResourceClaim")
    watched.until_elsewhere(lambda: compared.changes)
    other = recorded_store()
    key = ("team-a", "of-the-old-store")
    item = json.loads(server.store.objects["resourceclaims"][key])
    version = int(item["metadata"]["resourceVersion"]) - 1
    earlier = claim("of-the-old-store", "gpu-y")
    earlier["metadata"] = {**item["metadata"], "resourceVersion": str(version)}
    other.objects["resourceclaims"] = {**server.store.objects["resourceclaims"], key: json.dumps(earlier).encode()}
    other.version = server.store.version + 1000
    replace_store(server, other)
    watched.until(lambda w: "gpu-y" in devices(w, "of-the-old-store"))


def replace_content(server) -> None:
    """Let the server have the same store, but for what a claim holds; all versions are as before."""
    other, key = recorded_store(), ("team-a", "of-the-old-store")
    metadata = json.loads(server.store.objects["resourceclaims"][key])["metadata"]
    held = {**claim("of-the-old-store", "gpu-y"), "metadata": metadata}
    other.objects["resourceclaims"] = {**server.store.objects["resourceclaims"], key: json.dumps(held).encode()}
    other.version = server.store.version
    replace_store(server, other)


def whole_lists(server, plural) -> int:
    """How many lists of whole objects of a kind were asked for."""
    return sum(f"{plural}?limit=500" in target for target in server.whole)


@pytest.fixture(params=[0.0])
def compared_whole(server, config, request):
    """The cluster with an extra claim, whose objects are compared whole after the given number of seconds."""
    server.store.put(claim("of-the-old-store", "gpu-x"))
    limits = replace(OFTEN, whole=request.param)
    made = Watched(load_context("test", limits=limits), limits)
    made.until_live()
    yield made
    made.follower.stop()


def test_the_same_versions_with_another_content_are_listed_anew(server, compared_whole):
    """A store restored before its last write gives the version of that write again, to another one."""
    replace_content(server)
    compared_whole.until(lambda w: devices(w, "of-the-old-store") == {"gpu-y"})


def test_objects_are_compared_whole_after_a_long_outage(server, config):
    """An etcd is restored while its API server is away, so the comparison does not wait for its next turn."""
    server.store.put(claim("of-the-old-store", "gpu-x"))
    limits = replace(OFTEN, consistency=3600.0, outage=0.0)
    watched = Watched(load_context("test", limits=limits), limits)
    watched.until_live()
    replace_content(server)
    watched.until(lambda w: devices(w, "of-the-old-store") == {"gpu-y"})
    watched.follower.stop()


def test_equal_objects_compared_whole_change_nothing(server, compared_whole):
    """No watch is begun again and no snapshot made, also while events are on their way."""
    server.requests.clear()
    server.whole.clear()
    for number in range(100):
        server.store.put(claim("often", "gpu-x" if number % 2 else ""))
    server.store.put(claim("last"))
    compared_whole.until_elsewhere(lambda: whole_lists(server, "resourceclaims") > 1)
    compared_whole.until(lambda w: "last" in names(w))
    count, lists = compared_whole.count, whole_lists(server, "resourceclaims")
    compared_whole.until_elsewhere(lambda: whole_lists(server, "resourceclaims") > lists + 2)
    assert (server.requests_for("watch=true"), compared_whole.count) == ([], count)


@pytest.mark.parametrize("compared_whole", [1.0], indirect=True)
def test_an_object_that_cannot_be_read_is_no_difference_when_compared_whole(server, compared_whole):
    """The list of names contains it and the objects do not; no kind is listed again and again for that."""
    server.requests.clear()
    server.whole.clear()
    spec = {"driver": "d.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    server.store.put({"kind": "ResourceSlice", "metadata": {"name": "odd"}, "spec": {**spec, "devices": [{"name": 1}]}})
    compared_whole.until(lambda w: any(f.rule == "document-broken" for f in w.latest.findings))
    compared_whole.until_elsewhere(lambda: whole_lists(server, "resourceslices") > 3)
    assert len(server.requests_for("resourceslices?watch=true")) <= 1


def test_an_event_of_a_lower_version_lists_anew(server, watched):
    """Also the open watch may show it, long before the next comparison."""
    rare = Watched(load_context("test", limits=OFTEN), ReadLimits(backoff_first=0.01, backoff_most=0.05))
    rare.until_live()
    with server.store.changed:
        server.store.history.clear()
        server.store.version = 3
        server.store.objects["resourceclaims"].pop(("team-a", "of-the-old-store"))
    wake = next(watch for watch in rare.follower._watches if watch.label == "ResourceClaim")
    line = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "3"}}}
    with pytest.raises(Exception, match="earlier resource version"):
        wake._event(json.dumps(line).encode())
    rare.follower.stop()


def test_a_cluster_that_stays_is_not_listed_again(server, watched):
    """What is equal costs names only: no kind is listed whole, no watch begun again, no snapshot made."""
    count = watched.count
    server.requests.clear()
    server.whole.clear()
    watched.until_elsewhere(lambda: len(server.requests_for("resourceslices?limit=1")) > 5)
    assert server.whole == []
    assert watched.count == count


def test_a_change_on_its_way_is_no_difference(server, watched):
    """Events come a little later than the list that has them; while they come, no kind is listed again."""
    server.requests.clear()
    for number in range(200):
        server.store.put(claim(f"c{number % 7}", "gpu-x" if number % 2 else ""))
        if number % 5 == 0:
            server.store.delete("resourceclaims", f"c{number % 7}", "team-a")
    watched.until_elsewhere(lambda: len(server.requests_for("resourceclaims?limit=1")) > 10)
    assert server.requests_for("watch=true") == []


@pytest.mark.long
def test_an_object_that_cannot_be_read_lists_anew_at_most_once(server, watched):
    """It is in the server's list and never among ours, which is no reason to list for ever."""
    server.requests.clear()
    spec = {"driver": "d.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    broken = {"kind": "ResourceSlice", "metadata": {"name": "odd"}, "spec": {**spec, "devices": [{"name": 1}]}}
    server.store.put(broken)
    watched.until(lambda w: any(f.rule == "document-broken" for f in w.latest.findings))
    watched.until_elsewhere(lambda: len(server.requests_for("resourceclaims?limit=1")) > 20)
    assert len(server.requests_for("resourceclaims?watch=true")) <= 1


def test_a_server_that_does_not_answer_the_comparison_changes_nothing(server, watched):
    """The watches report the failure of the server; a failed comparison is repeated later."""
    server.faults.add("limit=1", times=20, status=503, reason="ServiceUnavailable")
    watched.until_elsewhere(lambda: len(server.requests_for("limit=1")) > 30)
    assert watched.follower.following.state is FollowState.LIVE


def test_the_comparison_ends_with_the_following(server, watched):
    """No thread of it is left after `stop`."""
    watched.follower.stop()
    assert "dra-lab-watch-consistency" not in {thread.name for thread in threading.enumerate()}
