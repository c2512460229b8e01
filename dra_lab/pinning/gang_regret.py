"""gang_regret: how far the choice of Kueue or kube-scheduler stays behind the best plan for a gang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES
from dra_lab.model.gang import DOMAINS, GANG_GOALS, GANGS, HOSTS, Gang, GangPlan
from dra_lab.model.gang_replay import GangRegret, GoalRange
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.gang_fills import GangFills
from dra_lab.pinning.goal_sums import Range, sum_range
from dra_lab.pinning.node_amounts import Requests
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.replay_gang import (
    KUEUE,
    flavor_of,
    kueue_unknown,
    level_key,
    placements_of,
    pod_group_name,
    pod_group_unknown,
    pod_sets,
)
from dra_lab.scheduler.kueue.assignment import KueueAssignment, kueue_assignments


class _Started(Struct, frozen=True):
    """The gangs and pods that start; `goals` has no goal whose value is not known."""

    gangs: Range
    pods: Range
    goals: Mapping[str, Range] = {}
    trapped: tuple[str, ...] = ()


def kueue_regret(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy,
    plan: GangPlan,
    release: KubernetesRelease,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> GangRegret:
    """Return how far Kueue's choice stays behind the best plan, if its gangs arrive one after the other.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang with its replicas.
        hierarchy: The levels of the Topology.
        plan: The best plan for this gang alone.
        release: The release of Kubernetes.
        requests: What a pod of each group requests of its node, by the name of the workload.
        budget: When to stop; None: without an end.

    Returns:
        The gangs and pods that start, and the values of the goals beside those of the plan.
    """
    unknown = kueue_unknown(cluster, gang, hierarchy)
    copies_most = (budget or PinBudget()).pin_sizes.copies
    if gang.replicas > copies_most:
        unknown = f"of more than {copies_most:,} gangs none is given to Kueue one after the other"
    if unknown:
        return _compared(gang, KUEUE, plan, None, unknown)
    sets = pod_sets(gang, hierarchy, requests)
    copies = [
        replace(one, name=f"{one.name} {number}", group=one.group and f"{one.group} {number}")
        for number in range(gang.replicas)
        for one in sets
    ]
    assigned = kueue_assignments(flavor_of(hierarchy), cluster.nodes, cluster.pods, copies)
    fills = GangFills(cluster, gang.groups, release, budget)
    return _compared(gang, KUEUE, plan, _admitted(cluster, gang, hierarchy, assigned, fills))


def pod_group_regret(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    plan: GangPlan,
    release: KubernetesRelease,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> GangRegret:
    """Return how far kube-scheduler's PodGroups stay behind the best plan, if they arrive one after the other.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang with its replicas.
        hierarchy: The hierarchy of its required level; None if it has none.
        plan: The best plan for this gang alone.
        release: The release of Kubernetes.
        requests: What a pod of each group requests of its node, by the name of the workload. Without, nodes count
            devices only.
        budget: When to stop; None: without an end.

    Returns:
        The gangs and pods that start, and the goals beside those of the plan, as ranges: scores and chance choose the
        domain and the nodes.
    """
    name = pod_group_name(release)
    unknown = pod_group_unknown(gang, hierarchy, release)
    if unknown:
        return _compared(gang, name, plan, None, unknown)
    key = level_key(gang.required, hierarchy)
    fills = GangFills(cluster, gang.groups, release, budget, requests)
    return _compared(gang, name, plan, _grouped(cluster, gang, key, fills))


def _compared(gang: Gang, name: str, plan: GangPlan, started: _Started | None, unknown: str = "") -> GangRegret:
    placed = [one for one in plan.placed if one.gang == gang.name]
    pods = sum(len(one.replicas) for one in placed)
    alone = len(plan.gangs) == 1 and not plan.workloads
    first = plan.goal(GANGS)
    found = GangRegret(
        gang.name,
        name,
        gang.replicas,
        *(started.gangs if started else (0, gang.replicas)),
        best=len(placed),
        proven=alone and first is not None and first.proven,
        pods=started.pods if started else (0, gang.replicas * gang.size),
        best_pods=pods,
        trapped=started.trapped if started else (),
        unknown=unknown,
    )
    if started is None or started.gangs != (len(placed),) * 2 or started.pods != (pods, pods):
        return found
    bounds = {goal.goal: goal.bound for goal in plan.goals} if alone else {}
    planned = planned_goals(plan, gang)
    rows = [
        GoalRange(goal, *started.goals[goal], value, bounds.get(goal))
        for goal, value in planned.items()
        if goal in started.goals
    ]
    return replace(found, goals=tuple(rows))


def planned_goals(plan: GangPlan, gang: Gang) -> dict[str, int]:
    """Return the values of the goals that are about one gang's own pods, in the order of their importance."""
    placed = [one for one in plan.placed if one.gang == gang.name]
    values = Counter[str]()
    for one in placed:
        for pod in one.replicas:
            values.update({goal.goal: goal.value for goal in pod.goals})
    if gang.required:
        values[DOMAINS] = len({one.domain for one in placed})
    values[NODES] = len({pod.node for one in placed for pod in one.replicas})
    return {goal: values[goal] for goal in GANG_GOALS if goal in values}


