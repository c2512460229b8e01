"""Small fleets with all rules of DRA mixed, several claims a pod, and their best values by trying everything."""

from __future__ import annotations

import random
from dataclasses import dataclass

from brute_force import TooLarge
from brute_force_fleets import best_of_pods
from random_pods import DrawnPod, a_pod, a_release
from random_rules import mixed_cluster

from dra_lab.gitops.extended import extended_claim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.pod_claims import exact_sketch

ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))
CHOICES = 150
"""Combinations of choices that a pod has on a node at most: several of them are tried beside one another."""


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
        return best_of_pods(
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
