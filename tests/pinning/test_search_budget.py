"""No exported manifest makes kube-scheduler give up the pod on a node that it admits; the ladder does what it says."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from small_claims import request
from small_holders import a_claim, result
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.errors import ExportError
from dra_lab.pinning.node_search import judged, search_pod
from dra_lab.pinning.pin_budget import budget_of
from dra_lab.pinning.place_selectors import admitted_nodes
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.search_budget import within_search_budget

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"


def a_node(name, gpus, nics):
    """Make a node with GPUs and NICs at the roots of these numbers."""
    return (
        a_slice(GPU, *(gpu(n, f"{name}-r{root}") for n, root in enumerate(gpus)), node=name),
        a_slice("dra.net", *(nic(f"n{n}", f"{name}-r{root}") for n, root in enumerate(nics)), node=name),
    )


def findings_of(sketch, on, release="1.36", seconds=30):
    """Return what is reported of a manifest that is searched on every node state."""
    kind = KubernetesRelease(release)
    return judged(search_pod([sketch], on, kind, budget_of(seconds)), sketch.name, kind)


def pairs(count, *, must=False):
    link = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, must=must)
    return ClaimSketch(name="pairs", requests=(request("gpu", GPU, count), request("nic", NIC, count)), links=(link,))


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


def test_preferences_go_where_no_node_is_left():
    """NICs are too few on every node: without the preference the claim is refused at once."""
    found = within_search_budget([pairs(6)], cluster(*a_node("short", range(8), range(5))), R136)
    assert found.sketches[0].links == ()
    assert "preferences-left-out" in {finding.rule for finding in found.findings}


def test_nothing_changes_where_every_search_is_short():
    """Nodes that are not admitted are not searched."""
    on = cluster(*a_node("full", range(8), range(8)), *a_node("short", range(8), range(5)))
    pin = ({"key": "kubernetes.io/hostname", "operator": "In", "values": ["full"]},)
    found = within_search_budget([pairs(6)], on, R136, affinity=pin)
    assert (found.sketches, found.changed, found.findings) == ((pairs(6),), False, ())


@pytest.mark.parametrize(("release", "severity"), [("1.35", "warning"), ("1.36", "error")])
def test_a_search_beyond_the_limit_gives_up_the_pod_from_1_36(release, severity):
    """Older releases search on, however long it takes."""
    found = findings_of(pairs(6), cluster(*a_node("n1", range(8), range(5))), release)
    assert [(one.rule, one.severity.value) for one in found] == [("manifest-gives-up", severity)]


def test_a_selector_that_fails_somewhere_gives_up_the_pod():
    """It fails on the NIC of the other node."""
    on = cluster(*a_node("n1", range(8), range(5)), a_slice("dra.net", nic("x"), node="n2"))
    sketch = ClaimSketch(requests=(request("nic", NIC, 1, 'device.attributes["dra.net"].mtu > 1'),))
    assert "manifest-gives-up" in {finding.rule for finding in findings_of(sketch, on)}


def test_states_that_were_not_searched_are_counted():
    """Without time, nothing is known."""
    (finding,) = findings_of(pairs(4), cluster(*a_node("n1", range(8), range(8))), seconds=0)
    assert (finding.rule, finding.message) == ("manifest-not-replayed", "1 of 1 node states were not searched in 0 s")


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


@pytest.mark.parametrize(
    ("gpus", "nics", "kept"),
    [((0, 1), (0, 1), 2), ((0, 1), (1, 2), 1), ((0, 1), (2, 3), 0), ((0, 0), (0, 1), 1)],
    ids=["aligned", "one aligned", "unaligned", "two at one root"],
)
def test_the_ladder_keeps_as_many_pairs_as_the_plan(gpus, nics, kept):
    """On aligned, partly aligned and unaligned nodes the alternatives `aligned`, then `any`, lose what must be lost."""
    on = cluster(*a_node("n1", gpus, nics))
    plan = checked_plan(on, pairs(2), release=R136)
    assert plan.goal("preferences").value == 2 - kept
    replay = replay_plan(on, plan, R136)
    assert "preferred links" not in replay.sentence
    assert plan.first_fit is not None
    assert plan.first_fit.value("preferences") == 2 - kept


def test_a_node_with_an_odd_nic_is_excluded_even_though_the_pod_never_fits_there():
    """kube-scheduler may need 12.5 s for 2.8 million candidates of 16 requests and 8 constraints: above 5 s."""
    doubled = (0, 0, 1, 1, 2, 2, 3, 3)
    on = cluster(*a_node("a-idle", doubled, doubled), *a_node("b-odd", doubled, (0, 0, 0, 1, 1, 2, 2, 3)))
    found = within_search_budget([pairs(8, must=True)], on, R136)
    assert admitted_nodes(on, found.affinity) == {"a-idle"}
