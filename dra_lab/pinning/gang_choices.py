"""gang_choices: what each scheduler does with a gang: its verdict, how many gangs start, and where the claims miss.

kube-scheduler's PodGroup loop and Kueue are replayed, KAI and Volcano are not. Both place pods one after the other
without going back. Whether a pod fits on a node is what first fit says there. Scores of other plugins, which are not
known here, decide which node gets the next pod; if that matters, the verdict is "maybe".

Source: kubernetes 1.36.2, pkg/scheduler/schedule_one_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import DomainReplay, GangChoice, GangReplay, GangVerdict
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.pinning.gang_fills import GangFills, Requests
from dra_lab.pinning.kueue_choice import SHARED, Range, kueue_choice
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.scheduler.kueue.assignment import HOSTNAME


@dataclass(frozen=True)
class _Arrival:
    """Gangs that arrive at a scheduler of a cluster; `requests` are those of a pod of each group, by its name."""

    cluster: Cluster
    gang: Workload
    hierarchy: Hierarchy | None
    release: KubernetesRelease
    requests: Requests | None = None
    budget: PinBudget | None = None

    def key(self, level: str) -> str:
        """Return the node label of a level; "" without a level, or if no label names it."""
        if level in HOSTS:
            return HOSTNAME
        tree = self.hierarchy
        return tree.levels[tree.level_index(level)].key if level and tree is not None else ""

    def choice(self, scheduler: str, verdict: GangVerdict, sentence: str) -> GangChoice:
        """Return a verdict without a replay."""
        return GangChoice(GangReplay(scheduler, verdict, sentence, gang=self.gang.name))


def gang_choices(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    plan: Plan,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> tuple[GangChoice, ...]:
    """Return what kube-scheduler, Kueue, KAI and Volcano do with a gang, one choice each in this order.

    `hierarchy` is that of the required level; None if it has none. `plan` may prove that no scheduler can place the
    gang. `requests` are those of a pod of each group of its node, by the name of the workload. No `budget` is one
    without an end.
    """
    given = _Arrival(cluster, gang, hierarchy, release, requests, budget)
    found = (
        _kube_scheduler(given),
        kueue_choice(cluster, gang, hierarchy, release, requests, budget),
        given.choice("KAI 0.17", GangVerdict.MAYBE, "; ".join(_kai(given))),
        given.choice("Volcano 1.15", GangVerdict.MAYBE, "; ".join(_volcano(given))),
    )
    return tuple(_impossible(one, given) for one in found) if _fits_nowhere(plan, gang) else found


# ---------------------------------------------------------------- kube-scheduler


def _kube_scheduler(given: _Arrival) -> GangChoice:
    """Return the verdict, and how many PodGroups start: each takes one placement, and every pod that fits there.

    There is one placement for each value of the node label of the required level; nodes without the label are left
    out, and equal values of different parents are one placement. In each, the pods are placed one after the other: by
    priority, then by the time of their first attempt. A pod without a node is passed over. The group starts where as
    many pods as its minimum have a place, whatever groups of the gang they are of.
    """
    gang, release = given.gang, given.release
    gate = "" if release.is_at_least("1.37") else ", GangScheduling on"
    name = f"kube-scheduler {release.version}" + (f" (PodGroup{gate})" if release.is_at_least("1.36") else "")
    if unknown := _pod_group_unknown(given):
        return given.choice(name, GangVerdict.MAYBE, unknown)
    fills = GangFills(given.cluster, gang.pods, release, given.budget, given.requests)
    placements = _placements(given.cluster, given.key(gang.level))
    rows = tuple(fills.domain(value, names, gang.least) for value, names in placements.items())
    headrooms = [_headroom(gang, nodes, fills) for nodes in placements.values()]
    least, most = (
        sum(room[end] // gang.size + (room[end] % gang.size >= gang.least) for room in headrooms) for end in (0, 1)
    )
    verdict, sentence = _verdict(rows, gang)
    if verdict is GangVerdict.YES:
        sentence += _if_all_are_tried(rows, gang, release, sum(map(len, placements.values())))
    replay = GangReplay(name, verdict, sentence, rows, gang.name)
    return GangChoice(replay, (min(gang.replicas, least), min(gang.replicas, most)))


def _pod_group_unknown(given: _Arrival) -> str:
    """Return why kube-scheduler's choice for a gang is unknown, "" if it is known."""
    if given.gang.every_shared_claim:
        return SHARED
    if not given.release.is_at_least("1.36"):
        return f"Kubernetes {given.release.version} has no PodGroup with a level; it starts the pods one by one"
    if given.gang.level and not given.key(given.gang.level):
        return f"the level {given.gang.level!r} has no node label, which a PodGroup needs"
    return ""


