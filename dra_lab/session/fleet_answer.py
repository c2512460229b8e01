"""The answer to a fleet: the plan, how many more pods fit, what is stranded, and the amounts of every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import KnownValue, PodDrawing
from dra_lab.model.workload import Workload, workload_of
from dra_lab.words.facts import counted
from dra_lab.words.kept_values import values_of_bandwidth
from dra_lab.words.plan_json import plain_value

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.pictures.charts.amounts import Amounts
    from dra_lab.pinning.gang_choices import GangChoice


class NodeHeadroom(Struct, frozen=True):
    """How many pods of a gang each node holds alone: `idle` if nothing were in use, `now`, and `left` after the plan.

    `exact` says that all three are proven and that nodes do not share devices, so that they may be added.
    """

    idle: Mapping[str, int] = {}
    now: Mapping[str, int] = {}
    left: Mapping[str, int] = {}
    exact: bool = False


class GangAnswer(Struct, frozen=True):
    """What is known of gangs so far, by the name of the gang where it is about one.

    `more` counts the gangs that fit after the plan, `total` those that fit on the cluster without it, with every level.
    `choices` are what schedulers do, and `verdicts` what Kueue's quota says, in place of it why that is not known.
    """

    nodes: Mapping[str, NodeHeadroom] = {}
    more: Mapping[str, Headroom] = {}
    total: Mapping[str, Headroom] = {}
    choices: Mapping[str, tuple[GangChoice, ...]] = {}
    verdicts: Mapping[str, GangVerdicts | str] = {}


AMOUNTS = ("in_use", "planned", "free", "stranded", "blocked")
"""The amounts of a fleet's bars, in their order."""


class FleetQuestion(Struct, frozen=True):
    """What is asked of a fleet: the cluster with its layers, the workloads and the settings.

    `measured` are bandwidths that a person measured, by path, as in `Drawing`.
    """

    cluster: Cluster
    pods: tuple[PodDrawing, ...]
    release: KubernetesRelease
    goals: tuple[str, ...] = ()
    measured: Mapping[str, tuple[float, float]] = {}

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads as the planner takes them; one without a request takes no part."""
        return tuple(workload_of(pod) for pod in self.pods if any(claim.requests for claim in pod.claims))

    @property
    def has_gangs(self) -> bool:
        """Say whether a workload is drawn as a gang, if only of one pod."""
        return any(pod.gang is not None for pod in self.pods)

    @property
    def pins(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many pods of a workload must run on a node."""
        return {pod.pod: pod.pins for pod in self.pods if pod.pins}

    def is_same(self, other: FleetQuestion | None) -> bool:
        """Say whether another question is this one; clusters are compared by identity, as they are large."""
        if other is None or other.cluster is not self.cluster:
            return False
        mine, theirs = ((one.pods, one.release, one.goals, one.measured) for one in (self, other))
        return mine == theirs


class FleetAnswer(Struct, frozen=True):
    """What is known so far: `headroom` and `stranded` come after the plan, and `complete` says that all is there.

    `amounts` are those of every node and kind of device, with the plan's pods. `gangs` is None without gangs.
    """

    question: FleetQuestion
    plan: Plan
    headroom: tuple[Headroom, ...] = ()
    stranded: Stranded | None = None
    amounts: tuple[Amounts, ...] = ()
    complete: bool = False
    gangs: GangAnswer | None = None

    @property
    def is_planned(self) -> bool:
        """Say whether the plan is final; what else is known of it may still grow."""
        return self.complete or (self.gangs is not None and (self.plan.proven or bool(self.gangs.nodes)))

    @property
    def sentence(self) -> str:
        """Return the answer in one to three short sentences."""
        from dra_lab.words.answer_sentence import answer_sentence

        return answer_sentence(self.plan, self.question.cluster)

    @property
    def figures(self) -> Mapping[str, KnownValue]:
        """Return the numbers of the answer by name, as a kept plan has them (`model.sketch.Kept`)."""
        wanted = sum(workload.replicas * workload.size for workload in self.question.workloads)
        least = None if self.gangs is not None else self.plan.goal(UNPLACED)
        bound = wanted - least.bound if least is not None and least.bound is not None else None
        found = {"placed": KnownValue(value=len(self.plan.pods), bound=bound), "wanted": KnownValue(value=wanted)}
        found["nodes"] = KnownValue(value=len(self.plan.nodes))
        first_fit = self.plan.first_fit
        if first_fit is not None and first_fit.status is not FirstFitStatus.STOPPED:
            found |= values_of_bandwidth([*map(plain_value, self.plan.regrets)])
        found |= {
            f"more/{headroom.workload}": KnownValue(value=headroom.count.value, bound=headroom.count.bound)
            for headroom in self.headroom
        }
        for gang, count in self.gangs.more.items() if self.gangs is not None else ():
            found[f"more/{gang}"] = KnownValue(value=count.count.value, bound=count.count.bound)
        for kind in self.stranded.kinds if self.stranded is not None else ():
            sure = kind.stranded if kind.proven else None
            found[f"stranded/{kind.kind}"] = KnownValue(value=kind.stranded, bound=sure)
        return found | {
            goal.goal: KnownValue(value=goal.value, bound=goal.bound)
            for goal in self.plan.goals
            if goal.goal not in found
        }


def values_of_amounts(amounts: Iterable[Amounts]) -> dict[str, KnownValue]:
    """Return what a kept fleet says of all devices: `amount/KIND/planned` and so on, in whole devices or CPUs."""
    sums: dict[str, float] = {}
    for amount in amounts:
        values = (amount.in_use, amount.planned, amount.free, amount.stranded, amount.blocked)
        for name, value in zip(AMOUNTS, values, strict=True):
            key = f"amount/{amount.kind}/{name}"
            sums[key] = sums.get(key, 0.0) + value
    return {key: KnownValue(value=round(value), bound=round(value)) for key, value in sums.items() if round(value)}


def fleet_yaml(question: FleetQuestion) -> str:
    """Return the claims of the workloads as manifests, each under a comment with its pods."""
    from dra_lab.exports.manifests import manifest_yaml

    parts = [
        f"# {pods_words(pod)} of {pod.pod}\n{manifest_yaml(claim, question.cluster, question.release).text}"
        for pod in question.pods
        for claim in pod.claims
        if claim.requests
    ]
    return "---\n".join(parts)


def pods_of(pod: PodDrawing) -> int:
    """Return how many pods of a workload are wanted, those of all its gangs together."""
    return pod.replicas * (pod.gang.size if pod.gang is not None else 1)


def pods_words(pod: PodDrawing) -> str:
    """Return how many pods or gangs of a workload are wanted: `3 pods`, `2 gangs of 16 pods`."""
    if pod.gang is None:
        return counted(pod.replicas, "pod")
    return f"{counted(pod.replicas, 'gang')} of {counted(pod.gang.size, 'pod')}"


def with_amounts(answer: FleetAnswer) -> FleetAnswer:
    """Return an answer with the amounts of every node after its plan."""
    from dra_lab.pictures.charts.amounts import node_amounts

    amounts = node_amounts(answer.question.cluster, answer.plan, answer.stranded)
    return replace(answer, amounts=amounts)
