"""A followed cluster under every trouble at once: whatever happened, what is shown in the end is what there is."""

from __future__ import annotations

import random

import pytest
from api_server.small_cluster import claim
from api_server.watched import Watched

from dra_lab.sources.live import ReadLimits, load_context

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
    """Do one of the things that happen to servers."""
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
