"""The recorded cluster, served over a real socket, and a kubeconfig that leads to it."""

from __future__ import annotations

import pytest
from api_server.kubeconfig import write_kubeconfig
from api_server.server import ApiServer
from api_server.small_cluster import recorded_store


@pytest.fixture
def server():
    """The recorded cluster, served."""
    with ApiServer(recorded_store()) as made:
        yield made


@pytest.fixture
def config(server, tmp_path, monkeypatch):
    """A kubeconfig for it, which KUBECONFIG names."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    file = write_kubeconfig(tmp_path, server)
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


@pytest.fixture
def use(server, tmp_path, monkeypatch):
    def write(user=None, **options):
        file = write_kubeconfig(tmp_path, server, user, **options)
        monkeypatch.setenv("KUBECONFIG", str(file))
        return file

    return write
