"""The best allocation against trying everything, all rules of DRA mixed: several nodes, several claims, every goal.

`DRA_LAB_RANDOM_MIXED` is the number of random cases, 2,000 by itself. For every tenth case the whole answer is
compared, with `damage`. For the others, only the solver's result and the fitting nodes are. Three tenths of the cases
run in `make test`, the others in `make test-long`.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from brute_force import COUNTED, RULES, BruteForce, TooLarge
from brute_force_fleets import Damage
from checked_plans import checked_plan
from kept_cases import kept_case
from random_pods import Case, DrawnPod, a_case
from rules_occur import occurs

from dra_lab.cel.matching import Matching
from dra_lab.checks.plans import check_plan
from dra_lab.gitops.extended import extended_claim, served_by_plugin
from dra_lab.model.names import part_of
from dra_lab.model.plan import DAMAGE, GoalValue, NodeFit, Placement, Plan, PlanStatus, goal_order
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.planner.budget import Budget
from dra_lab.planner.choose import choose_node
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.pod_claims import PodClaims, read_claims
from dra_lab.planner.scan import scan_nodes

CASES = int(os.environ.get("DRA_LAB_RANDOM_MIXED", "2000"))
PARTS = [part if part < 1 else pytest.param(part, marks=pytest.mark.long) for part in range(10)]
WHOLE = 10
"""The whole answer is compared for one case in this many."""

ENOUGH = 5
"""The least number of cases that each rule, and each goal, must decide."""


def claims_of(case: Case) -> PodClaims:
    """Return the claims of a pod as they are given to the planner, extended resources by its own reading."""
    drawn = read_claims(case.drawn.sketches) if case.drawn.sketches else PodClaims({})
    if case.drawn.pod is None:
        return drawn
    claim = extended_claim(case.drawn.pod, case.cluster, case.release)
    if claim is None:
        return drawn
    named, by_plugin = read_claims(claim), served_by_plugin(case.drawn.pod, case.cluster)
    nodes = frozenset(case.cluster.node_names) - by_plugin if by_plugin else None
    return PodClaims({**drawn.claims, **named.claims}, drawn.exact | named.exact, nodes=nodes)


def models_of(case: Case, **options) -> dict[str, BruteForce]:
    """Return a model of the pod on every node on which it may run: where no device plugin serves what it names."""
    by_plugin = {node.name for node in case.cluster.nodes if case.drawn.pod is not None and node.status.allocatable}
    names = [name for name in case.cluster.node_names if name not in by_plugin]
    return {name: BruteForce(case.cluster, case.drawn.claims, name, case.release, **options) for name in names}


def admin(case: Case) -> bool:
    """Say whether some request has admin access: such pods take nothing from others, and have no `damage`."""
    parts = [ask for sketch in case.drawn.claims.values() for request in sketch.requests for ask in asks(request)]
    return any(ask.admin_access for ask in parts)


def solved(case: Case) -> Plan:
    """Return what the solver finds for the goals of the devices that are taken."""
    pod = claims_of(case)
    matching = Matching(case.cluster, case.release)
    rules = Rules(case.cluster, pod.sketch, case.release, matching, only=pod.allowed(case.cluster))
    scan = scan_nodes(rules, Budget())
    order = tuple(goal for goal in goal_order(case.goals) if goal in COUNTED)
    choice = choose_node(scan, order, Budget(), solver="HiGHS")
    assert choice.decided
    if not choice.node:
        admitted = pod.allowed(case.cluster)
        return Plan(PlanStatus.INFEASIBLE, pod.sketch, node_classes=choice.classes, admitted=admitted)
    assert choice.solution.proven
    problem = scan.problem(choice.node)
    found = [(part_of(problem.asks[ask].reference), device) for ask, device in choice.solution.taken]
    placements = tuple(Placement(request, device, claim=claim) for (claim, request), device in found)
    goals = tuple(GoalValue(stage.goal, stage.value, stage.bound, stage.proven) for stage in choice.solution.stages)
    claims = pod.claims if pod.several else {}
    return Plan(
        PlanStatus.OPTIMAL,
        pod.sketch,
        node=choice.node,
        placements=placements,
        goals=goals,
        node_classes=choice.classes,
        claims=claims,
        admitted=pod.allowed(case.cluster),
    )


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
    """Every goal has the value that trying everything finds, on the first of the best nodes; a misfit is one too."""
    fitting = 0
    for seed in range(part, CASES, len(PARTS)):
        case = a_case(seed)
        order = goal_order(case.goals)
        values = {node: model.values_in(order) for node, model in models_of(case).items()}
        best = min((value for value in values.values() if value is not None), default=None)
        plan = solved(case)
        found = tuple(goal.value for goal in plan.goals) if plan.node else None
        assert found == best, f"seed {seed}: {found} instead of {best}"
        assert plan.node == min((n for n, value in values.items() if value == best and best), default=""), (
            f"seed {seed}"
        )
        assert nodes_are_right(plan, values), f"seed {seed}"
        assert check_plan(case.cluster, plan, case.release) == (), f"seed {seed}"
        fitting += bool(plan.node)
    assert fitting


def test_counters_in_the_trillions_are_no_misfit():
    """Amounts that differ in the tenth place leave room for two devices: the solver once proved that they do not."""
    cluster, (pod,) = kept_case("mixed 7594")
    claims = {sketch.name: sketch for sketch in pod.claims}
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True, "DRADeviceTaintRules": True})
    assert solved(Case(cluster, DrawnPod(claims), release, ("roots", "damage"))).node == "n1"


@pytest.mark.parametrize("part", PARTS)
def test_whole_answer_is_brute_force_with_all_rules_mixed(part):
    """The plan has every goal's value, `damage` too, where the goals put it, and reasons where nothing fits."""
    for seed in range(part * WHOLE, CASES, len(PARTS) * WHOLE):
        case = a_case(seed)
        order = goal_order(case.goals)
        plan = checked_plan(case.cluster, claims_of(case), release=case.release, goals=case.goals)
        expected = whole_values(case, order)
        if plan.proven and expected is not None:
            best = min((value for value in expected.values() if value is not None), default=None)
            found = tuple(goal.value for goal in plan.goals) if plan.fits else None
            assert found == best, f"seed {seed}: {found} instead of {best}"
        # what could not be tried out, or not be proven, are further replicas without an end
        assert plan.proven == (expected is not None) or plan.goals[-1].goal == DAMAGE, f"seed {seed}"
        # where a device plugin serves every node, no node is asked
        assert plan.fits or plan.shortfalls or not models_of(case), f"seed {seed}"


