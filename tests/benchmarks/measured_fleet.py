"""One plan of a fleet, measured: what is placed, what is proven, and the seconds of the clock and of the processor."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Workload
from dra_lab.planner.fleet import plan_fleet
from tests.oracle.referee import check_plan

RELEASE = KubernetesRelease("1.36", {"DRAConsumableCapacity": True})
CHECKED = 1_000
"""Replicas of a plan that is checked against the rules: that takes longer than to make it."""


def measure(
    what: str, cluster: Cluster, fleet: Sequence[Workload], limit: float, target: str = "", *, checked: bool = True
) -> None:
    """Plan a fleet once, and print the plan beside the target."""
    began, cpu = time.perf_counter(), time.process_time()
    plan = plan_fleet(cluster, fleet, release=RELEASE, time_limit=limit, first_fit=False)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    wanted, unplaced = sum(workload.replicas for workload in fleet), plan.goal("unplaced")
    most = wanted - ((unplaced.bound if unplaced is not None else 0) or 0)
    unproven = ", ".join(f"{g.goal} {g.value:,}, bound {g.bound or 0:,}" for g in plan.goals if not g.proven)
    parts = ", ".join(f"{part} {spent:.1f}" for part, spent in plan.parts.items())
    print(f"{what}, limit {limit:g} s: {len(plan.pods):,} of at most {most:,} pods placed; {target or 'no target'}")
    print(f"  {seconds:.2f} s ({cpu:.2f} s of CPU; {parts}); {plan.states:,} states")
    print(f"  {'not proven: ' + unproven if unproven else 'all goals proven'}", flush=True)
    if checked and len(plan.pods) <= CHECKED:
        assert check_plan(cluster, plan, RELEASE) == ()
