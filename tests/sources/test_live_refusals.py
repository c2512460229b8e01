"""Servers that refuse, fail, stall or die while they are read: what is said, what is tried again, what is lost."""

import os
import select
import socket
import threading
from collections.abc import Callable

import pytest
from api_server.kubeconfig import plugin_user, untrusted, write_kubeconfig

from dra_lab.errors import Cancelled, SourceError
from dra_lab.findings import Severity
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.following import ClusterFollower, FollowState
from dra_lab.sources.live.reading import load_context

pytestmark = pytest.mark.usefixtures("config")

QUICK = ReadLimits(connect=2, read=2, overall=60, attempts=4, backoff_first=0.001, backoff_most=0.002)
PLURALS = ["resourceslices", "deviceclasses", "resourceclaims", "nodes", "devicetaintrules", "pods"]
RESOURCES = {name: name if name in ("nodes", "pods") else f"{name}.resource.k8s.io" for name in PLURALS}


def refused(limits=QUICK) -> str:
    with pytest.raises(SourceError) as caught:
        load_context("test", limits=limits)
    assert "good-token" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("plural", PLURALS)
def test_a_missing_right_is_a_finding_with_the_command_that_shows_it(server, config, plural):
    server.denied = {("admin", "list", plural)}
    cluster = load_context("test", limits=QUICK)
    (finding,) = cluster.findings
    assert finding.rule == "right-missing"
    assert f"kubectl auth can-i list {RESOURCES[plural]}" in finding.advice
    assert "--context test" in finding.advice
    assert cluster.claims_known == (plural != "resourceclaims") == ("--read-namespace" not in finding.advice)


def test_without_any_right_a_table_has_one_row_for_each_kind(server, config):
    """Neither slices nor nodes: there is nothing to plan on, and each kind that is missing stands in one row."""
    server.denied = {("admin", "list", plural) for plural in PLURALS}
    *table, command = refused().splitlines()
    rows = [line.split()[:2] for line in table if line.startswith("  ")]
    assert rows == [["KIND", "LIST"], *([name, "no"] for name in RESOURCES.values())]
    assert max(map(len, table)) <= 120
    assert command.startswith("kubectl create clusterrole dra-lab-reader --verb=get,list,watch --resource=")


def test_without_any_right_one_command_gives_them_to_the_user_whom_the_server_names(server, config):
    """The kubeconfig's name of a user is not the server's: the binding needs the second."""
    server.denied = {("admin", "list", plural) for plural in PLURALS}
    assert "--clusterrole=dra-lab-reader --user=admin --context test" in refused().splitlines()[-1]


def test_what_was_read_stands_in_the_table_of_rights(server, config):
    """A kind that may be listed has its number of objects."""
    server.denied = {("admin", "list", plural) for plural in PLURALS if plural != "deviceclasses"}
    count = len(server.store.objects["deviceclasses"])
    assert f"deviceclasses.resource.k8s.io     yes     {count} read" in refused()


def test_refused_credentials_say_who_and_what_to_do(server, config):
    """401: the user of the kubeconfig and the next step."""
    server.tokens.clear()
    words = refused().replace(server.url, "")
    assert "401" in words
    assert "test-user" in words
    assert "Log in again" in words


@pytest.mark.parametrize(("where", "status"), [("/apis/", 401), ("resourceclaims", 401), ("resourceslices", 500)])
def test_an_error_is_no_cancelling(server, config, where, status):
    """The cancel event belongs to the caller, so an error does not set it and is raised."""
    server.faults.add(where, times=99, status=status, reason="Unauthorized")
    cancel = threading.Event()
    with pytest.raises(SourceError, match=str(status)):
        load_context("test", limits=QUICK, cancel=cancel, progress=lambda _progress: None)
    assert not cancel.is_set()


@pytest.mark.parametrize("versions", [(), ("v1alpha3",)])
def test_a_server_without_dra_says_so(server, config, versions):
    """404 of the API group, or a version too old: the nodes are read, and the finding says why there is no DRA."""
    server.versions = versions
    cluster = load_context("test", limits=QUICK)
    (finding,) = cluster.findings
    assert (finding.rule, finding.severity) == ("dra-not-served", Severity.ERROR)
    assert "v1.36.2" in finding.message
    assert finding.advice.endswith("kubectl api-resources --api-group resource.k8s.io --context test")
    assert cluster.nodes
    assert not cluster.slices


