"""Plans of one pod and of fleets for tests; every plan must keep the rules of DRA and count its goals correctly."""

from __future__ import annotations

from dataclasses import replace

from recounted_goals import wrong_goals, wrong_sums

from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import release_of
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.plan_pod import plan_pod
from tests.oracle.referee import check_plan


def checked_plan(cluster: Cluster, claims, *, release=None, **options) -> Plan:
    """Return what `plan_pod` returns; assert `check_plan` and its goals."""
    plan = plan_pod(cluster, claims, release=release, **options)
    assert not (broken := broken_rules(cluster, plan, release)), "\n".join(broken)
    asked, nodes = options.get("node"), getattr(claims, "nodes", None)
    assert not plan.fits or plan.node == (asked or plan.node)
    assert not plan.fits or nodes is None or plan.node in nodes
    return plan


def checked_fleet(cluster: Cluster, workloads, *, release=None, **options) -> Plan:
    """Return what `plan_fleet` returns; assert `check_plan` and its goals."""
    plan = plan_fleet(cluster, workloads, release=release, **options)
    assert not (broken := broken_rules(cluster, plan, release)), "\n".join(broken)
    assert plan.workloads == tuple(workloads)
    return plan


def broken_rules(cluster: Cluster, plan: Plan, release=None) -> list[str]:
    """Return the rules that a plan breaks on the cluster that it was made for, and what is wrong with its goals."""
    target = release_of(release, cluster.default_release)
    if not plan.node_classes:
        world, recount = cluster, wrong_sums
    else:
        known = {(claim.metadata.namespace, claim.metadata.name) for claim in cluster.claims}
        own = [c for c in plan.allocated_claims if (c.metadata.namespace, c.metadata.name) not in known]
        world, recount = replace(cluster, claims=(*cluster.claims, *own)) if own else cluster, wrong_goals
    found = [f"{finding.rule} {finding.subject}: {finding.message}" for finding in check_plan(world, plan, target)]
    return found or list(recount(world, plan, world.target_release(target)))
