"""nodes_to_add: which nodes have to be added, of which type and in which domains, at least cost, with a proof."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dra_lab.errors import InputError, SolverError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.index.not_read import not_read
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import GANGS, Gang, GangPlan
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.arguments import gangs_given, listed, workloads_given
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.fleet.question import Clock
from dra_lab.planner.gangs.goals import counts_pods
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.levels import nodes_of_claims
from dra_lab.planner.gangs.model import COST, GangModel
from dra_lab.planner.gangs.needs import Needs
from dra_lab.planner.gangs.new_nodes import (
    AddQuestion,
    Chosen,
    FirstAnswer,
    chosen,
    enlarged,
    missing,
    nodes_of,
    useful_domains,
    wanted_gangs,
)
from dra_lab.planner.gangs.plan_gangs import plan_gangs
from dra_lab.planner.gangs.problem import GangProblem, problem_of
from dra_lab.planner.gangs.reasons import reasons_of
from dra_lab.planner.gangs.spots import spots_of
from dra_lab.planner.waiting import awaited
from dra_lab.topology.hierarchies import hierarchies as levels_of
from dra_lab.topology.new_nodes import NewNode, hierarchies_with, with_new_nodes
from dra_lab.topology.presets import ATTRIBUTES


@awaited
def nodes_to_add(
    cluster: Cluster,
    gangs: Sequence[Gang],
    workloads: Sequence[Workload] = (),
    *,
    types: Sequence[NodeType],
    full: bool = False,
    hierarchies: Sequence[Hierarchy] | None = None,
    release: KubernetesRelease | str | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
    held: AllocatedDevices | None = None,
) -> AddedNodes:
    """Return which nodes have to be added so that all gangs and workloads fit, at least cost.

    Every gang must fit with its minimum, each in one domain of its required level, and every workload with all
    replicas. Nodes that are cordoned take no pods.

    Args:
        cluster: The cluster to start from; it does not change.
        gangs: The gangs to place.
        workloads: Ordinary pods beside them.
        types: The nodes that may be added, with their costs and places.
        full: Whether every gang must fit with all its replicas instead of its minimum.
        hierarchies: The levels above the nodes; default: those of the cluster.
        release: The release to plan for; default: that of the cluster.
        time_limit: Seconds after which the best answer so far is returned. Default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.
        held: The devices in use, instead of those of the cluster's claims.

    Returns:
        The nodes by type and domain, their cost and its bound, the cluster with them, and the plan there.

    Raises:
        InputError: A node type, a gang, a level or the release is unknown or makes no sense.
        NodeError: A node type copies a node that the cluster does not have.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import Gang, GangGroup, NodeType, Workload, load_cluster, nodes_to_add, read_sketch

        Each of three gangs needs a node for its two workers.

        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gangs = [Gang("train", [GangGroup(worker)], required="host", replicas=3)]

        New nodes are like lab-1.

        >>> added = nodes_to_add(load_cluster("sample:two-sockets"), gangs, types=[NodeType.like("lab-1")])
        >>> [(one.type, one.count) for one in added.added], added.proven
        ([('lab-1', 2)], True)
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    gangs, workloads = gangs_given("gangs", gangs), workloads_given("workloads", workloads)
    types = listed("types", types, NodeType)
    trees = tuple(levels_of(cluster) if hierarchies is None else hierarchies)
    question = AddQuestion(cluster, wanted_gangs(gangs, full=full), workloads, _checked(cluster, types), trees)
    answer = AddedNodes(
        PlanStatus.STOPPED,
        question.types,
        question.gangs,
        question.workloads,
        cluster.name,
        str(release),
        cluster=cluster,
        hierarchies=trees,
        findings=cluster.findings,
    )
    claims = [claim for gang in gangs for claim in gang.every_shared_claim]
    claims += [claim for gang in gangs for group in gang.groups for claim in group.workload.claims]
    unread = not_read(cluster, (*claims, *(claim for workload in workloads for claim in workload.claims)))
    if unread is not None:
        return replace(answer, status=PlanStatus.NOT_CHECKED, shortfalls=(unread,))
    shared = [gang.shared_claims for gang in gangs] + [group.shared_claims for gang in gangs for group in gang.groups]
    if any(one and nodes_of_claims(cluster, release, one) is not None for one in shared):
        message = "several nodes see the devices of shared claims; dra-lab adds no nodes for such gangs yet"
        raise UnsupportedFeature("resourceClaims", message)
    search = _Search(question, release, solver, budget, held, answer)
    answer = search.run()
    return replace(answer, seconds=time.monotonic() - began, parts=dict(search.clock.parts))


