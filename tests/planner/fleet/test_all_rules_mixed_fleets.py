"""Plans for small fleets against trying everything, all rules of DRA mixed: several claims a pod, every goal.

`DRA_LAB_RANDOM_MIXED_FLEETS` is the number of fleets that are compared, 500 by itself.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
from exhaustive_mixed import RULES, TooLarge
from exhaustive_mixed_fleets import best_mixed_fleet
from mixed_clusters import mixed_cluster
from mixed_pods import DrawnPod, a_pod, a_release

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.claims import exact_sketch
from dra_lab.planner.extended import extended_claim
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_MIXED_FLEETS", "500"))
PARTS = 10
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))
CHOICES = 150
"""Combinations of choices that a pod has on a node at most: several of them are tried beside one another."""

DECIDED = {
    "exclusive devices": (10, 11),
    "selectors": (4, 44),
    "counts": (1, 3),
    "All": (7, 9),
    "alternatives": (10, 11),
    "match": (88, 141),
    "distinct": (60, 75),
    "pairwise": (27, 52),
    "lists": (11, 16),
    "counters": (3, 14),
    "capacity": (3, 10),
    "request policies": (3, 10),
    "device taints": (15, 27),
    "taint rules": (18, 37),
    "tolerations": (57, 133),
    "admin access": (11, 22),
    "several claims": (11, 24),
    "in use": (1, 3),
    "limit of 32": (10,),
    "network pools": (3, 10),
    "node selectors": (3, 187),
    "several terms": (18, 69),
    "broken pools": (3, 14),
    "extended resources": (6, 21),
}
"""Fleets among the 500 whose optimum is another one without a rule: two of each, of the limit one."""


@dataclass(frozen=True)
class FleetCase:
    """A cluster, pods and how many of each, and what is asked."""

    cluster: Cluster
    pods: tuple[DrawnPod, ...]
    replicas: tuple[int, ...]
    release: KubernetesRelease
    goals: tuple[str, ...]
    objective: str

    @property
    def order(self) -> tuple[str, ...]:
        """Return the goals, most important first."""
        return fleet_order(self.goals, self.objective)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the pods as they are given to the planner, extended resources by its own reading."""
        found = []
        for number, (pod, replicas) in enumerate(zip(self.pods, self.replicas, strict=True)):
            claims = list(pod.sketches.values())
            named = None if pod.pod is None else extended_claim(pod.pod, self.cluster, self.release)
            if named is not None:
                claims.append(exact_sketch(named.spec, named.metadata.name))
            found.append(Workload(f"w{number}", tuple(claims), replicas))
        return tuple(found)

    def best(self, without: frozenset[str] = frozenset()) -> tuple[int, ...] | None:
        """Return the least values of the goals in their order, by trying everything; raises TooLarge."""
        claims = [pod.claims for pod in self.pods]
        placed = self.objective == "nodes"
        return best_mixed_fleet(
            self.cluster, claims, self.replicas, self.order, self.release, all_placed=placed, without=without
        )


def a_fleet_case(number: int) -> tuple[FleetCase, tuple[int, ...] | None]:
    """Return the fleet of a number, the first of its kind that can be tried out, and its best values."""
    for attempt in range(20):
        rng = random.Random(f"mixed fleet {number} {attempt}")
        release = a_release(rng)
        cluster = mixed_cluster(rng, rng.choice([1, 2, 2, 3, 3]))
        pods = tuple(a_pod(rng, cluster, release, CHOICES) for _ in range(rng.choice([1, 1, 2, 2, 3])))
        replicas = tuple(rng.randint(1, 4) for _ in pods)
        objective = "nodes" if number % 3 == 2 else "replicas"
        case = FleetCase(cluster, pods, replicas, release, ORDERS[number % len(ORDERS)], objective)
        try:
            return case, case.best()
        except TooLarge:
            continue
    raise AssertionError(f"fleet {number} was too large to try everything, 20 times")


@pytest.mark.parametrize("part", range(PARTS))
def test_fleet_is_brute_force_with_all_rules_mixed(part):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    for number in range(part, FLEETS, PARTS):
        case, expected = a_fleet_case(number)
        plan = plan_fleet(
            case.cluster,
            case.workloads,
            release=case.release,
            goals=case.goals,
            objective=case.objective,
            first_fit=False,
        )
        found = tuple(goal.value for goal in plan.goals) if plan.replicas else None
        assert found == expected, f"fleet {number}: {found} instead of {expected}"
        assert plan.proven, f"fleet {number}"
        assert (plan.status is PlanStatus.INFEASIBLE) == (expected is None), f"fleet {number}"
        assert check_fleet(case.cluster, plan, case.release) == (), f"fleet {number}"


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_decides_fleets(rule):
    """Fleets of each rule have another optimum when it is left out."""
    assert DECIDED[rule]
    for number in DECIDED[rule]:
        case, expected = a_fleet_case(number)
        assert case.best(frozenset({rule})) != expected, f"fleet {number} is not decided by {rule}: look for others"
