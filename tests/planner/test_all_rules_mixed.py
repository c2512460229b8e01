"""The best allocation against trying everything, all rules of DRA mixed: several nodes, several claims, every goal.

`DRA_LAB_RANDOM_MIXED` is the number of random cases, 2,000 by itself. One case in ten is compared with `damage`, too.
One case in a hundred runs in `make test`, the others in `make test-long`.
"""

from __future__ import annotations

import os

import pytest
from brute_force import BruteForce, TooLarge
from brute_force_fleets import Damage, counted
from checked_plans import checked_plan
from kept_cases import kept_case
from random_pods import Case, a_case

from dra_lab import ClaimSketch, Cluster, KubernetesRelease, without_nodes
from dra_lab.gitops.extended_resources import extended_claim, served_by_plugin
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.goals import DAMAGE, goal_order
from dra_lab.model.headroom import NodeFit
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import asks

CASES = int(os.environ.get("DRA_LAB_RANDOM_MIXED", "2000"))
PARTS = [part if part < 1 else pytest.param(part, marks=pytest.mark.long) for part in range(100)]
WHOLE = 10
"""The whole answer is compared for one case in this many."""


def question_of(case: Case) -> tuple[Cluster, dict[str, ClaimSketch | ResourceClaim]]:
    """Return the nodes on which a pod may run and its claims, extended resources by the product's own reading."""
    claims: dict[str, ClaimSketch | ResourceClaim] = dict(case.drawn.sketches)
    if case.drawn.pod is None:
        return case.cluster, claims
    claim = extended_claim(case.drawn.pod, case.cluster, case.release)
    if claim is None:
        return case.cluster, claims
    by_plugin = served_by_plugin(case.drawn.pod, case.cluster)
    return without_nodes(case.cluster, sorted(by_plugin)), {**claims, claim.metadata.name: claim}


def models_of(case: Case) -> dict[str, BruteForce]:
    """Return a model of the pod on every node on which it may run: where no device plugin serves what it names."""
    by_plugin = {node.name for node in case.cluster.nodes if case.drawn.pod is not None and node.status.allocatable}
    names = [name for name in case.cluster.node_names if name not in by_plugin]
    return {name: BruteForce(case.cluster, case.drawn.claims, name, case.release) for name in names}


def admin(case: Case) -> bool:
    """Say whether some request has admin access: such pods take nothing from others, and have no `damage`."""
    parts = [ask for sketch in case.drawn.claims.values() for request in sketch.requests for ask in asks(request)]
    return any(ask.admin_access for ask in parts)


def nodes_are_right(plan: Plan, values: dict[str, tuple[int, ...] | None]) -> bool:
    """Say whether every node fits as trying everything says: as well as the best, worse, or not."""
    best = min((value for value in values.values() if value is not None), default=None)
    fits = {node: equal.fit for equal in plan.node_classes for node in equal.nodes}
    expected = {
        node: NodeFit.NO if value is None else NodeFit.BEST if value == best else NodeFit.WORSE
        for node, value in values.items()
    }
    return {node: fits[node] for node in expected} == expected


@pytest.mark.parametrize("part", PARTS)
def test_optimum_is_brute_force_with_all_rules_mixed(part):
    """Every goal of the devices has the value that trying everything finds, and so has every node; or nothing fits."""
    fitting = 0
    for seed in range(part, CASES, len(PARTS)):
        case = a_case(seed)
        cluster, claims = question_of(case)
        goals = tuple(goal for goal in case.goals if goal != DAMAGE)
        order = tuple(goal for goal in goal_order(goals) if goal != DAMAGE)
        values = {node: model.values_in(order) for node, model in models_of(case).items()}
        best = min((value for value in values.values() if value is not None), default=None)
        plan = checked_plan(cluster, claims, release=case.release, goals=goals)
        found = counted(plan.goals) if plan.fits else None
        assert found == best, f"seed {seed}: {found} instead of {best}"
        assert not plan.fits or values[plan.node] == best, f"seed {seed}"
        assert nodes_are_right(plan, values), f"seed {seed}"
        # If a device plugin serves every node, no node is asked.
        assert plan.fits or plan.shortfalls or not values, f"seed {seed}"
        fitting += plan.fits
    assert fitting


def test_counters_in_the_trillions_are_no_misfit():
    """Amounts that differ in the tenth place leave room for two devices: the solver once proved that they do not."""
    cluster, (pod,) = kept_case("mixed 7594")
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True, "DRADeviceTaintRules": True})
    claims = {sketch.name: sketch for sketch in pod.claims}
    assert checked_plan(cluster, claims, release=release, goals=("roots", "damage")).node == "n1"


@pytest.mark.parametrize("part", PARTS)
def test_damage_is_brute_force_with_all_rules_mixed(part):
    """The plan has the value of every goal, `damage` too, in the order of the goals, on the first of the best nodes."""
    for seed in range(part * WHOLE, CASES, len(PARTS) * WHOLE):
        case = a_case(seed)
        order = goal_order(case.goals)
        cluster, claims = question_of(case)
        plan = checked_plan(cluster, claims, release=case.release, goals=case.goals)
        expected = whole_values(case, order)
        if plan.proven and expected is not None:
            best = min((value for value in expected.values() if value is not None), default=None)
            found = tuple(goal.value for goal in plan.goals) if plan.fits else None
            assert found == best, f"seed {seed}: {found} instead of {best}"
            first = min((node for node, value in expected.items() if value == best and best), default="")
            assert plan.node == first, f"seed {seed}"
        # Further replicas without an end cannot be tried out, nor proven.
        assert plan.proven == (expected is not None) or plan.goals[-1].goal == DAMAGE, f"seed {seed}"


def whole_values(case: Case, order) -> dict[str, tuple[int, ...] | None] | None:
    """Return the values of all goals on every node, None where there is too much to try."""
    models = models_of(case)
    if admin(case):
        return {node: model.values_in(order) for node, model in models.items()}
    try:
        return {node: Damage(model, case.drawn.claims).values_in(order) for node, model in models.items()}
    except TooLarge:
        return None
