"""trace_gang and gang_regret: what a scheduler does with a gang, and how far it stays behind the best plan."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import Gang, GangPlan
from dra_lab.model.gang_replay import GangRegret, GangReplay
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.gang_regret import kueue_regret, pod_group_regret
from dra_lab.pinning.node_amounts import Requests
from dra_lab.pinning.pin_budget import PinBudget, budget_of
from dra_lab.pinning.replay_gang import replay_kueue, replay_pod_group
from dra_lab.planner.gangs.needs import hierarchy_of
from dra_lab.topology.hierarchies import hierarchies as levels_of

KUEUE, KUBE_SCHEDULER = "kueue", "kube-scheduler"

SCHEDULERS = (KUEUE, KUBE_SCHEDULER)
"""The schedulers whose choice is replayed."""

_HOSTS = Hierarchy("hosts", (), ())


def trace_gang(
    cluster: Cluster,
    gang: Gang,
    scheduler: str = KUEUE,
    *,
    hierarchies: Sequence[Hierarchy] | None = None,
    release: KubernetesRelease | str | None = None,
    requests: Requests | None = None,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> GangReplay:
    """Return what a scheduler does with a gang, step by step.

    Kueue chooses domains by what it counts: CPUs, memory, extended resources and pods. kube-scheduler tries one
    placement for each domain. Scores and chance make it "maybe".

    Args:
        cluster: The nodes and what is in use.
        gang: The gang; one of its replicas is traced.
        scheduler: `kueue` (0.19) or `kube-scheduler` (the PodGroup loop of 1.36.2).
        hierarchies: The levels above the nodes; default: those of the cluster.
        release: The release of Kubernetes; default: that of the cluster.
        requests: What a pod of each group requests of its node, by the name of the workload. Default: nothing.
        time_limit: Seconds for all searches on nodes. Default None: no limit.
        cancel: Ends the searches when it is set.

    Returns:
        The verdict and the steps; `print` shows them in words. Each step has the `source` of its rule.

    Raises:
        InputError: The scheduler, a level or the release is unknown.
        SketchError: A drawing is inconsistent.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.

    Example:
        >>> from dra_lab import Gang, GangGroup, Workload, load_cluster, read_sketch, trace_gang

        Both workers must be on one node.

        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")

        Each step names the rule that it follows.

        >>> found = trace_gang(load_cluster("sample:two-sockets"), gang, "kube-scheduler")
        >>> found.verdict.value, [step.rule.value for step in found.steps]
        ('yes', ['placements', 'tried', 'tried', 'one placement'])
    """
    hierarchy, target = _tree_and_release(cluster, gang, scheduler, hierarchies, release)
    budget = _budget(time_limit, cancel)
    if scheduler == KUBE_SCHEDULER:
        return replay_pod_group(cluster, gang, hierarchy, target, requests=requests, budget=budget)
    return replay_kueue(cluster, gang, hierarchy or _HOSTS, target, requests=requests, budget=budget)


def gang_regret(
    cluster: Cluster,
    gang: Gang,
    plan: GangPlan,
    scheduler: str = KUEUE,
    *,
    hierarchies: Sequence[Hierarchy] | None = None,
    release: KubernetesRelease | str | None = None,
    requests: Requests | None = None,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> GangRegret:
    """Return how far a scheduler's choice stays behind the best plan for a gang and its replicas.

    The gangs arrive one after the other. Scores and chance make it a range.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang with its replicas.
        plan: The best plan, of `plan_gangs(cluster, [gang])`. Only its pods of this gang are compared.
        scheduler: `kueue` or `kube-scheduler`.
        hierarchies: The levels above the nodes; default: those of the cluster.
        release: The release of Kubernetes; default: that of the cluster.
        requests: What a pod of each group requests of its node, by the name of the workload. Default: nothing.
        time_limit: Seconds for all searches on nodes. Default None: no limit.
        cancel: Ends the searches when it is set.

    Returns:
        The gangs and pods that start, and the values of the goals beside those of the plan.

    Raises:
        InputError: The scheduler, a level or the release is unknown, or the plan is for other gangs.
        SketchError: A drawing is inconsistent.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.

    Example:
        >>> from dra_lab import Gang, GangGroup, Workload, gang_regret, load_cluster, plan_gangs, read_sketch

        Both workers must be on one node.

        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")
        >>> cluster = load_cluster("sample:two-sockets")
        >>> print(gang_regret(cluster, gang, plan_gangs(cluster, [gang]), "kube-scheduler").gangs)
        (0, 0)
    """
    if gang not in plan.gangs:
        raise InputError(f"the plan is not for the gang {gang.name!r}; use plan_gangs(cluster, [gang])")
    hierarchy, target = _tree_and_release(cluster, gang, scheduler, hierarchies, release)
    budget = _budget(time_limit, cancel)
    if scheduler == KUBE_SCHEDULER:
        found = pod_group_regret(cluster, gang, hierarchy, plan, target, requests=requests, budget=budget)
    else:
        topology = hierarchy or _HOSTS
        found = kueue_regret(cluster, gang, topology, plan, target, requests=requests, budget=budget)
    if plan.status in (PlanStatus.STOPPED, PlanStatus.NOT_CHECKED):
        return replace(found, unknown="there is no plan to compare with, because it was not answered in time")
    return found


def _tree_and_release(
    cluster: Cluster,
    gang: Gang,
    scheduler: str,
    hierarchies: Sequence[Hierarchy] | None,
    release: KubernetesRelease | str | None,
) -> tuple[Hierarchy | None, KubernetesRelease]:
    if scheduler not in SCHEDULERS:
        similar = did_you_mean(scheduler, SCHEDULERS)
        raise InputError(f"the scheduler {scheduler!r} is not replayed{similar}; there are: {', '.join(SCHEDULERS)}")
    known = levels_of(cluster) if hierarchies is None else hierarchies
    return hierarchy_of(gang, known), cluster.target_release(release)


def _budget(seconds: float | None, cancel: threading.Event | None) -> PinBudget:
    return PinBudget(None, cancel) if seconds is None else budget_of(seconds, cancel)
