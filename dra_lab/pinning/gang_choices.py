"""What each scheduler does with gangs beside the best plan: how many it starts, and how much worse their devices are.

Kueue and kube-scheduler's PodGroup loop are replayed (`pinning.gang_replay`), KAI and Volcano are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import HOSTS, Gang, GangPlan
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import FirstFitStatus, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workloads import Container, Pod, PodSpec, ResourceRequirements
from dra_lab.pinning.gang_replay import GangReplay, GangVerdict, replay_kueue, replay_pod_group
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation
from dra_lab.scheduler.kueue.assignment import HOSTNAME

_POD_GROUP_RELEASES = ("1.36", "1.37")

Range = tuple[int, int]
"""At least and at most."""


class GangChoice(Struct, frozen=True):
    """What one scheduler does with the gangs that are wanted.

    Args:
        replay: Its verdict about the first gang.
        started: How many gangs start; None if that is not known.
        worse: By goal, by how much the devices of the pods are worse than planned; goals without a difference are left
            out. Empty if it starts another number of gangs than the plan, or if it is not known.
        trapped: The domains that it chooses although the claims cannot be met there, as paths.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, gang_choices, load_cluster, plan_gangs
        >>> from dra_lab import read_sketch
        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")
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
    requests: Mapping[str, Mapping[str, str | int | float]] | None = None,
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
        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")
        >>> plan = plan_gangs(cluster, [gang])
        >>> found = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), plan)
        >>> [choice.replay.verdict.value for choice in found]
        ['yes', 'yes', 'maybe', 'maybe']
    """
    budget = budget or PinBudget()
    whole = len(gang.groups) == 1 and gang.least == gang.size and not gang.shared_claims
    nodes = _NodeFills(cluster, gang, release, budget) if whole and not gang.groups[0].slices else None
    if nodes is not None and nodes.simulation.shared:
        nodes = None
    found = (
        _kube_scheduler(cluster, gang, hierarchy, release, plan, nodes, budget),
        _kueue(cluster, gang, hierarchy, release, plan, nodes, requests or {}, budget),
        GangChoice(GangReplay("KAI 0.17", GangVerdict.MAYBE, "; ".join(_kai(gang, hierarchy)))),
        GangChoice(GangReplay("Volcano 1.15", GangVerdict.MAYBE, "; ".join(_volcano(gang, hierarchy)))),
    )
    return tuple(map(_impossible, found, [gang] * len(found))) if _fits_nowhere(plan, gang) else found


class _NodeFills:
    """The goals of the pods that first fit places on a node, one after the other."""

    def __init__(self, cluster: Cluster, gang: Gang, release: KubernetesRelease, budget: PinBudget | None) -> None:
        (group,) = gang.groups
        kind = pod_kind(cluster, release, group.workload.name, group.workload.claims)
        self.simulation = SchedulerSimulation(cluster, [kind], release, budget=budget)
        self.unknown = False
        self._known: dict[object, list[Mapping[str, int]]] = {}

    def of(self, node: str, most: int) -> Sequence[Mapping[str, int]]:
        """Return the goals of the pods that a node takes, `most` or more if it has room."""
        key = self.simulation.kind_of.get(node)
        if key is None:
            return ()
        found = self._known.setdefault(key, [])
        while len(found) < most:
            history: History = (("", 0),) * len(found)
            taken = self.simulation.taken(node, history, 0)
            if taken.status is not FirstFitStatus.ALLOCATED:
                self.unknown = self.unknown or taken.unknown
                break
            found.append({goal.goal: goal.value for goal in taken.goals})
        return found[:most]


def _kube_scheduler(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: GangPlan,
    nodes: _NodeFills | None,
    budget: PinBudget,
) -> GangChoice:
    if release.version not in _POD_GROUP_RELEASES:
        sentence = f"Kubernetes {release.version} has no PodGroup with a level; it starts the pods one by one"
        return GangChoice(GangReplay(f"kube-scheduler {release.version}", GangVerdict.MAYBE, sentence))
    replay = replay_pod_group(cluster, gang, hierarchy, release, budget=budget)
    key = _key(gang, hierarchy)
    if nodes is None or not replay.domains or (gang.required and not key):
        return GangChoice(replay)
    places: dict[str, list[str]] = {}
    for node in cluster.nodes:
        value = node.metadata.labels.get(key, "") if key else "all"
        if value and not node.spec.unschedulable:
            places.setdefault(value, []).append(node.name)
    wanted = gang.size * gang.replicas
    counts = [sum(len(nodes.of(node, wanted)) for node in names) // gang.size for names in places.values()]
    started = min(gang.replicas, sum(counts))
    if nodes.unknown:
        return GangChoice(replay, (started, gang.replicas))
    pods = started * gang.size
    steps = sum(len(names) * pods for names in places.values()) * 8
    ranges: dict[str, Range] = {}
    if started == plan.counts.get(gang.name) and started and steps < budget.pin_sizes.gang_steps:
        for goal in _goals(plan, gang):
            parts = [_sums([_values(nodes.of(node, pods), goal) for node in names], pods) for names in places.values()]
            ranges[goal] = _sums_of_gangs(parts, gang.size, pods)
    return GangChoice(replay, (started, started), _worse(plan, gang, ranges))


def _kueue(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: GangPlan,
    nodes: _NodeFills | None,
    requests: Mapping[str, Mapping[str, str | int | float]],
    budget: PinBudget,
) -> GangChoice:
    if hierarchy is None and gang.required in HOSTS:
        hierarchy = Hierarchy("nodes", (), ())
    if hierarchy is None:
        sentence = "without a level, Kueue checks the quota and chooses no nodes"
        return GangChoice(GangReplay("Kueue 0.19", GangVerdict.MAYBE, sentence))
    one = replace(gang, replicas=1)
    first = replay_kueue(cluster, one, hierarchy, release, requests=requests, budget=budget)
    names = {node.metadata.labels.get(HOSTNAME, node.name): node.name for node in cluster.nodes}
    trapped = [names.get(row.domain, row.domain) for row in first.domains if row.most < row.wanted]
    paths = dict.fromkeys(_domain(node, gang, hierarchy) for node in trapped)
    if nodes is None or not first.domains or gang.replicas > budget.pin_sizes.copies:
        return GangChoice(first, trapped=tuple(paths))
    used, pods = Counter[str](), list(cluster.pods)
    taken: Counter[str] = Counter()
    started, replay = 0, first
    for number in range(gang.replicas):
        if number:
            replay = replay_kueue(replace(cluster, pods=tuple(pods)), one, hierarchy, release, requests=requests)
        if not replay.domains:
            break
        waiting = False
        for row in replay.domains:
            node = names.get(row.domain, row.domain)
            every = nodes.of(node, used[node] + row.wanted)
            new = every[used[node] :]
            waiting = waiting or len(new) < row.wanted
            if len(new) < row.wanted:
                paths[_domain(node, gang, hierarchy)] = None
            used[node] += len(new)
            for goals in new:
                taken.update(goals)
            pods += [_pod(node, requests.get(gang.groups[0].workload.name, {}))] * row.wanted
        started += not waiting
    if nodes.unknown:
        return GangChoice(first, (started, gang.replicas), trapped=tuple(paths))
    same = started == plan.counts.get(gang.name) == gang.replicas
    ranges = {goal: (taken[goal], taken[goal]) for goal in _goals(plan, gang)} if same else {}
    return GangChoice(first, (started, started), _worse(plan, gang, ranges), tuple(paths))


def _pod(node: str, requests: Mapping[str, str | int | float]) -> Pod:
    container = Container(resources=ResourceRequirements(requests=dict(requests)))
    return Pod(ObjectMeta(), spec=PodSpec(containers=(container,), node_name=node))


def _key(gang: Gang, hierarchy: Hierarchy | None) -> str:
    """Return the node label of the required level, "" if there is none."""
    if gang.required in HOSTS:
        return HOSTNAME
    if not gang.required or hierarchy is None:
        return ""
    return hierarchy.levels[hierarchy.level_index(gang.required)].key


def _domain(node: str, gang: Gang, hierarchy: Hierarchy) -> str:
    """Return the path of the domain of a node, of the required level, else of the innermost level."""
    if gang.required in HOSTS:
        return node
    depth = hierarchy.level_index(gang.required) + 1 if gang.required else len(hierarchy.levels)
    return "/".join(hierarchy.path_of(node)[:depth])


# ---------------------------------------------------------------- regret


def _goals(plan: GangPlan, gang: Gang) -> tuple[str, ...]:
    """Return the goals of devices that the pods of a gang have in the plan."""
    first = next((pod for placed in plan.placed if placed.gang == gang.name for pod in placed.replicas), None)
    return tuple(goal.goal for goal in first.goals) if first is not None else ()


def _worse(plan: GangPlan, gang: Gang, ranges: Mapping[str, Range]) -> dict[str, Range]:
    planned: Counter[str] = Counter()
    for placed in plan.placed:
        for pod in placed.replicas if placed.gang == gang.name else ():
            planned.update({goal.goal: goal.value for goal in pod.goals})
    found = {goal: (least - planned[goal], most - planned[goal]) for goal, (least, most) in ranges.items()}
    return {goal: difference for goal, difference in found.items() if difference != (0, 0)}


def _values(pods: Sequence[Mapping[str, int]], goal: str) -> tuple[int, ...]:
    return tuple(pod.get(goal, 0) for pod in pods)


Sums = list[Range | None]
"""By a number of pods, the least and the most that a goal can come to; None if so many pods have no place."""


def _sums(nodes: Sequence[tuple[int, ...]], pods: int) -> Sums:
    """Return the least and most sum of a goal for each number of pods on some nodes, each filled from its first pod."""
    found: Sums = [(0, 0), *([None] * pods)]
    for values in nodes:
        prefix = [0]
        for value in values:
            prefix.append(prefix[-1] + value)
        found = _added(found, [(total, total) for total in prefix], pods)
    return found


def _sums_of_gangs(parts: Sequence[Sums], size: int, pods: int) -> Range:
    """Return the least and most sum for a number of pods that are whole gangs in each domain."""
    found: Sums = [(0, 0), *([None] * pods)]
    for part in parts:
        whole = [value if count % size == 0 else None for count, value in enumerate(part)]
        found = _added(found, whole, pods)
    return found[pods] or (0, 0)


def _added(one: Sums, other: Sequence[Range | None], pods: int) -> Sums:
    found: Sums = [None] * (pods + 1)
    for count, mine in enumerate(one):
        for more, theirs in enumerate(other[: pods + 1 - count]):
            if mine is None or theirs is None:
                continue
            least, most = mine[0] + theirs[0], mine[1] + theirs[1]
            known = found[count + more]
            found[count + more] = (least, most) if known is None else (min(known[0], least), max(known[1], most))
    return found


# ---------------------------------------------------------------- schedulers that are not replayed


def _fits_nowhere(plan: GangPlan, gang: Gang) -> bool:
    """Say whether it is proven that no gang has a place."""
    rooms = [room for room in plan.rooms if room.gang == gang.name]
    none = bool(rooms) and all(room.proven and not room.gangs for room in rooms)
    return none or plan.status is PlanStatus.INFEASIBLE


def _impossible(choice: GangChoice, gang: Gang) -> GangChoice:
    """Return "no" for a choice that is open although no scheduler can do what is impossible."""
    if choice.replay.verdict is not GangVerdict.MAYBE:
        return choice
    level = "node" if gang.required in HOSTS else gang.required
    where = f"no {level} has" if level else "the nodes do not have"
    return GangChoice(GangReplay(choice.replay.scheduler, GangVerdict.NO, f"{where} the devices for the gang, proven"))


def _kai(gang: Gang, hierarchy: Hierarchy | None) -> Iterator[str]:
    if gang.required not in ("", *HOSTS) and not _key(gang, hierarchy):
        yield f"no node label names the level {gang.required}, which KAI needs"
    yield "it tries domains with enough GPUs, the fullest first, and checks all claims node by node without going back"


def _volcano(gang: Gang, hierarchy: Hierarchy | None) -> Iterator[str]:
    known = hierarchy is not None and any(level.source.startswith("HyperNode tier ") for level in hierarchy.levels)
    if gang.required and not known:
        yield "the level has no HyperNodes yet, which dra-lab export writes"
    yield "it tries HyperNodes by tier and checks the claims node by node without going back"
