"""No exported manifest makes kube-scheduler give up the pod on a node that it admits; the ladder does what it says."""

from __future__ import annotations

import dataclasses

import pytest
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab.exports import replay, step_guard
from dra_lab.exports.loop import close_loop
from dra_lab.exports.node_pins import admitted_nodes
from dra_lab.exports.replay import replay_findings, search_states
from dra_lab.exports.step_guard import guard_steps
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner import make_plan

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"


def a_node(name, gpus, nics):
    """Make a node with GPUs and NICs at the roots of these numbers."""
    return (
        a_slice(GPU, *(gpu(n, f"{name}-r{root}") for n, root in enumerate(gpus)), node=name),
        a_slice("dra.net", *(nic(f"n{n}", f"{name}-r{root}") for n, root in enumerate(nics)), node=name),
    )


def pairs(count, *, must=False):
    link = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, must=must)
    return ClaimSketch(name="pairs", requests=(request("gpu", GPU, count), request("nic", NIC, count)), links=(link,))


@pytest.fixture
def small_limit(monkeypatch):
    """The rule is the same at any number; five million steps take too long for a test."""
    monkeypatch.setattr(replay, "TOO_MANY_STEPS", 2_000)


def test_pods_are_kept_off_nodes_on_which_the_search_is_too_long(small_limit):
    """Of preferred pairs on a node that is one NIC short; no admitted node is left on which it does not end."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(3)))
    found = guard_steps(pairs(4), on, R136)
    assert found.changed
    assert admitted_nodes(on, found.affinity) == {"full"}
    assert not search_states(found.sketch, on, R136, affinity=found.affinity).heavy
    assert [finding.rule for finding in found.findings] == ["kept-off-nodes"]


def test_where_one_search_is_too_long_pods_go_only_where_it_is_known_to_be_short(small_limit, monkeypatch):
    """A node that there was no time for is kept off as well once another one took too long."""
    nodes = {"full": 8, "later": 4, "short": 3}
    on = cluster(*(part for name, nics in nodes.items() for part in a_node(name, range(8), range(nics))))
    whole = search_states(pairs(4), on, R136)
    states = tuple((names, verdict) for names, verdict in whole.states if "later" not in names)
    monkeypatch.setattr(step_guard, "search_states", lambda *_a, **_k: dataclasses.replace(whole, states=states))
    found = guard_steps(pairs(4), on, R136)
    assert admitted_nodes(on, found.affinity) == {"full"}
    assert "manifest-not-replayed" in {finding.rule for finding in found.findings}


def test_preferences_go_where_no_node_is_left(small_limit):
    """Two replicas of NICs too few on every node: without the preference the claim is refused at once."""
    on = cluster(*a_node("short", range(8), range(3)))
    found = guard_steps(pairs(4), on, R136)
    assert found.sketch.links == ()
    assert not search_states(found.sketch, on, R136).heavy
    assert "preferences-left-out" in {finding.rule for finding in found.findings}


def test_nothing_changes_where_every_search_is_short(small_limit):
    on = cluster(*a_node("full", range(8), range(8)))
    found = guard_steps(pairs(4), on, R136)
    assert (found.sketch, found.affinity, found.changed, found.findings) == (pairs(4), (), False, ())


def test_nodes_that_are_not_admitted_are_not_searched(small_limit):
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(3)))
    pin = ({"key": "kubernetes.io/hostname", "operator": "In", "values": ["full"]},)
    assert not guard_steps(pairs(4), on, R136, affinity=pin).changed


def test_what_our_own_time_cut_off_is_not_called_too_long(monkeypatch):
    """A search that did not end here says nothing about kube-scheduler, which is faster."""
    monkeypatch.setattr(replay, "NODE_LIMIT", 0.05)
    on = cluster(*a_node("short", range(8), range(5)))
    assert [finding.rule for finding in replay_findings(pairs(6), on, R136)] == ["manifest-undecided"]


@pytest.mark.parametrize(
    ("gpus", "nics", "kept"),
    [((0, 1), (0, 1), 2), ((0, 1), (1, 2), 1), ((0, 1), (2, 3), 0), ((0, 0), (0, 1), 1)],
    ids=["aligned", "one aligned", "unaligned", "two at one root"],
)
def test_the_ladder_keeps_as_many_pairs_as_the_plan(gpus, nics, kept):
    """On aligned, partly aligned and unaligned nodes the alternatives `aligned`, then `any`, lose what must be lost."""
    on = cluster(*a_node("n1", gpus, nics))
    plan = make_plan(on, pairs(2), release=R136)
    assert plan.goal("preferences") == 2 - kept
    loop = close_loop(on, plan, R136)
    assert "preferred links" not in loop.sentence
    assert plan.first_fit is not None
    assert plan.first_fit.goal("preferences") == 2 - kept
