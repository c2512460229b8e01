"""No exported manifest makes kube-scheduler give up the pod on a node that it admits; the ladder does what it says."""

from __future__ import annotations

import dataclasses
import math
import random

import msgspec
import pytest
from budgets import use_pin_shares
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch
from small_claims import request
from small_holders import a_claim, result
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab.errors import ExportError
from dra_lab.model.allocation import ResourceClaimStatus
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.pinning import node_search, search_budget
from dra_lab.pinning.node_pins import admitted_nodes
from dra_lab.pinning.node_search import judged, search_pod
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.search_budget import within_search_budget
from dra_lab.scheduler import depth_first
from dra_lab.scheduler import first_fit as scheduled
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"
LIMIT = 2e-5
"""Seconds of a search in tests of small random claims, where evaluating selectors counts for nothing."""


def a_node(name, gpus, nics):
    """Make a node with GPUs and NICs at the roots of these numbers."""
    return (
        a_slice(GPU, *(gpu(n, f"{name}-r{root}") for n, root in enumerate(gpus)), node=name),
        a_slice("dra.net", *(nic(f"n{n}", f"{name}-r{root}") for n, root in enumerate(nics)), node=name),
    )


def in_one_pool(slices, node):
    """Return the slices as of this node, in the pool `shared`."""
    return tuple(
        replace(
            piece,
            metadata=replace(piece.metadata, name=f"{node}-{piece.name}"),
            spec=replace(piece.spec, node_name=node, pool=replace(piece.spec.pool, name="shared")),
        )
        for piece in slices
    )


def pairs(count, *, must=False):
    link = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, must=must)
    return ClaimSketch(name="pairs", requests=(request("gpu", GPU, count), request("nic", NIC, count)), links=(link,))


def too_long(found, on):
    """Return the nodes that stay admitted and on which the search does not end."""
    searched = search_pod(found.sketches, on, R136, PinBudget(), affinity=found.affinity)
    return searched.nodes(lambda verdict: verdict.status is FirstFitStatus.STOPPED)


@pytest.fixture
def small_limit(monkeypatch):
    """The rule is the same at any limit; searches of 5 s take too long for a test."""
    monkeypatch.setattr(node_search, "LONGEST", 0.006)
    monkeypatch.setattr(node_search, "SLOW", 0.003)


def test_pods_are_kept_off_nodes_on_which_the_search_is_too_long(small_limit):
    """For preferred pairs on a node that is one NIC short, no node stays admitted on which the search does not end."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(3)))
    found = within_search_budget([pairs(4)], on, R136)
    assert found.changed
    assert admitted_nodes(on, found.affinity) == {"full"}
    assert not too_long(found, on)
    assert [finding.rule for finding in found.findings] == ["kept-off-nodes"]


def test_what_is_not_known_to_be_short_is_not_admitted(monkeypatch):
    """Pods go only where the search was made; here there was no time for one of the nodes, and none was long."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("later", range(8), range(4)))

    def in_time(*arguments, **options):
        whole = search_pod(*arguments, **options)
        return msgspec.structs.replace(whole, states=tuple(state for state in whole.states if "later" not in state[0]))

    monkeypatch.setattr(search_budget, "search_pod", in_time)
    found = within_search_budget([pairs(4)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"full"}
    assert "kept-off-nodes" in {finding.rule for finding in found.findings}


def test_nothing_is_written_of_which_no_search_is_known_to_be_short():
    """Sixteen pairs that must be, and fifteen NICs: 17,773,137,360,361 candidates, and no other node to go to."""
    on = cluster(*a_node("short", range(16), range(15)))
    with pytest.raises(ExportError, match="cannot be exported"):
        within_search_budget([pairs(16, must=True)], on, R136)


def test_the_limit_is_a_time_of_kube_scheduler():
    """Six pairs on a node that is one NIC short take it more than 10 s, and five 2.3 s."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(5)))
    found = within_search_budget([pairs(6)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"full"}
    assert "more than 5 s" in found.findings[0].message
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(4)))
    found = within_search_budget([pairs(5)], on, R136)
    assert (found.changed, {finding.rule for finding in found.findings}) == (False, {"manifest-slow"})


def test_all_claims_of_a_pod_are_searched_together():
    """Three pairs and three more are six, whatever each claim takes by itself."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(5)))
    one, other = (replace(pairs(3), name=name) for name in ("one", "other"))
    assert not within_search_budget([one], on, R136).changed
    assert admitted_nodes(on, within_search_budget([one, other], on, R136).affinity) == {"full"}


def test_a_node_is_looked_at_as_it_will_be_when_nothing_is_in_use():
    """Now too few GPUs are free for a long search; a manifest in Git is there for longer than that."""
    parts = (*a_node("full", range(8), range(8)), *a_node("short", range(8), range(5)))
    on = cluster(*parts, claims=(a_claim(*(result(f"gpu-{n}", pool="short") for n in range(7))),))
    found = within_search_budget([pairs(6)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"full"}


def test_a_node_is_looked_at_as_it_fills_up_with_pods_of_its_own():
    """The second pod is served; it is the third, behind it, for which a NIC is missing."""
    on = cluster(*a_node("full", range(12), range(12)), *a_node("short", range(20), range(17)))
    found = within_search_budget([pairs(6)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"full"}


@pytest.mark.parametrize("few", range(0, 60, 20))
def test_no_admitted_node_is_searched_for_longer_than_the_limit(monkeypatch, few):
    """A search that remembers nothing counts the steps of random claims on random fleets, as they fill up."""
    monkeypatch.setattr(scheduled, "SELECTOR", 0)
    monkeypatch.setattr(node_search, "LONGEST", LIMIT)
    monkeypatch.setattr(node_search, "SLOW", LIMIT)
    changed = 0
    for seed in range(few, few + 20):
        rng = random.Random(seed)
        on, sketch = random_fleet(rng), random_sketch(rng)
        try:
            found = within_search_budget([sketch], on, R136)
        except ExportError:
            continue
        changed += found.changed
        claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(found.sketch, on, R136).spec)
        for node in admitted_nodes(on, found.affinity):
            for idle in (False, True):
                state = dataclasses.replace(on, claims=()) if idle else on
                with monkeypatch.context() as plain:
                    plain.setattr(depth_first, "STORE_AFTER", math.inf)
                    assert max(seconds_of_pods(state, node, claim)) < LIMIT, (seed, node)
    assert changed


def seconds_of_pods(on, node, claim):
    """Yield kube-scheduler's seconds for each pod that arrives on a node, up to the first that does not fit."""
    for number in range(20):
        verdict = first_fit(on, node, [claim], R136)
        yield verdict.seconds
        if verdict.allocations is None:
            return
        held = ResourceClaimStatus(allocation=verdict.allocations[0])
        arrived = replace(claim, metadata=ObjectMeta(name=f"arrived-{number}"), status=held)
        on = dataclasses.replace(on, claims=(*on.claims, arrived))


def test_preferences_go_where_no_node_is_left(small_limit):
    """Two replicas of NICs too few on every node: without the preference the claim is refused at once."""
    on = cluster(*a_node("short", range(8), range(3)))
    found = within_search_budget([pairs(4)], on, R136)
    assert found.sketch.links == ()
    assert not too_long(found, on)
    assert "preferences-left-out" in {finding.rule for finding in found.findings}


def test_nothing_changes_where_every_search_is_short(small_limit):
    on = cluster(*a_node("full", range(8), range(8)))
    found = within_search_budget([pairs(4)], on, R136)
    assert (found.sketch, found.affinity, found.changed, found.findings) == (pairs(4), (), False, ())


def test_nodes_that_are_not_admitted_are_not_searched(small_limit):
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(3)))
    pin = ({"key": "kubernetes.io/hostname", "operator": "In", "values": ["full"]},)
    assert not within_search_budget([pairs(4)], on, R136, affinity=pin).changed


