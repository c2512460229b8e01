"""The best allocation of a pod's claims against trying every subset: every rule of DRA, all mixed."""

from __future__ import annotations

import os
import random

import pytest
from exhaustive_plans import COUNTED
from exhaustive_pods import ExhaustivePod, random_pod
from exhaustive_sharing import sharing_cluster

from dra_lab.cel.matching import Matching
from dra_lab.checks.plans import check_plan
from dra_lab.model.names import part_of
from dra_lab.model.plan import GoalValue, Placement, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.eligible import Rules
from dra_lab.planner.pods import PodClaims
from dra_lab.planner.progress import Limits
from dra_lab.planner.scan import scan_nodes
from dra_lab.planner.solve import solve_problem

CASES = int(os.environ.get("DRA_LAB_RANDOM_PODS", "2000"))
PARTS = 10


def solved(cluster, claims, release) -> Plan:
    """Return what the solver finds on the only node, as a plan of several claims."""
    sketch = PodClaims(claims).sketch
    scan = scan_nodes(Rules(cluster, sketch, release, Matching(cluster, release)), Limits())
    problem = scan.problem("n1")
    solution = solve_problem(problem, COUNTED, Limits())
    if solution.taken is None:
        assert solution.infeasible
        return Plan(PlanStatus.INFEASIBLE, sketch)
    assert solution.proven
    goals = tuple(GoalValue(stage.goal, stage.value) for stage in solution.stages)
    references = [(part_of(problem.asks[ask].reference), device) for ask, device in solution.taken]
    placements = tuple(Placement(request, device, claim=claim) for (claim, request), device in references)
    return Plan(PlanStatus.OPTIMAL, sketch, node="n1", placements=placements, goals=goals)


@pytest.mark.parametrize("part", range(PARTS))
def test_optimum_of_a_pod_is_brute_force(part):
    """Every goal has the value that trying all subsets finds, and a misfit is one for them too."""
    fitting = 0
    for seed in range(part, CASES, PARTS):
        rng = random.Random(f"pod {seed}")
        cluster, release = (
            sharing_cluster(rng),
            KubernetesRelease("1.37" if seed % 2 else "1.36", {"DRAListTypeAttributes": True}),
        )
        claims = random_pod(rng, cluster, release.version)
        expected = ExhaustivePod(cluster, claims, version=release.version).best(COUNTED).values
        plan = solved(cluster, claims, release)
        found = tuple(goal.value for goal in plan.goals) if plan.node else None
        assert found == expected, f"seed {seed}: {found} instead of {expected}"
        assert check_plan(cluster, plan, release) == (), f"seed {seed}"
        fitting += bool(plan.node)
    assert fitting
