"""Fleets: workloads × replicas on 500 and 5,000 mixed busy nodes, with the bound and the part that took the time."""

from __future__ import annotations

import resource
import time

from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet
from tests.benchmarks.mixed_cluster import mixed_cluster, workloads
from tests.oracle.referee import check_plan

RELEASE = KubernetesRelease("1.36")


def summary(plan: Plan) -> str:
    """Return what is proven, the first goal that is not with its gap, and the seconds of each part."""
    unproven = next((goal for goal in plan.goals if not goal.proven), None)
    if unproven is None:
        proof = f"{plan.status}, all goals proven"
    else:
        bound = "unknown" if unproven.bound is None else f"{unproven.bound:,}"
        proof = f"proven up to {unproven.goal}: {unproven.value:,}, bound {bound}"
    parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in plan.parts.items())
    return f"{len(plan.pods):,} placed; {proof} ({plan.states:,} states; seconds: {parts})"


def measure(title: str, nodes: int, replicas: tuple[int, int, int], *, must: bool, limit: float, target: str) -> None:
    """Plan twice, the first time with nothing known of the cluster, and print both."""
    cluster, fleet = mixed_cluster(nodes), workloads(replicas, must=must)
    for which in ("first", "again"):
        began, cpu = time.perf_counter(), time.process_time()
        plan = plan_fleet(cluster, fleet, release=RELEASE, time_limit=limit, first_fit=False)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(f"{title}, limit {limit:g} s, {which}: {seconds:.1f} s ({cpu:.1f} s of CPU); {target}")
        print(f"  {summary(plan)}")
    assert check_plan(cluster, plan, RELEASE) == ()


def main() -> None:
    """Print the times beside their targets."""
    mixed_cluster(5)
    few = "2,500 claims of three kinds on 500 nodes"
    for limit, target in ((1, "target: plan and bound in 1 s"), (5, "no target")):
        measure(few, 500, (834, 833, 833), must=False, limit=limit, target=target)
    for must in (False, True):
        words = "with must-links" if must else "without links"
        fleet = (3500, 3500, 3500)
        title = f"10,500 claims of three kinds on 5,000 nodes {words}"
        for limit, target in ((5, "target: plan and bound in 5 s"), (60, "target: proof or the unproven goal in 60 s")):
            measure(title, 5000, fleet, must=must, limit=limit, target=target)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"most memory {memory:.0f} MB; target 500 MB")


if __name__ == "__main__":
    main()
