"""`plan_gangs` for tests; every plan must keep the rules of gangs and devices."""

from __future__ import annotations

from dra_lab import Cluster, Plan
from dra_lab.planner.gangs import plan_gangs
from tests.oracle.referee import check_plan


def checked_gangs(cluster: Cluster, gangs, workloads=(), *, hierarchies=(), release=None, **options) -> Plan:
    """Return what `plan_gangs` returns; assert that it keeps every rule of `check_plan`."""
    given = {"hierarchies": list(hierarchies)} if hierarchies else {}
    plan = plan_gangs(cluster, [*gangs, *workloads], release=release, **given, **options)
    assert not (broken := broken_gangs(cluster, plan, hierarchies, release)), "\n".join(broken)
    return plan


def broken_gangs(cluster: Cluster, plan: Plan, hierarchies=(), release=None) -> list[str]:
    """Return the rules that a plan for gangs breaks, a line each."""
    found = check_plan(cluster, plan, cluster.target_release(release), hierarchies)
    return [f"{finding.rule} {finding.subject}: {finding.message}" for finding in found]
