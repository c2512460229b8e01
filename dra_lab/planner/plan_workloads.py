"""The plan of workloads: one pod, many pods of their own, or gangs among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import NODES, UNPLACED, named_goals
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import as_pods, is_one_pod
from dra_lab.planner.plan_pod import plan_pod


def plan_workloads(
    cluster: Cluster,
    workloads: Sequence[Workload],
    *,
    node: str = "",
    goals: Sequence[str] = (),
    objective: str = "replicas",
    first_fit: bool = True,
    **common: Any,
) -> Plan:
    """Return the plan of workloads; see `make_plan`, and `plan_fleet` for `objective` and `first_fit`."""
    workloads = tuple(map(as_pods, workloads))
    if is_one_pod(workloads):
        own = [goal for goal in named_goals(goals) if goal not in (UNPLACED, NODES)]
        return plan_pod(cluster, workloads[0], node=node, goals=own, **common)
    if node:
        raise InputError("node is for one pod; many pods go where there is room")
    if not any(one.is_gang for one in workloads):
        from dra_lab.planner.fleet.plan_fleet import plan_fleet

        return plan_fleet(cluster, workloads, goals=goals, objective=objective, first_fit=first_fit, **common)
    if goals:
        raise InputError("goals have one order for gangs; leave them out")
    if any(one.same for one in workloads):
        from dra_lab.planner.rails import plan_same

        return plan_same(cluster, workloads, **common)
    from dra_lab.planner.gangs.plan_gangs import plan_gangs

    return plan_gangs(cluster, workloads, **common)
