"""The test server answers as Kubernetes 1.36.2 did, byte for byte except for generated keys."""

import json
import ssl
import urllib.error
import urllib.request

import pytest

from api_server.answers import recorded
from api_server.server import ApiServer
from api_server.small_cluster import recorded_store

PLAIN = [e for e in recorded() if "watch=true" not in e["path"] and "reason%3D" not in e["path"]]


@pytest.fixture(scope="module")
def server():
    """The recorded cluster, served."""
    with ApiServer(recorded_store()) as made:
        made.tokens |= {"none": "nobody"}
        made.denied = {
            ("nobody", "list", plural) for plural in ("resourceslices", "resourceclaims", "nodes", "deviceclasses")
        }
        yield made


def get(server, path, token="good-token"):
    """Status, content type and body of a GET."""
    trust = ssl.create_default_context(cadata=server.authority.cert_pem.bytes().decode())
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {token}"})
    try:
        answer = urllib.request.urlopen(request, context=trust)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


@pytest.mark.parametrize("exchange", PLAIN, ids=[f"{e['as']} {e['path']}"[:90] for e in PLAIN])
def test_every_recorded_exchange_is_answered_the_same(server, exchange):
    """Same status, same content type, same JSON: discovery, lists, old versions, pages, 400, 401, 403, 404."""
    token = {"admin": "good-token", "nobody": "none", "bad token": "bad"}[exchange["as"]]
    status, kind, body = get(server, exchange["path"], token)
    assert (status, kind) == (exchange["status"], exchange["contentType"])
    if kind.startswith("application/json"):
        assert json.loads(body) == json.loads(exchange["body"])
    else:
        assert body == exchange["body"]


def test_a_watch_has_the_recorded_form(server):
    """Events and bookmarks have the keys of the recorded ones, bookmarks of claims null for their requests."""
    wanted = next(e for e in recorded() if "allowWatchBookmarks" in e["path"])["lines"]
    server.bookmark = 0.01
    query = f"watch=true&allowWatchBookmarks=true&resourceVersion={server.store.version}&timeoutSeconds=0.1"
    lines = get(server, f"/apis/resource.k8s.io/v1/resourceclaims?{query}")[2].splitlines()
    bookmark = next(json.loads(line) for line in wanted if '"BOOKMARK"' in line)
    bookmark["object"]["metadata"]["resourceVersion"] = str(server.store.version)
    assert json.loads(lines[0]) == bookmark