def test_what_our_own_time_cut_off_is_not_called_too_long(monkeypatch):
    """A search that did not end here says nothing about kube-scheduler, which is faster."""
    use_pin_shares(monkeypatch, node=1e-6)
    on = cluster(*a_node("short", range(8), range(5)))
    found = judged(search_pod([pairs(6)], on, R136, PinBudget()), "pairs", R136)
    assert [finding.rule for finding in found] == ["manifest-undecided"]


def test_a_pod_whose_search_our_own_time_ended_is_not_called_given_up(monkeypatch):
    """Where one admitted node is not searched to its end, it is not known whether kube-scheduler places the pod."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(5)))
    plan = checked_plan(on, pairs(6), release=R136)
    use_pin_shares(monkeypatch, node=1e-6)
    replay = replay_plan(on, plan, R136, seeds=0)
    assert (plan.fits, replay.kept, replay.misses, replay.runs) == (True, 0, (), "")
    assert "not known" in replay.sentence


@pytest.mark.parametrize(
    ("gpus", "nics", "kept"),
    [((0, 1), (0, 1), 2), ((0, 1), (1, 2), 1), ((0, 1), (2, 3), 0), ((0, 0), (0, 1), 1)],
    ids=["aligned", "one aligned", "unaligned", "two at one root"],
)
def test_the_ladder_keeps_as_many_pairs_as_the_plan(gpus, nics, kept):
    """On aligned, partly aligned and unaligned nodes the alternatives `aligned`, then `any`, lose what must be lost."""
    on = cluster(*a_node("n1", gpus, nics))
    plan = checked_plan(on, pairs(2), release=R136)
    assert plan.goal("preferences") == 2 - kept
    replay = replay_plan(on, plan, R136)
    assert "preferred links" not in replay.sentence
    assert plan.first_fit is not None
    assert plan.first_fit.goal("preferences") == 2 - kept


def test_a_node_with_an_odd_nic_is_excluded_even_though_the_pod_never_fits_there():
    """kube-scheduler may need 12.5 s for 2.8 million candidates of 16 requests and 8 constraints: above 5 s."""
    doubled = (0, 0, 1, 1, 2, 2, 3, 3)
    on = cluster(*a_node("a-idle", doubled, doubled), *a_node("b-odd", doubled, (0, 0, 0, 1, 1, 2, 2, 3)))
    found = within_search_budget([pairs(8, must=True)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"a-idle"}
