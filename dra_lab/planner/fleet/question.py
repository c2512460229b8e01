"""What is asked of a fleet: its workloads as the planner reads them, goals, and time and a solver for the answer."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.errors import InputError
from dra_lab.index.node_index import node_index
from dra_lab.index.not_read import refuse_not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import MARK, split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.node.eligible import Rules, refuse_claim
from dra_lab.planner.pod_claims import join_sketches
from dra_lab.planner.scan import Scan
from dra_lab.planner.states.survey import Survey, survey
from dra_lab.sketch.numbered_requests import Expansion, expand


@dataclass(frozen=True)
class FleetPod:
    """One workload: its claims, expanded, as one drawing; and which asks, requests and links of the fleet's are its.

    `sketch` names requests as the plan does (`claim:request` where the pod has several claims); `origins` maps each
    name of an expanded request to the drawing's, claim by claim. The ranges are half-open.
    """

    workload: Workload
    sketch: ClaimSketch
    origins: tuple[Mapping[str, str], ...]
    asks: tuple[int, int]
    requests: tuple[int, int]
    links: tuple[int, int]
    paired: bool = False

    @property
    def several(self) -> bool:
        """Say whether the pod has several claims."""
        return len(self.workload.claims) > 1

    def drawn(self, claim: int, reference: str) -> str:
        """Return a reference in one of the pod's expanded claims as it is in the drawing that was given."""
        request, alternative = split_request(reference)
        name = self.origins[claim].get(request, request)
        return f"{name}/{alternative}" if alternative else name


@dataclass(frozen=True)
class FleetProblem:
    """Pods beside a look at the cluster for all their claims at once; `cluster` is the one that was given.

    `sizes` choose how it is planned.
    """

    cluster: Cluster
    pods: tuple[FleetPod, ...]
    survey: Survey
    sizes: Sizes

    @property
    def scan(self) -> Scan:
        """Return the scan of the nodes."""
        return self.survey.scan

    @property
    def examined(self) -> Collection[str]:
        """Return the nodes that were looked at in time."""
        return {**self.survey.states, **self.scan.kind_of}.keys()

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release."""
        return self.scan.release

    @property
    def demand(self) -> tuple[int, ...]:
        """Return the replicas wanted of each workload."""
        return tuple(pod.workload.replicas for pod in self.pods)


def look_at(
    cluster: Cluster,
    workloads: Sequence[Workload],
    release: KubernetesRelease,
    budget: Budget,
    *,
    cordoned: bool = False,
) -> FleetProblem:
    """Check workloads and look at every node for them.

    Nodes that are cordoned are left out unless `cordoned` asks for them.
    Raises InputError, SketchError, CelCompileError, and UnsupportedFeature for rules that the planner does not know.
    """
    check_workloads(workloads)
    refuse_not_read(cluster, (claim for workload in workloads for claim in workload.claims))
    grown = [[expand(claim, cluster, release) for claim in workload.claims] for workload in workloads]
    joint = join_sketches(
        {f"{w}.{c}": part.sketch for w, parts in enumerate(grown) for c, part in enumerate(parts)}, "fleet"
    )
    most = max(1, sum(workload.replicas for workload in workloads))
    only = cluster.open_nodes if cluster.cordoned and not cordoned else None
    rules = Rules(cluster, joint, release, node_index(cluster, release).matching, replicas=most, only=only)
    for problem in (p for ask in rules.asks for p in rules.matching.problems(ask)):
        raise problem
    seen = survey(rules, budget)
    return FleetProblem(cluster, _pods(workloads, grown, seen), seen, budget.sizes)


def check_workloads(workloads: Sequence[Workload]) -> None:
    """Raise InputError or SketchError, saying where, when workloads are not what can be planned."""
    names = [workload.name for workload in workloads]
    for workload in workloads:
        where = f"workload {workload.name!r}"
        if names.count(workload.name) > 1:
            raise InputError(f"{where} is there twice; give each its own name")
        if workload.replicas < 0:
            raise InputError(f"{where} has {workload.replicas} replicas; give 0 or more")
        if not workload.claims or not all(claim.requests for claim in workload.claims):
            raise InputError(f"{where} has a pod without requests; draw at least one request in each of its claims")
        claims = [claim.name for claim in workload.claims]
        if len(set(claims)) < len(claims) or any(MARK in name for name in claims):
            raise InputError(f"{where}: its claims are named {', '.join(claims)}; give each its own plain name")
        for claim in workload.claims:
            check_sketch(claim)
            refuse_claim(claim)


def _pods(workloads: Sequence[Workload], grown: list[list[Expansion]], seen: Survey) -> tuple[FleetPod, ...]:
    pods = []
    at_ask = at_request = at_link = 0
    for workload, parts in zip(workloads, grown, strict=True):
        sketches = [part.sketch for part in parts]
        named = dict(zip((claim.name for claim in workload.claims), sketches, strict=True))
        sketch = sketches[0] if len(sketches) == 1 else join_sketches(named, workload.name)
        ends = (
            at_ask + sum(len(asks(request)) for request in sketch.requests),
            at_request + len(sketch.requests),
            at_link + len(sketch.links),
        )
        ranges = ((at_ask, ends[0]), (at_request, ends[1]), (at_link, ends[2]))
        pods.append(FleetPod(workload, sketch, tuple(part.origin for part in parts), *ranges))
        at_ask, at_request, at_link = ends
    return tuple(replace(pod, paired=_asks_for_pairs(seen, pod)) for pod in pods)


def _asks_for_pairs(found: Survey, pod: FleetPod) -> bool:
    """Say whether a pod's requests match both GPUs and NICs somewhere (goal `unpaired`)."""
    scan = found.scan
    kinds: set[str] = set()
    seen: set[Hashable] = set()
    mine = scan.rules.asks[slice(*pod.asks)]
    for name in (*found.states, *scan.seen):
        key = (scan.views.view(name).hardware, *(scan.views.stages(ask, name) for ask in mine))
        if key in seen:
            continue
        seen.add(key)
        kinds.update(kind for ask in mine for kind in scan.kinds_matched(ask, name))
        if {"gpu", "nic"} <= kinds:
            return True
    return False


@dataclass
class Clock:
    """The seconds of each part of the work."""

    parts: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.monotonic)

    def lap(self, part: str) -> None:
        """Count the time since the last lap to a part."""
        now = time.monotonic()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True)
class FleetQuestion:
    """What is asked of a fleet: its pods on the nodes of a cluster, and goals in their order.

    With `all_placed`, only plans that place all pods count. With `on_each`, the replicas of a workload are wanted on
    every node, and no node gets more, or no leaf of one if each pod takes one device. `worth` is what one replica of
    each workload without a place counts in the goal `unplaced`; default: 1.
    """

    fleet: FleetProblem
    order: tuple[str, ...]
    all_placed: bool = False
    on_each: bool = False
    worth: tuple[int, ...] = ()

    @property
    def demand(self) -> tuple[int, ...]:
        """Return the replicas wanted of each workload on all nodes together."""
        nodes = len(self.fleet.scan.rules.nodes) if self.on_each else 1
        return tuple(replicas * nodes for replicas in self.fleet.demand)

    @property
    def worths(self) -> tuple[int, ...]:
        """Return what one replica of each workload counts."""
        return self.worth or (1,) * len(self.fleet.pods)


@dataclass(frozen=True)
class Work:
    """A question, and what there is to answer it."""

    question: FleetQuestion
    budget: Budget
    solver: str
    clock: Clock = field(default_factory=Clock)