@pytest.mark.parametrize(
    ("status", "reason"), [(429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable")]
)
def test_passing_trouble_is_tried_again(server, config, status, reason):
    """429 and 5xx twice, then an answer: the whole cluster, without a word."""
    server.faults.add("resourceslices", times=2, status=status, reason=reason)
    cluster = load_context("test", limits=QUICK)
    assert cluster.slices
    assert cluster.findings == ()
    assert len(server.requests_for("resourceslices")) == 3


def test_a_server_that_keeps_failing_is_reported_with_what_was_read(server, config):
    """Repeated 500 for the slices ends, after a fixed number of attempts, in an error with what had been read."""
    server.faults.add("resourceslices", times=99, status=500, reason="InternalError")
    words = refused().replace(server.url, "")
    assert "500" in words
    assert "Read so far" in words
    assert len(server.requests_for("resourceslices")) == QUICK.attempts


def test_one_kind_that_keeps_failing_is_a_finding(server, config):
    """500 for ever on claims: the rest is read, and that devices in use are unknown is told."""
    server.faults.add("resourceclaims", times=99, status=500, reason="InternalError")
    cluster = load_context("test", limits=QUICK)
    (finding,) = cluster.findings
    assert finding.rule == "kind-not-read"
    assert "not known which devices are in use" in finding.message
    assert not cluster.claims_known


@pytest.mark.some(2)
@pytest.mark.parametrize("fault", [{"cut": 100}, {"cut": 0}, {"stall": True}])
def test_a_cut_or_stalled_answer_is_asked_for_again(server, config, fault):
    """A connection that breaks or falls silent in the middle of a list costs a second attempt."""
    server.faults.add("resourceslices", **fault)
    cluster = load_context("test", limits=QUICK)
    assert cluster.slices
    assert cluster.findings == ()


def test_a_server_that_always_stalls_is_reported(server, config):
    """Silence ends after a fixed number of read time-outs."""
    server.faults.add("resourceslices", times=99, stall=True)
    words = refused(ReadLimits(connect=2, read=0.5, overall=60, attempts=2, backoff_first=0.001))
    assert "stopped in the middle of an answer" in words


def test_the_overall_time_has_an_end(server, config):
    """A reading does not wait for a moment after its end, and does not ask again."""
    server.faults.add("resourceslices", times=99, status=429, headers={"Retry-After": "60"})
    assert "429" in refused(ReadLimits(connect=2, read=2, overall=20)).replace(server.url, "")
    assert len(server.requests_for("resourceslices")) == 1


NOT_KUBERNETES = "does not answer like a Kubernetes API server"
BODIES = (b"<html>Please log in</html>", b"", b'{"kind": "Pizza"}', b'{"kind":"NodeList"', b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("where", "fault", "words"),
    [
        ("resourceclaims", {"status": 401, "reason": "Unauthorized"}, "Log in again"),
        *(("resourceslices", {"garbage": body}, NOT_KUBERNETES) for body in BODIES),
    ],
)
def test_what_is_no_cluster_in_the_middle_ends_it(server, config, where, fault, words):
    """A token that expires, a login page, half a JSON text; the error shows how the answer begins."""
    server.faults.add(where, times=99, **fault)
    assert words in refused()


def test_a_redirect_is_not_followed(server, config):
    """Credentials are never sent to the target of a redirect."""
    server.faults.add("resourceslices", times=99, status=302, headers={"Location": f"{server.url}/elsewhere"})
    assert "302" in refused().replace(server.url, "")
    assert not server.requests_for("elsewhere")


def with_server(config, url):
    text = config.read_text().splitlines()
    config.write_text("\n".join(f"    server: {url}" if "server:" in line else line for line in text))


def test_a_server_that_is_off_is_reported(server, config):
    server.close()
    words = refused()
    assert "connection refused" in words
    assert server.url in words


def test_a_name_that_is_unknown_is_reported(config):
    with_server(config, "https://no-such-host.invalid:6443")
    assert "this machine cannot resolve its name" in refused()


def test_a_certificate_of_somebody_else_is_reported(config, tmp_path):
    """TLS: the authority of the kubeconfig did not sign it."""
    (tmp_path / "test-ca.pem").write_bytes(untrusted())
    words = refused()
    assert "is not trusted" in words
    assert "certificate-authority" in words


def test_a_port_without_tls_is_reported(config):
    with socket.create_server(("127.0.0.1", 0)) as other:
        with_server(config, f"https://127.0.0.1:{other.getsockname()[1]}")
        words = refused(ReadLimits(connect=0.2, read=0.2, attempts=1))
    assert "127.0.0.1" in words


def test_what_is_missing_is_said_on_every_plan(server, config):
    """Without claims the plan itself says that devices in use are unknown, whether it fits or not."""
    from dra_lab import KubernetesRelease, make_plan
    from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
    from dra_lab.model.sketch import ClaimSketch

    server.denied = {("admin", "list", "resourceclaims")}
    cluster = load_context("test", limits=QUICK)
    for count in (1, 9):
        exactly = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count)
        sketch = ClaimSketch(name="s", requests=(DeviceRequest(name="gpu", exactly=exactly),))
        plan = make_plan(cluster, sketch, release=KubernetesRelease("1.36"))
        assert plan.fits == (count == 1)
        assert "right-missing" in {finding.rule for finding in plan.findings}


SOON = 10.0
"""Seconds to wait for a thread; the time-outs of the default limits are 30 and 45."""


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
    server.faults.add(where, silent=True)
    assert ends_when_cancelled(lambda: server.faults.waiting.acquire(timeout=60))
