"""A manifest is searched on every node state before it goes out."""

from __future__ import annotations

import pytest
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.pinning import node_search
from dra_lab.pinning.node_search import judged, search_pod
from dra_lab.pinning.pin_budget import budget_of

R136 = KubernetesRelease("1.36")


def short_node(node="n1"):
    """Two GPUs share a root with one NIC, as on p4d, and there is one NIC less than wanted."""
    gpus = [gpu(n, f"r{n // 2}") for n in range(8)]
    return a_slice("gpu.nvidia.com", *gpus, node=node), a_slice(
        "dra.net", *[nic(f"n{n}", f"r{n}") for n in range(3)], node=node
    )


def pairs(must=False):
    requests = (request("gpu", "gpu.nvidia.com", 4), request("nic", "dranet", 4))
    return ClaimSketch(requests=requests, links=(Link(name="l", requests=("gpu", "nic"), how=How.PAIRWISE, must=must),))


def search_findings(sketch, on, release=R136, seconds=30):
    return judged(search_pod([sketch], on, release, budget_of(seconds)), sketch.name, release)


def rules(findings):
    return [(finding.rule, finding.severity.value) for finding in findings]


def test_a_search_that_ends_soon_is_not_mentioned():
    assert search_findings(pairs(must=True), cluster(*short_node())) == ()


def test_many_steps_on_a_node_where_it_does_not_fit_are_reported(monkeypatch):
    monkeypatch.setattr(node_search, "SLOW", 0.04)
    assert rules(search_findings(pairs(), cluster(*short_node()))) == [("manifest-slow", "warning")]


@pytest.mark.parametrize(("release", "severity"), [("1.35", "warning"), ("1.36", "error")])
def test_a_search_beyond_the_limit_gives_up_the_pod_from_1_36(monkeypatch, release, severity):
    monkeypatch.setattr(node_search, "LONGEST", 0.004)
    found = search_findings(pairs(), cluster(*short_node()), KubernetesRelease(release))
    assert rules(found) == [("manifest-gives-up", severity)]


def test_a_selector_that_fails_somewhere_gives_up_the_pod():
    on = cluster(*short_node(), a_slice("dra.net", nic("x"), node="n2"))
    sketch = ClaimSketch(requests=(request("nic", "dranet", 1, 'device.attributes["dra.net"].mtu > 1'),))
    assert ("manifest-gives-up", "error") in rules(search_findings(sketch, on))


def test_equal_nodes_are_searched_once_and_named_together(monkeypatch):
    monkeypatch.setattr(node_search, "SLOW", 0.04)
    (finding,) = search_findings(pairs(), cluster(*short_node("n1"), *short_node("n2")))
    assert finding.subject == "n1 and 1 identical nodes"


def test_states_that_were_not_searched_are_counted():
    (finding,) = search_findings(pairs(), cluster(*short_node()), seconds=0)
    assert (finding.rule, finding.message) == ("manifest-not-replayed", "1 of 1 node states were not searched in 0 s")