def _placements(cluster: Cluster, key: str) -> dict[str, list[str]]:
    """Return the placements of a PodGroup: for each value of a node label the nodes that take pods, sorted.

    Without a key there is one placement, all nodes: those of which only slices are known, too.
    """
    if not key:
        return {"all nodes": sorted(cluster.open_nodes)}
    placements: dict[str, list[str]] = {}
    for node in cluster.nodes:
        value = node.metadata.labels.get(key, "")
        if value:
            placements.setdefault(value, []).extend([] if node.name in cluster.cordoned else [node.name])
    return dict(sorted(placements.items()))


def _verdict(rows: tuple[DomainReplay, ...], gang: Workload) -> tuple[GangVerdict, str]:
    wanted = gang.least
    sure = [row.domain for row in rows if row.least >= wanted]
    if sure:
        some = ", ".join(sure[:3]) + (f" and {len(sure) - 3} more" if len(sure) > 3 else "")
        which = sure[0] if len(sure) == 1 else f"one of {len(sure)} domains (scores and chance decide): {some}"
        return GangVerdict.YES, f"it finds a place in {which}"
    best = max(rows, key=lambda row: row.most, default=None)
    if best is None:
        return GangVerdict.NO, f"no node has the label of the level {gang.level!r}"
    if best.most < wanted:
        return GangVerdict.NO, f"first fit places at most {best.most} of {wanted} pods, in {best.domain}"
    sentence = "the order of the pods and the nodes that scores choose decide whether every pod finds devices"
    return GangVerdict.MAYBE, sentence


def _if_all_are_tried(rows: tuple[DomainReplay, ...], gang: Workload, release: KubernetesRelease, nodes: int) -> str:
    """Return that a "yes" depends on how many placements kube-scheduler tries; "" to 1.37, where it tries all.

    Rule: docs/semantics.md 1.18.4.
    """
    tried = max(1, len(rows) * max(500, 10_000 - nodes * 18 // 10) // 10_000)
    failing = sum(row.least < gang.least for row in rows)
    if failing < tried or not release.is_at_least("1.38"):
        return ""
    return f"; this holds if it tries all {len(rows)} placements, and 1.38 may try only {tried} of them"


def _headroom(gang: Workload, nodes: Sequence[str], fills: GangFills) -> Range:
    """Return how many pods of all gangs a placement has room for; of several groups only the most is known."""
    least = most = 0
    for number, group in enumerate(gang.pods):
        wanted = group.count * gang.replicas
        counts = [fills.on_node(node, number, wanted) for node in nodes]
        least, most = least + sum(one[0] for one in counts), most + sum(one[1] for one in counts)
    return least if fills.alone else 0, most


# ---------------------------------------------------------------- schedulers that are not replayed


def _fits_nowhere(plan: Plan, gang: Workload) -> bool:
    """Say whether it is proven that no gang has a place."""
    headrooms = [headroom for headroom in plan.where if headroom.workload == gang.name]
    none = bool(headrooms) and all(headroom.proven and not headroom.replicas.value for headroom in headrooms)
    return none or plan.status is PlanStatus.INFEASIBLE


def _impossible(choice: GangChoice, given: _Arrival) -> GangChoice:
    """Return "no" for a choice that is open although no scheduler can do what is impossible."""
    if choice.replay.verdict is not GangVerdict.MAYBE:
        return choice
    level = "node" if given.gang.level in HOSTS else given.gang.level
    where = f"no {level} has" if level else "the nodes do not have"
    sentence = f"{where} the devices for the gang, proven"
    return given.choice(choice.replay.scheduler, GangVerdict.NO, sentence)


def _kai(given: _Arrival) -> Iterator[str]:
    level = given.gang.level
    if level not in ("", *HOSTS) and not given.key(level):
        yield f"no node label names the level {level}, which KAI needs"
    yield "it tries domains with enough GPUs, the fullest first, and checks all claims node by node without going back"


def _volcano(given: _Arrival) -> Iterator[str]:
    levels = given.hierarchy.levels if given.hierarchy is not None else ()
    if given.gang.level and not any(level.source.startswith("HyperNode tier ") for level in levels):
        yield "the level has no HyperNodes yet, which dra-lab export writes"
    yield "it tries HyperNodes by tier and checks the claims node by node without going back"
