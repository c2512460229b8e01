"""No socket is left to the garbage collector, whenever a server goes away."""

from __future__ import annotations

import gc
import socket
import warnings

import pytest
import urllib3

from dra_lab.sources.live.cancellable_http import CancellableSockets


def pool_that_is_cut(listener: socket.socket) -> urllib3.PoolManager:
    """Return a manager of connections whose server goes between the connection and the beginning of TLS."""
    manager = urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False)
    https = manager.pool_classes_by_scheme["https"]

    class Cut(https.ConnectionCls):
        def _new_conn(self):
            made = super()._new_conn()
            listener.close()
            return made

    manager.pool_classes_by_scheme = {"https": type("Pool", (https,), {"ConnectionCls": Cut})}
    CancellableSockets(manager)
    return manager


def test_a_server_that_goes_before_tls_begins_leaves_no_open_socket():
    """CPython does not close the TLS socket that it was making, and warns when it is collected."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        manager = pool_that_is_cut(listener)
        with pytest.raises(urllib3.exceptions.ProtocolError, match="reset"):
            manager.request("GET", url)
        manager.clear()
        gc.collect()
    assert [str(one.message) for one in seen] == []
