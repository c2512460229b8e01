"""gang_choices: each scheduler beside the best plan of gangs: how many it starts, and how much worse their devices are.

Kueue and kube-scheduler's PodGroup loop are replayed (`pinning.gang_replay`), KAI and Volcano are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import HOSTS, Gang, GangPlan
from dra_lab.model.gang_replay import GangRegret, GangReplay, GangVerdict
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.gang_regret import kueue_regret, pod_group_regret
from dra_lab.pinning.goal_sums import Range
from dra_lab.pinning.node_amounts import Requests
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.replay_gang import level_key, replay_kueue, replay_pod_group


class GangChoice(Struct, frozen=True):
    """The choice of one scheduler for the gangs that are wanted.

    Args:
        replay: Its verdict about the first gang.
        started: How many gangs start; None if that is not known.
        worse: By goal, by how much the devices of the pods are worse than planned; goals without a difference are left
            out. Empty if it starts another number of gangs than the plan, or if it is not known.
        trapped: The domains that it chooses although the claims cannot be met there, as paths.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, gang_choices, load_cluster, plan_gangs
        >>> from dra_lab import read_sketch

        Both workers must be on one node.

        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")

        The first of four schedulers is kube-scheduler.

        >>> choice = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), plan_gangs(cluster, [gang]))[0]
        >>> choice.started, choice.worse
        ((1, 1), {})
    """

    replay: GangReplay
    started: Range | None = None
    worse: Mapping[str, Range] = {}
    trapped: tuple[str, ...] = ()


def gang_choices(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: GangPlan,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> tuple[GangChoice, ...]:
    """Return what kube-scheduler, Kueue, KAI and Volcano do with a gang beside a plan of it.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang.
        hierarchy: The hierarchy of its levels; None if it has none.
        release: The release of Kubernetes.
        plan: The plan to compare with.
        requests: What a pod of each group requests of its node, by the name of the workload.
        budget: When to stop; None: without an end.

    Returns:
        One choice for each scheduler.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, gang_choices, load_cluster, plan_gangs
        >>> from dra_lab import read_sketch

        Both workers must be on one node.

        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")

        KAI and Volcano are not replayed.

        >>> plan = plan_gangs(cluster, [gang])
        >>> found = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), plan)
        >>> [choice.replay.verdict.value for choice in found]
        ['yes', 'yes', 'maybe', 'maybe']
    """
    found: tuple[GangChoice, ...] = (
        _kube_scheduler(cluster, gang, hierarchy, release, plan, requests, budget),
        _kueue(cluster, gang, hierarchy, release, plan, requests, budget),
    )
    found = tuple(_impossible(one, gang) for one in found) if _fits_nowhere(plan, gang) else found
    return (*found, *map(GangChoice, not_replayed(gang, hierarchy, plan).values()))


def _kube_scheduler(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: GangPlan,
    requests: Requests | None,
    budget: PinBudget | None,
) -> GangChoice:
    common: dict[str, Any] = {"requests": requests, "budget": budget}
    replay = replay_pod_group(cluster, gang, hierarchy, release, **common)
    return _choice(replay, pod_group_regret(cluster, gang, hierarchy, plan, release, **common))


def _kueue(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: GangPlan,
    requests: Requests | None,
    budget: PinBudget | None,
) -> GangChoice:
    if hierarchy is None and gang.required in HOSTS:
        hierarchy = Hierarchy("nodes", (), ())
    if hierarchy is None:
        sentence = "without a level, Kueue checks the quota and chooses no nodes"
        return GangChoice(GangReplay("Kueue 0.19", GangVerdict.MAYBE, sentence))
    common: dict[str, Any] = {"requests": requests, "budget": budget}
    replay = replay_kueue(cluster, gang, hierarchy, release, **common)
    found = _choice(replay, kueue_regret(cluster, gang, hierarchy, plan, release, **common))
    if found.started is None and replay.verdict is GangVerdict.NO:
        first = kueue_regret(cluster, replace(gang, replicas=1), hierarchy, plan, release, **common)
        return GangChoice(replay, trapped=first.trapped)
    return found


def _choice(replay: GangReplay, regret: GangRegret) -> GangChoice:
    if regret.unknown:
        return GangChoice(replay)
    worse = {goal.goal: (goal.least - goal.best, goal.most - goal.best) for goal in regret.goals}
    worse = {goal: value for goal, value in worse.items() if goal in GOAL_WORDS and value != (0, 0)}
    return GangChoice(replay, (regret.least, regret.most), worse, regret.trapped)


# ---------------------------------------------------------------- schedulers that are not replayed


def not_replayed(gang: Gang, hierarchy: Hierarchy | None, plan: GangPlan) -> dict[str, GangReplay]:
    """Return what is known of the choice of KAI and Volcano: maybe, or no if a plan proves that no gang has a place."""
    why = {"kai": ("KAI 0.17", _kai), "volcano": ("Volcano 1.15", _volcano)}
    found = {
        name: GangReplay(title, GangVerdict.MAYBE, "; ".join(words(gang, hierarchy)), gang=gang.name)
        for name, (title, words) in why.items()
    }
    if not _fits_nowhere(plan, gang):
        return found
    return {name: _impossible(GangChoice(one), gang).replay for name, one in found.items()}


def _fits_nowhere(plan: GangPlan, gang: Gang) -> bool:
    """Say whether it is proven that no gang has a place."""
    headrooms = [headroom for headroom in plan.headroom if headroom.gang == gang.name]
    none = bool(headrooms) and all(headroom.proven and not headroom.gangs for headroom in headrooms)
    return none or plan.status is PlanStatus.INFEASIBLE


def _impossible(choice: GangChoice, gang: Gang) -> GangChoice:
    """Return "no" for a choice that is open although no scheduler can do what is impossible."""
    if choice.replay.verdict is not GangVerdict.MAYBE:
        return choice
    level = "node" if gang.required in HOSTS else gang.required
    where = f"no {level} has" if level else "the nodes do not have"
    return GangChoice(GangReplay(choice.replay.scheduler, GangVerdict.NO, f"{where} the devices for the gang, proven"))


def _kai(gang: Gang, hierarchy: Hierarchy | None) -> Iterator[str]:
    if gang.required not in ("", *HOSTS) and not level_key(gang.required, hierarchy):
        yield f"no node label names the level {gang.required}, which KAI needs"
    yield "it tries domains with enough GPUs, the fullest first, and checks all claims node by node without going back"


def _volcano(gang: Gang, hierarchy: Hierarchy | None) -> Iterator[str]:
    known = hierarchy is not None and any(level.source.startswith("HyperNode tier ") for level in hierarchy.levels)
    if gang.required and not known:
        yield "the level has no HyperNodes yet, which dra-lab export writes"
    yield "it tries HyperNodes by tier and checks the claims node by node without going back"
