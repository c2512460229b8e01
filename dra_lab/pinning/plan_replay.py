"""kube-scheduler's first fit run on exported manifests, compared with the plan replica by replica."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, permutations
from typing import Any

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS, GoalValue
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pin_budget import DEFAULT_SECONDS, NODE_SECONDS, SEEDS, TURNS, PinBudget, budget_of
from dra_lab.pinning.pod_kinds import Parts, PlannedReplica, PodKind, pod_kind, replicas_of
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation, Served, SimulatedPod, run_pods
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.topology.locality import device_names
from dra_lab.words.facts import goal_words


def replay_plan(
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    *,
    exported: Sequence[Sequence[ClaimSketch]] = (),
    parts: Sequence[Parts] = (),
    affinity: Sequence[Affinity] = (),
    seeds: int = SEEDS,
    budget: PinBudget | None = None,
) -> Replay:
    """Return how many planned replicas are served as planned when kube-scheduler's first fit runs on the manifests.

    The replicas arrive in the plan's order and in shuffled orders. One run uses the node with the best score for
    prioritised lists, with random ties. Another uses the node where first fit takes the worst devices, because other
    plugins decide as well. Replicas without a place in the plan arrive as well, because their pods exist too.

    Served as planned means that all goals but `damage`, most important first, are no worse than those of a planned
    replica of the same workload. A pod's attempt ends if a search on an admitted node fails, or may need more than 5 s
    of kube-scheduler (`node_search.LONGEST`). The result is that of the worst run.

    `exported` are the drawings of an export with pins, per workload and claim, and `parts` the drawn request of each of
    their requests (`pod_kinds.Parts`); `affinity` are its node requirements. Default: the drawings of the plan, the
    same names, no requirements. Raises UnsupportedFeature for a rule that the copy of the scheduler does not have,
    SketchError for a drawing that is inconsistent, and Cancelled if the budget was cancelled before the first run.
    """
    expected = expected_of(plan)
    if not any(replica.planned for replica in expected):
        return Replay(0, 0, not_run="there is no plan")
    order = tuple(goal.goal for goal in expected[0].goals)
    pods = []
    for number, workload in enumerate(plan.workloads):
        own, origin = exported[number] if exported else (), parts[number] if parts else ()
        pods.append(pod_kind(cluster, release, workload.name, workload.claims, own, order, parts=origin))
    simulation = SchedulerSimulation(
        cluster, pods, release, affinity=affinity, budget=budget or budget_of(DEFAULT_SECONDS)
    )
    return replay_manifests(simulation, expected, seeds=seeds)


def replay_manifests(
    simulation: SchedulerSimulation, expected: Sequence[PlannedReplica], *, seeds: int = SEEDS
) -> Replay:
    """Run some orders of arrival and choices of nodes, and return the worst of these runs; see `replay_plan`."""
    worst: tuple[int, tuple[Miss, ...]] | None = None
    placed: list[int] = []
    plans = _runs(expected, seeds)
    for order, rng, any_node in plans:
        found = run_pods(simulation, order, rng, any_node=any_node)
        if found is None:
            break
        placed.append(sum(bool(node) for _, node, _ in found))
        result = _compare(simulation, expected, found)
        if worst is None or result[0] < worst[0]:
            worst = result
    left = len(plans) - len(placed)
    not_run = f"{left} of {len(plans)} runs, {_why_not(simulation)}" if left else ""
    one = "on the node that serves it worst" if len(expected) == 1 else "one order of arrival"
    runs = f"{len(placed)} orders of arrival and choices of nodes" if len(placed) > 1 else one if placed else ""
    kept, misses = worst or (0, ())
    wanted = sum(replica.planned for replica in expected)
    searches = simulation.recorded, simulation.most_steps, simulation.longest
    pods = len(expected), min(placed, default=0), max(placed, default=0)
    return Replay(wanted, kept, misses, runs, not_run, *searches, *pods)


def _why_not(simulation: SchedulerSimulation) -> str:
    if simulation.budget.reached:
        return "no time was left"
    limit = f"{NODE_SECONDS:g} s"
    return f"a search did not end within {limit} here, so whether kube-scheduler places it is not known"


def expected_of(plan: Plan) -> list[PlannedReplica]:
    """Return the replicas of a plan; those without a place come last."""
    return replicas_of(plan) + [
        PlannedReplica(index, number)
        for index, workload in enumerate(plan.workloads)
        for number in range(plan.placed[workload.name], workload.replicas)
    ]


Run = tuple[list[PlannedReplica], random.Random | None, bool]
"""An order of arrival, chance for the choice of nodes (None: the worst node), and whether any node may be chosen."""


def _runs(expected: Sequence[PlannedReplica], seeds: int) -> list[Run]:
    arrival = list(expected)
    runs: list[Run] = [(arrival, None, False)]
    if len(arrival) == 1:
        return runs
    workloads = sorted({replica.workload for replica in expected})
    several = len(workloads) > 1
    for turn in islice(permutations(workloads), TURNS if several else 0):
        # whichever workload comes first may take what the plan has for another
        blocks = sorted(arrival, key=lambda replica: turn.index(replica.workload))
        rng = random.Random(len(runs) + 1)  # noqa: S311  reproducible, no secret
        runs += [(blocks, None, False), (blocks, rng, False)]
    for seed in range(seeds):
        orders = [arrival, *([random.Random(seed).sample(arrival, len(arrival))] if several else [])]  # noqa: S311
        for order in orders:
            runs += [(order, random.Random(seed), any_node) for any_node in (False, True)]  # noqa: S311
        runs += [(order, None, False) for order in orders[1:]]
    return runs


def _compare(
    simulation: SchedulerSimulation, expected: Sequence[PlannedReplica], served: Served
) -> tuple[int, tuple[Miss, ...]]:
    """Return how many planned replicas are no worse than planned, and the others.

    Replicas of one workload are alike, so the best served is held against the best planned, and so on.
    """
    plans: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for replica in (replica for replica in expected if replica.planned):
        plans[replica.workload].append(planned_values(replica, simulation.pods[replica.workload]))
    by_workload: dict[int, Served] = defaultdict(list)
    for item in served:
        by_workload[item[0].workload].append(item)
    misses: list[Miss] = []
    for workload, items in by_workload.items():
        pod = simulation.pods[workload]
        wanted = sorted(plans[workload])
        ranked = sorted(items, key=lambda item: (not item[1], item[2].values))
        # of more pods than planned the last in order have no place in the plan
        for values, (replica, node, taken) in zip(wanted, ranked, strict=False):
            if not node or taken.values > values:
                misses.append(_missed(simulation.cluster, pod, replica.number, values, node, taken))
    misses.sort(key=lambda miss: (miss.workload, miss.number))
    return sum(map(len, plans.values())) - len(misses), tuple(misses)


def _missed(
    cluster: Cluster, pod: PodKind, number: int, planned: Sequence[int], node: str, taken: SimulatedPod
) -> Miss:
    """Return what is worse than planned in a replica, on which node, and why; `node` is "" where nothing was found."""
    if not node:
        why = taken.verdict.message or "no node has what it requests"
        return Miss(pod.name, number, node, f"finds no place: {why}")
    if taken.broken:
        links = ", ".join(taken.broken)
        why = f"does not keep the link {links} on a node like {node}, because Kubernetes cannot express it"
        return Miss(pod.name, number, node, why)
    goals = zip(taken.goals, planned[1:], taken.values[1:], strict=True)
    theirs, want = next((goal, want) for goal, want, have in goals if have != want)
    ours = replace(theirs, value=want, bound=None, unknown=0)
    names = device_names(cluster, node)
    devices = ", ".join(names.get(one.device, one.device.device) for one in taken.placements[:8])
    more = f" and {len(taken.placements) - 8} more" if len(taken.placements) > 8 else ""
    because = f"first fit takes {devices}{more}: {GOAL_WORDS[theirs.goal].why}"
    why = f"gets {goal_words(theirs)} instead of {goal_words(ours)} on a node like {node}, because {because}"
    return Miss(pod.name, number, node, why, ours, theirs, because)


def planned_values(replica: PlannedReplica, pod: PodKind) -> tuple[int, ...]:
    """Return the planned values: no must-link broken, then the goals that are compared, in the pod's order."""
    by_goal = {goal.goal: goal.value for goal in replica.goals}
    return (0, *(by_goal.get(goal, 0) for goal in pod.order))