def _checked(cluster: Cluster, types: Sequence[NodeType]) -> tuple[NodeType, ...]:
    """Return the node types; raise InputError or NodeError for those that are there twice or copy no node."""
    names = [one.name for one in types]
    for one in types:
        if names.count(one.name) > 1:
            raise InputError(f"node type {one.name!r} is there twice; give each its own name")
        if one.node:
            cluster.node_named(one.node)
    return tuple(types)


@dataclass
class _Search:
    question: AddQuestion
    release: KubernetesRelease
    solver: str
    budget: Budget
    held: AllocatedDevices | None
    answer: AddedNodes

    def __post_init__(self) -> None:
        self.clock = Clock()

    def run(self) -> AddedNodes:
        """Return the answer, without its seconds."""
        question = self.question
        needs = question.needs({})
        if not any(kind.replicas for kind in needs.kinds):
            return replace(self.answer, status=PlanStatus.OPTIMAL, bound=0.0)
        base, profiles = self._tables(needs)
        lacking = missing(base, greedy(base, self.budget.part(self.budget.shares.step), by_value=False))
        self.clock.lap("greedy")
        if not lacking:
            return self._written([], 0, 0)
        sizes, budget = self.budget.sizes, self.budget
        problem = enlarged(question, base, profiles, lacking.total(), sizes)
        first = FirstAnswer(problem, budget).find(lacking)
        self.clock.lap("greedy")
        known = None if first is None else chosen(problem, first)
        if known is None and budget.reached:
            return replace(self.answer, bound=0.0)
        cost = None if known is None else sum(question.costs[spot.type] * count for spot, count in known)
        domains = useful_domains(question, needs, cost)
        problem = enlarged(question, base, profiles, domains, sizes, cost, one_by_one=True)
        return self._by_model(problem, known, cost)

    def _tables(self, needs: Needs) -> tuple[GangProblem, list[int]]:
        """Return the problem without new nodes, and for each node type the profile of its nodes."""
        question = self.question
        # The devices of a new node depend on its place only where they publish where they are.
        spots = spots_of(question.cluster, question.types, question.trees, needs, 1)
        places = {spot.type: spot.place for spot in reversed(spots.found)}
        models = [NewNode(f"+{at}", question.types[at], place) for at, place in sorted(places.items())]
        larger = with_new_nodes(question.cluster, models)
        every = problem_of(larger, needs, self.release, self.budget, self.held, self.solver, self.clock)
        if every.small:
            every = every.decided(self.budget.part(self.budget.shares.step))
        names = {one.name for one in models}
        cells = {key: [node for node in nodes if node not in names] for key, nodes in every.cells.items()}
        profiles = [every.on[f"+{at}"].profile if f"+{at}" in every.on else -1 for at in range(len(question.types))]
        self.models = models
        self.place_matters = _selects_places(question, needs, models)
        return replace(every, cells={key: nodes for key, nodes in cells.items() if nodes}), profiles

    # ------------------------------------------------------------------ the best answer

    def _by_model(self, problem: GangProblem, known: Chosen | None, cost: int | None) -> AddedNodes:
        """Return the answer with the nodes of the model over what may exist, if all have a place with them."""
        model = GangModel(problem, self.solver, self.budget)
        for goal in (goal for goal in problem.order if counts_pods(goal)):
            model.keep(goal, 0)
        if cost is not None:
            model.keep(COST, cost)
        outcome = model.minimise(COST, self.budget.part(1 - self.budget.shares.compare_at_least), have=cost)
        if outcome.value is not None and (cost is None or outcome.value <= cost):
            added = model.added()
            if problem.closed or FirstAnswer(problem, self.budget).used(added) is not None:
                known, cost = chosen(problem, added), outcome.value
        sure = not (problem.not_examined or self.place_matters) and problem.new.complete
        bound = max(0, outcome.bound or 0) if sure else 0
        self.clock.lap("model")
        self.budget.report_step("nodes", f"cost: best {cost}, bound {bound}", cost, bound)
        if known is None or cost is None:
            if sure and outcome.infeasible:
                shortfalls = reasons_of(self.question, problem, self.models, self.release, self.budget)
                return replace(self.answer, status=PlanStatus.INFEASIBLE, shortfalls=shortfalls)
            return replace(self.answer, bound=bound / self.question.unit)
        return self._written(known, cost, bound if bound <= cost else None)

    # ------------------------------------------------------------------ the answer as people read it

    def _written(self, added: Chosen, cost: int, bound: int | None) -> AddedNodes:
        question, budget = self.question, self.budget
        new = nodes_of(question, added)
        cluster = with_new_nodes(question.cluster, new) if new else question.cluster
        trees = hierarchies_with(question.trees, {one.name: one.place.paths for one in new}) if new else question.trees
        left = budget.shares.added if budget.left is None else budget.left
        plan = plan_gangs(
            cluster,
            question.gangs,
            question.workloads,
            hierarchies=trees,
            release=self.release,
            time_limit=left,
            cancel=budget.cancel,
            progress=budget.report,
            solver=self.solver,
            held=self.held,
        )
        self.clock.lap("plan")
        proven = bound is not None and bound >= cost
        findings = (*self.answer.findings, *_not_placed(plan), *_hyper_nodes(cluster, new))
        return replace(
            self.answer,
            status=PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE,
            added=tuple(_counts(question, added, new)),
            cost=cost / question.unit,
            bound=None if bound is None else bound / question.unit,
            cluster=cluster,
            hierarchies=trees,
            plan=plan,
            findings=findings,
        )