def whole_values(case: Case, order) -> dict[str, tuple[int, ...] | None] | None:
    """Return the values of all goals on every node, None where there is too much to try."""
    models = models_of(case)
    if admin(case):
        return {node: model.values_in(order) for node, model in models.items()}
    try:
        return {node: Damage(model, case.drawn.claims).values_in(order) for node, model in models.items()}
    except TooLarge:
        return None


@pytest.mark.long
def test_every_rule_and_goal_decides_cases():
    """Each rule changes the optimum of cases when it is left out, and each goal chooses among what was equally good."""
    decided: Counter[str] = Counter()
    for seed in range(CASES):
        missing = [rule for rule in RULES if decided[rule] < ENOUGH]
        if not missing and all(decided[goal] >= ENOUGH for goal in COUNTED):
            return
        case = a_case(seed)
        order = tuple(goal for goal in goal_order(case.goals) if goal in COUNTED)
        models = models_of(case)
        whole = {node: model.values_in(order) for node, model in models.items()}
        decided.update(set().union(*(model.decides(order) for model in models.values())))
        for rule in missing:
            decided[rule] += decides(case, rule, order, whole)
    raise AssertionError(f"too few cases are decided by some: {decided}")


def decides(case: Case, rule: str, order, whole) -> bool:
    """Say whether some node has another optimum when a rule is left out."""
    if not occurs(rule, case.cluster, case.drawn.claims):
        return False
    try:
        return whole != {n: m.values_in(order) for n, m in models_of(case, without=frozenset({rule})).items()}
    except TooLarge:
        return False