class Miss(Struct, frozen=True):
    """A replica that was not served as well as planned in the worst run: where, and what is worse.

    `ours` and `theirs` are the first goal that is worse, as planned and as served, and `because` why; None and "" where
    no devices were found, or a must-link is broken.
    """

    workload: str
    number: int
    node: str
    why: str
    ours: GoalValue | None = None
    theirs: GoalValue | None = None
    because: str = ""


class Replay(Struct, frozen=True):
    """What running the manifests gave.

    `kept` of `wanted` replicas were served as well as planned in the worst of the runs; `misses` are the others of that
    run. `placed` of `pods` got devices in the run that placed the fewest, `most_placed` in the run that placed the
    most; `pods` are all replicas, also those without a place in the plan. `runs` says which orders and choices of nodes
    were run. `not_run` says what was not, "" where nothing is missing. `recorded` is False for releases whose scheduler
    is reproduced from documentation. `most_steps` and `seconds` are candidates and kube-scheduler's time of the longest
    search of one node.
    """

    wanted: int
    kept: int
    misses: tuple[Miss, ...] = ()
    runs: str = ""
    not_run: str = ""
    recorded: bool = True
    most_steps: int = 0
    seconds: float = 0.0
    pods: int = 0
    placed: int = 0
    most_placed: int = 0

    @property
    def as_planned(self) -> bool:
        """Say whether every replica was served as well as planned in every run, and no run is missing."""
        return self.kept == self.wanted and not self.not_run

    @property
    def never_starts(self) -> bool:
        """Say whether replicas are planned and no pod got devices in any run."""
        return bool(self.wanted and self.runs) and not self.most_placed and not self.not_run

    @property
    def rank(self) -> tuple[int, int]:
        """Return what manifests are compared by, more is better: the pods placed, then those served as planned."""
        return self.placed, self.kept

    @property
    def sentence(self) -> str:
        """Return the result in one sentence."""
        if not self.runs:
            return f"kube-scheduler's first fit was not simulated: {self.not_run}."
        first = f"{self.kept} of {self.wanted} as planned"
        if self.placed < self.pods and self.placed != self.kept:
            first += f", {self.placed} of {self.pods} placed"
        more = [f"replica {miss.number + 1} of {miss.workload} {miss.why}" for miss in self.misses[:3]]
        more += [f"{len(self.misses) - 3} more"] if len(self.misses) > 3 else []
        rest = f"; not simulated: {self.not_run}" if self.not_run else ""
        source = "" if self.recorded else "; from documentation, not recorded"
        return f"{first}{': ' if more else ''}{'; '.join(more)} ({self.runs}{rest}{source})."

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the result as a Finding: a note where the manifests do what was planned, else a warning."""
        severity = Severity.NOTE if self.as_planned else Severity.WARNING
        advice = "" if self.as_planned or not self.misses else "Export with --pin, or use another order of goals."
        return (Finding("replay", severity, "kube-scheduler", self.sentence.rstrip("."), advice),)

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "asPlanned": self.as_planned,
            "kept": self.kept,
            "wanted": self.wanted,
            "placed": self.placed,
            "pods": self.pods,
            "neverStarts": self.never_starts,
            "runs": self.runs,
            "notRun": self.not_run,
            "recorded": self.recorded,
            "mostSteps": self.most_steps,
            "longestSearch": round(self.seconds, 3),
            "misses": [
                {"workload": m.workload, "replica": m.number + 1, "node": m.node, "why": m.why} for m in self.misses
            ],
        }
