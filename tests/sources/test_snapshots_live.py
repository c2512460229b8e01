"""A running cluster captured by the command, over a real socket from a server that answers as Kubernetes does."""

from __future__ import annotations

import pytest

from dra_lab.cli import main
from dra_lab.sources import load_cluster

pytestmark = pytest.mark.usefixtures("config")


def everything(path):
    """All that a snapshot's folder says."""
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(path.iterdir()))


def test_a_context_is_captured_and_read_back_as_it_was(server, tmp_path):
    """Slices, selectors of classes, what claims hold, pods that use them, and when all of it was read."""
    live = load_cluster("context:test")
    assert main(["capture", "context:test", str(tmp_path / "out")]) == 0
    read = load_cluster(tmp_path / "out")
    assert [s.spec for s in read.slices] == [s.spec for s in live.slices]
    assert [c.spec.selectors for c in read.classes] == [c.spec.selectors for c in live.classes]
    assert (read.allocated, read.claims_known) == (live.allocated, live.claims_known)
    assert [pod.spec.resource_claims for pod in read.pods] == [pod.spec.resource_claims for pod in live.pods]
    assert read.read_at[:16] >= live.read_at[:16]


def test_neither_credentials_nor_server_are_in_a_snapshot(server, tmp_path):
    """Only the name of the context is, and under pseudonyms not even that."""
    assert main(["capture", "context:test", str(tmp_path / "plain")]) == 0
    assert main(["capture", "context:test", str(tmp_path / "hidden"), "--anonymise"]) == 0
    plain, hidden = everything(tmp_path / "plain"), everything(tmp_path / "hidden")
    for secret in ("good-token", server.url, "test-user"):
        assert secret not in plain
        assert secret not in hidden
    assert '"context:test"' in plain
    assert '"context:test"' not in hidden
    names = {node.name for node in load_cluster("context:test").nodes}
    assert not [name for name in names if name in hidden]


def test_claims_of_named_namespaces_alone_are_asked_for(server, tmp_path, capsys):
    """The server is asked for nothing of other namespaces, and what that means is told."""
    option = "--read-namespace"
    assert main(["capture", "context:test", str(tmp_path / "out"), option, "team-a", option, "team-b"]) == 0
    claims = {path.partition("?")[0] for path in server.requests_for("/resourceclaims?")}
    assert claims == {f"/apis/resource.k8s.io/v1/namespaces/{name}/resourceclaims" for name in ("team-a", "team-b")}
    assert "only the ResourceClaims of team-a, team-b were read" in capsys.readouterr().err