def _admitted(
    cluster: Cluster, gang: Gang, hierarchy: Hierarchy, assigned: Sequence[KueueAssignment], fills: GangFills
) -> _Started:
    """Return which of the gangs that Kueue admits have devices: those of earlier gangs are in use then."""
    hosts = {node.metadata.labels.get("kubernetes.io/hostname", node.name): node.name for node in cluster.nodes}
    number = {group.workload.name: index for index, group in enumerate(gang.groups)}
    used: dict[str, Counter[int]] = {}
    trapped: dict[str, None] = {}
    sure = may = 0
    pods = [0, 0]
    for copy in range(gang.replicas):
        mine = assigned[copy * len(gang.groups) : (copy + 1) * len(gang.groups)]
        if len(mine) < len(gang.groups) or any(one.message for one in mine):
            break
        got: dict[int, list[int]] = {}
        for one in mine:
            group = number[one.pod_set.rpartition(" ")[0]]
            got[group] = [0, 0]
            for path, count in one.pods:
                node = hosts.get(path[-1], path[-1])
                least, most = _served(node, group, count, used, fills)
                got[group] = [got[group][0] + least, got[group][1] + most]
                if most < count:
                    trapped["/".join(_domain_of(hierarchy, gang.required, node))] = None
        certain = all(got[index][0] >= group.least for index, group in enumerate(gang.groups))
        possible = all(got[index][1] >= group.least for index, group in enumerate(gang.groups))
        sure, may = sure + certain, may + possible
        pods[0] += certain * sum(least for least, _ in got.values())
        pods[1] += possible * sum(most for _, most in got.values())
    whole = pods == [gang.replicas * gang.size] * 2
    goals = _fixed_goals(gang, hierarchy, used, fills) if whole else {}
    return _Started((sure, may), (pods[0], pods[1]), goals, tuple(trapped))


def _served(node: str, group: int, count: int, used: dict[str, Counter[int]], fills: GangFills) -> Range:
    """Return how many more pods of a group get devices on a node that Kueue chose; `used` has the pods there."""
    here = used.setdefault(node, Counter())
    before = here[group]
    here[group] += count
    certain, possible = fills.on_node(node, group, before + count)
    alone = len(here) == 1 and not fills.simulation.shared
    return max(0, certain - before) if alone else 0, max(0, possible - before)


def _fixed_goals(
    gang: Gang, hierarchy: Hierarchy, used: Mapping[str, Counter[int]], fills: GangFills
) -> dict[str, Range]:
    """Return the goals' values of pods whose nodes and order on each node are known."""
    values = Counter[str]()
    for node, counts in used.items():
        for group, count in counts.items():
            for pod in fills.goals_on_node(node, group, count):
                values.update(pod)
    values[NODES] = len(used)
    if gang.required:
        values[DOMAINS] = len({_domain_of(hierarchy, gang.required, node) for node in used})
    return {goal: (value, value) for goal, value in values.items()}


def _domain_of(hierarchy: Hierarchy, level: str, node: str) -> tuple[str, ...]:
    """Return the path of the domain of a node: of the required level, else of the innermost one."""
    if level in HOSTS:
        return (node,)
    return hierarchy.path_of(node)[: hierarchy.level_index(level) + 1] if level else hierarchy.path_of(node)


def _grouped(cluster: Cluster, gang: Gang, key: str, fills: GangFills) -> _Started:
    """Return what starts of PodGroups: each takes one placement, and every pod of it that finds a node there."""
    placements = placements_of(cluster, key)
    headrooms = {value: _headrooms(gang, names, fills) for value, names in placements.items()}
    least = sum(_gangs_in(headroom[0], gang) for headroom in headrooms.values())
    most = sum(_gangs_in(headroom[1], gang) for headroom in headrooms.values())
    gangs = min(gang.replicas, least), min(gang.replicas, most)
    if not fills.alone or gang.least != gang.size or gangs[0] != gangs[1]:
        return _Started(gangs, (gangs[0] * gang.least, gangs[1] * gang.size))
    pods = gangs[0] * gang.size
    feasible = [placements[value] for value, headroom in headrooms.items() if headroom[0] >= gang.size]
    return _Started(gangs, (pods, pods), _ranged_goals(gang, gangs[0], feasible, fills) if pods else {})


def _headrooms(gang: Gang, nodes: Sequence[str], fills: GangFills) -> Range:
    """Return how many pods of all gangs a placement has room for; of several groups only the most is known."""
    least = most = 0
    for number, group in enumerate(gang.groups):
        wanted = group.workload.replicas * gang.replicas
        counts = [fills.on_node(node, number, wanted) for node in nodes]
        least, most = least + sum(one[0] for one in counts), most + sum(one[1] for one in counts)
    return least if fills.alone else 0, most


def _gangs_in(headroom: int, gang: Gang) -> int:
    """Return how many gangs start one after the other where each takes all pods that find a node."""
    return headroom // gang.size + (headroom % gang.size >= gang.least)


def _ranged_goals(gang: Gang, gangs: int, feasible: Sequence[Sequence[str]], fills: GangFills) -> dict[str, Range]:
    """Return the range of each goal's value: any placement may be chosen, and any of its nodes."""
    pods = gangs * gang.size
    rows = [[fills.goals_on_node(node, 0, fills.on_node(node, 0, pods)[0]) for node in names] for names in feasible]
    values = [[[{**pod, NODES: int(not at)} for at, pod in enumerate(node)] for node in place] for place in rows]
    found = {}
    for goal in dict.fromkeys(name for place in values for node in place for pod in node for name in pod):
        by_node = [[[pod[goal] for pod in node] for node in place] for place in values]
        found[goal] = sum_range(by_node, gang.size, pods, fills.budget.pin_sizes.gang_steps)
    if gang.required:
        headroom = sorted((sum(map(len, place)) // gang.size for place in rows), reverse=True)
        found[DOMAINS] = 1 + sum(total < gangs for total in accumulate(headroom)), min(gangs, len(feasible))
    return found
