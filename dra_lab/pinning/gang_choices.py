"""gang_choices: what each scheduler does with a gang: its verdict, how many gangs start, and where the claims miss.

Kueue and kube-scheduler's PodGroup loop are replayed (`pinning.replay_gang`), KAI and Volcano are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.gang_replay import GangReplay, GangVerdict
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.pinning.gang_fills import GangFills
from dra_lab.pinning.node_amounts import Requests
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.replay_gang import (
    KUEUE,
    flavor_of,
    kueue_unknown,
    level_key,
    placements_of,
    pod_group_unknown,
    pod_sets,
    replay_kueue,
    replay_pod_group,
)
from dra_lab.scheduler.kueue.assignment import HOSTNAME, kueue_assignments

Range = tuple[int, int]
"""At least and at most."""


class GangChoice(Struct, frozen=True):
    """The choice of one scheduler for the gangs that are wanted.

    Args:
        replay: Its verdict about the first gang.
        started: How many gangs start if they arrive one after the other; None if that is not known.
        trapped: The domains that it chooses although the claims cannot be met there, as paths.

    Example:
        >>> from dra_lab import KubernetesRelease, PodGroup, Workload, load_cluster, plan_gangs
        >>> from dra_lab.pinning.gang_choices import gang_choices
        >>> from dra_lab import read_sketch

        Both workers must be on one node.

        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)
        >>> gang = Workload("train", [worker], level="host")

        The first of four schedulers is kube-scheduler.

        >>> choice = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), plan_gangs(cluster, [gang]))[0]
        >>> choice.started, choice.trapped
        ((1, 1), ())
    """

    replay: GangReplay
    started: Range | None = None
    trapped: tuple[str, ...] = ()


def gang_choices(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: FleetPlan,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> tuple[GangChoice, ...]:
    """Return what kube-scheduler, Kueue, KAI and Volcano do with a gang.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang with its replicas.
        hierarchy: The hierarchy of its levels; None if it has none.
        release: The release of Kubernetes.
        plan: The plan of it. If it proves that no gang fits, the verdict of every scheduler is "no".
        requests: What a pod of each group requests of its node, by the name of the workload.
        budget: When to stop; None: without an end.

    Returns:
        One choice for each scheduler.

    Example:
        >>> from dra_lab import KubernetesRelease, PodGroup, Workload, load_cluster, plan_gangs
        >>> from dra_lab.pinning.gang_choices import gang_choices
        >>> from dra_lab import read_sketch

        Both workers must be on one node.

        >>> cluster = load_cluster("sample:two-sockets")
        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)
        >>> gang = Workload("train", [worker], level="host")

        KAI and Volcano are not replayed.

        >>> plan = plan_gangs(cluster, [gang])
        >>> found = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), plan)
        >>> [choice.replay.verdict.value for choice in found]
        ['yes', 'yes', 'maybe', 'maybe']
    """
    found = (
        _kube_scheduler(cluster, gang, hierarchy, release, requests, budget),
        _kueue(cluster, gang, hierarchy, release, requests, budget),
        _open("KAI 0.17", gang, _kai(gang, hierarchy)),
        _open("Volcano 1.15", gang, _volcano(gang, hierarchy)),
    )
    return tuple(_impossible(one, gang) for one in found) if _fits_nowhere(plan, gang) else found


def _kube_scheduler(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    requests: Requests | None,
    budget: PinBudget | None,
) -> GangChoice:
    """Return the verdict, and how many PodGroups start: each takes one placement, and every pod that fits there."""
    replay = replay_pod_group(cluster, gang, hierarchy, release, requests=requests, budget=budget)
    if pod_group_unknown(gang, hierarchy, release):
        return GangChoice(replay)
    fills = GangFills(cluster, gang.pods, release, budget, requests)
    placements = placements_of(cluster, level_key(gang.level, hierarchy)).values()
    headrooms = [_headroom(gang, nodes, fills) for nodes in placements]
    least, most = (sum(_gangs_in(headroom[end], gang) for headroom in headrooms) for end in (0, 1))
    return GangChoice(replay, (min(gang.replicas, least), min(gang.replicas, most)))


def _headroom(gang: Workload, nodes: Sequence[str], fills: GangFills) -> Range:
    """Return how many pods of all gangs a placement has room for; of several groups only the most is known."""
    least = most = 0
    for number, group in enumerate(gang.pods):
        wanted = group.count * gang.replicas
        counts = [fills.on_node(node, number, wanted) for node in nodes]
        least, most = least + sum(one[0] for one in counts), most + sum(one[1] for one in counts)
    return least if fills.alone else 0, most


def _gangs_in(headroom: int, gang: Workload) -> int:
    """Return how many gangs start one after the other where each takes all pods that find a node."""
    return headroom // gang.size + (headroom % gang.size >= gang.least)


def _kueue(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    requests: Requests | None,
    budget: PinBudget | None,
) -> GangChoice:
    """Return the verdict, how many gangs start, and where the claims of those that Kueue admits cannot be met."""
    if hierarchy is None and gang.level in HOSTS:
        hierarchy = Hierarchy("nodes", (), ())
    if hierarchy is None:
        sentence = "without a level, Kueue checks the quota and chooses no nodes"
        return GangChoice(GangReplay(KUEUE, GangVerdict.MAYBE, sentence, gang=gang.name))
    replay = replay_kueue(cluster, gang, hierarchy, release, requests=requests, budget=budget)
    if kueue_unknown(cluster, gang, hierarchy):
        return GangChoice(replay)
    few = gang.replicas <= (budget or PinBudget()).pin_sizes.copies
    sets = pod_sets(gang, hierarchy, requests)
    copies = [
        replace(one, name=f"{one.name} {number}", group=one.group and f"{one.group} {number}")
        for number in range(gang.replicas if few else 1)
        for one in sets
    ]
    assigned = kueue_assignments(flavor_of(hierarchy), cluster.nodes, cluster.pods, copies)
    admitted = _Admitted(cluster, gang, hierarchy, GangFills(cluster, gang.pods, release, budget))
    for first in range(0, len(assigned), len(sets)):
        mine = assigned[first : first + len(sets)]
        if len(mine) < len(sets) or any(one.message for one in mine):
            break
        admitted.add([one.pods for one in mine])
    return GangChoice(replay, (admitted.least, admitted.most) if few else None, tuple(admitted.trapped))


class _Admitted:
    """The gangs that Kueue admits one after the other: the devices of earlier ones are in use for the next."""

    def __init__(self, cluster: Cluster, gang: Workload, hierarchy: Hierarchy, fills: GangFills) -> None:
        self.gang, self.hierarchy, self.fills = gang, hierarchy, fills
        self.hosts = {node.metadata.labels.get(HOSTNAME, node.name): node.name for node in cluster.nodes}
        self.used: dict[str, Counter[int]] = {}
        self.least = self.most = 0
        self.trapped: dict[str, None] = {}

    def add(self, groups: Sequence[Sequence[tuple[tuple[str, ...], int]]]) -> None:
        """Add one gang; each group has its nodes with the pods there."""
        certain = possible = True
        for number, pods in enumerate(groups):
            least = most = 0
            for path, count in pods:
                node = self.hosts.get(path[-1], path[-1])
                served = self._served(node, number, count)
                least, most = least + served[0], most + served[1]
                if served[1] < count:
                    self.trapped["/".join(self._domain(node))] = None
            wanted = self.gang.pods[number].least
            certain, possible = certain and least >= wanted, possible and most >= wanted
        self.least, self.most = self.least + certain, self.most + possible

    def _served(self, node: str, group: int, count: int) -> Range:
        """Return how many more pods of a group get devices on a node that Kueue chose."""
        here = self.used.setdefault(node, Counter())
        before = here[group]
        here[group] += count
        certain, possible = self.fills.on_node(node, group, before + count)
        alone = len(here) == 1 and not self.fills.simulation.shared
        return max(0, certain - before) if alone else 0, max(0, possible - before)

    def _domain(self, node: str) -> tuple[str, ...]:
        """Return the path of the domain of a node: of the required level, else of the innermost one."""
        level, tree = self.gang.level, self.hierarchy
        if level in HOSTS:
            return (node,)
        return tree.path_of(node)[: tree.level_index(level) + 1] if level else tree.path_of(node)


# ---------------------------------------------------------------- schedulers that are not replayed


def _open(title: str, gang: Workload, why: Iterable[str]) -> GangChoice:
    return GangChoice(GangReplay(title, GangVerdict.MAYBE, "; ".join(why), gang=gang.name))


def _fits_nowhere(plan: FleetPlan, gang: Workload) -> bool:
    """Say whether it is proven that no gang has a place."""
    headrooms = [headroom for headroom in plan.where if headroom.workload == gang.name]
    none = bool(headrooms) and all(headroom.proven and not headroom.replicas.value for headroom in headrooms)
    return none or plan.status is PlanStatus.INFEASIBLE


def _impossible(choice: GangChoice, gang: Workload) -> GangChoice:
    """Return "no" for a choice that is open although no scheduler can do what is impossible."""
    if choice.replay.verdict is not GangVerdict.MAYBE:
        return choice
    level = "node" if gang.level in HOSTS else gang.level
    where = f"no {level} has" if level else "the nodes do not have"
    sentence = f"{where} the devices for the gang, proven"
    return GangChoice(GangReplay(choice.replay.scheduler, GangVerdict.NO, sentence, gang=gang.name))


def _kai(gang: Workload, hierarchy: Hierarchy | None) -> Iterator[str]:
    if gang.level not in ("", *HOSTS) and not level_key(gang.level, hierarchy):
        yield f"no node label names the level {gang.level}, which KAI needs"
    yield "it tries domains with enough GPUs, the fullest first, and checks all claims node by node without going back"


def _volcano(gang: Workload, hierarchy: Hierarchy | None) -> Iterator[str]:
    known = hierarchy is not None and any(level.source.startswith("HyperNode tier ") for level in hierarchy.levels)
    if gang.level and not known:
        yield "the level has no HyperNodes yet, which dra-lab export writes"
    yield "it tries HyperNodes by tier and checks the claims node by node without going back"