def _selects_places(question: AddQuestion, needs: Needs, models: Sequence[NewNode]) -> bool:
    """Say whether claims may select by what devices of new nodes publish of their place: it differs by place."""
    keys = {key for one in models for key in ATTRIBUTES if one.place.values.get(key)}
    text = repr([kind.claims for kind in needs.kinds]) + repr(question.cluster.classes) if keys else ""
    return any(key.partition("/")[2] in text for key in keys)


def _counts(question: AddQuestion, added: Chosen, new: Sequence[NewNode]) -> Iterator[AddedCount]:
    names = iter(one.name for one in new)
    found: dict[tuple[int, tuple[str, ...], bool], list[str]] = {}
    for spot, count in added:
        key = spot.type, spot.place.domain, spot.place.new
        found.setdefault(key, []).extend(next(names) for _ in range(count))
    for (kind, domain, is_new), nodes in found.items():
        cost = question.costs[kind] * len(nodes) / question.unit
        yield AddedCount(question.types[kind].name, domain, len(nodes), cost, is_new, tuple(nodes))


def _not_placed(plan: GangPlan) -> Iterator[Finding]:
    short = {gang.name: gang.replicas - plan.counts[gang.name] for gang in plan.gangs}
    goals = [goal for goal in plan.goals if goal.goal.partition(" ")[0] == GANGS]
    if any(short.values()) and goals and all(goal.proven for goal in goals):
        raise SolverError(
            f"the new nodes do not hold gang {max(short, key=lambda name: short[name])!r}; please report it"
        )
    pods = sum(workload.replicas for workload in plan.workloads) - len(plan.replicas)
    if any(short.values()) or pods > 0:
        message = "the plan on the cluster with the new nodes does not place everything yet; there was not enough time"
        yield Finding("not-placed-yet", Severity.WARNING, "", message, "Plan again with `plan_gangs` and more time.")


def _hyper_nodes(cluster: Cluster, new: Sequence[NewNode]) -> Iterator[Finding]:
    named = [item.name for item in cluster.topologies if item.resource.startswith("hypernodes.")]
    if named and new:
        message = "HyperNodes name their nodes; those of the new nodes must be changed or added"
        yield Finding("hyper-nodes-of-new-nodes", Severity.NOTE, f"HyperNode/{named[0]}", message, "")
