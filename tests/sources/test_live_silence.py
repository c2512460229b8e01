"""A caller that stops does not wait for a server that takes requests and never answers."""

import os
import select
import threading
from collections.abc import Callable

import pytest
from api_server.kubeconfig import plugin_user, write_kubeconfig

from dra_lab.errors import Cancelled, SourceError
from dra_lab.sources.live import ClusterFollower, FollowState, ReadLimits, load_context

SOON = 10.0
"""Seconds to wait for a thread; the time-outs of the default limits are 30 and 45."""

pytestmark = pytest.mark.usefixtures("config")


@pytest.mark.parametrize(("where", "times"), [("watch=true", 3), ("/apis/", 1)])
def test_following_stops_at_once_where_the_server_is_silent(server, where, times):
    """Also before the first watch; the threads that wait for the server keep the program from nothing."""
    cluster = load_context("test")
    server.faults.add(where, silent=True, times=times)
    follower = ClusterFollower(cluster, lambda _cluster: None, lambda: None)
    follower.start()
    for _ in range(times):
        assert server.faults.waiting.acquire(timeout=60)
    follower.stop()
    assert follower.following.state is FollowState.STOPPED
    left = [t for t in threading.enumerate() if t.name.startswith(("dra-lab-follow", "dra-lab-watch"))]
    assert all(thread.daemon for thread in left)


@pytest.fixture
def waiting_plugin(server, config, tmp_path, monkeypatch):
    """A plug-in that waits for a person, and something to read once it does; it ends with the test."""
    go_on, begun = tmp_path / "go-on", tmp_path / "begun"
    os.mkfifo(go_on)
    os.mkfifo(begun)
    says = os.open(begun, os.O_RDONLY | os.O_NONBLOCK)
    waits = f"\nopen({str(begun)!r}, 'w').write('waits')\nopen({str(go_on)!r}).read()\n"
    user = plugin_user(tmp_path, {"token": "good-token"})
    script = tmp_path / "plugin"
    script.write_text(script.read_text().replace("\n", waits, 1))
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path, server, user)))
    yield says
    with go_on.open("w"):
        pass
    for thread in [t for t in threading.enumerate() if t.name == "dra-lab-connect"]:
        thread.join(30)
    os.close(says)


def ends_when_cancelled(is_waiting: Callable[[], object]) -> bool:
    """Cancel a reading once it waits; return whether it ended, long before any of its time-outs."""
    cancel, ended = threading.Event(), []

    def read():
        with pytest.raises(Cancelled):
            load_context("test", cancel=cancel, progress=lambda _progress: None)
        ended.append("cancelled")

    thread = threading.Thread(target=read)
    thread.start()
    assert is_waiting()
    cancel.set()
    thread.join(SOON)
    return ended == ["cancelled"]


def test_a_plugin_that_waits_for_a_person_can_be_cancelled(waiting_plugin):
    """The plugin may have opened a log-in page that no person looks at."""
    assert ends_when_cancelled(lambda: select.select([waiting_plugin], [], [], 60)[0])


def test_a_plugin_that_does_not_end_is_reported(waiting_plugin):
    """After the time that the whole reading has, with the command that shows what it waits for."""
    with pytest.raises(SourceError, match=r"did not finish within 0.2 s; .* kubectl get nodes --context test"):
        load_context("test", limits=ReadLimits(overall=0.2), progress=lambda _progress: None)


@pytest.mark.parametrize("where", ["/resourceclaims?", "/version", "/apis/"])
def test_a_reading_that_is_cancelled_ends_at_once(server, where):
    """In a list, and in what comes before the lists."""
    server.faults.add(where, silent=True)
    assert ends_when_cancelled(lambda: server.faults.waiting.acquire(timeout=60))
