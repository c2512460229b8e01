"""nodes_to_add: which nodes have to be added, of which type and in which domains, at least cost, with a proof."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from dra_lab.errors import InputError, SolverError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GANGS
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.what_if import when_idle, without_nodes
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import listed, workloads_given
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import Clock
from dra_lab.planner.gangs.model import COST, GangModel
from dra_lab.planner.gangs.needs import GangNeed, Needs, nodes_of_claims
from dra_lab.planner.gangs.new_nodes import (
    enlarged,
    missing,
    needs_with,
    nodes_of,
    opened,
    spots_of,
    wanted_gangs,
)
from dra_lab.planner.gangs.plan_gangs import plan_gangs
from dra_lab.planner.gangs.problem import GangProblem, On, problem_of
from dra_lab.planner.gangs.search import greedy
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.topology.new_nodes import NewNode, hierarchies_with, with_new_nodes
from dra_lab.topology.presets import ATTRIBUTES


def added_nodes(
    cluster: Cluster,
    workloads: Sequence[Workload],
    types: Sequence[NodeType],
    trees: Sequence[Hierarchy],
    release: KubernetesRelease,
    budget: Budget,
    solver: str,
    *,
    full: bool,
) -> AddedNodes:
    """Return which nodes have to be added; see `nodes_to_add`."""
    every = workloads_given("what", workloads)
    gangs, single = [one for one in every if one.is_gang], tuple(one for one in every if not one.is_gang)
    types = listed("types", types, NodeType)
    names = [one.name for one in types]
    for one in types:
        if names.count(one.name) > 1:
            raise InputError(f"node type {one.name!r} is there twice; give each its own name")
        if one.node:
            cluster.node_named(one.node)
    answer = AddedNodes(
        PlanStatus.STOPPED,
        types,
        wanted_gangs(gangs, full=full),
        single,
        cluster.name,
        str(release),
        cluster=cluster,
        hierarchies=tuple(trees),
        findings=cluster.findings,
    )
    claims = [claim for one in every for claim in (*one.every_shared_claim, *one.claims)]
    unread = not_read(cluster, claims)
    if unread is not None:
        return replace(answer, status=PlanStatus.NOT_CHECKED, shortfalls=(unread,))
    shared = [gang.shared_claims for gang in gangs] + [group.shared_claims for gang in gangs for group in gang.pods]
    if any(one and nodes_of_claims(cluster, release, one) is not None for one in shared):
        message = "several nodes see the devices of shared claims; dra-lab adds no nodes for such gangs yet"
        raise UnsupportedFeature("resourceClaims", message)
    search = _Search(answer, release, solver, budget)
    return replace(search.run(), parts=dict(search.clock.parts))


@dataclass
class _Search:
    answer: AddedNodes
    release: KubernetesRelease
    solver: str
    budget: Budget
    clock: Clock = field(default_factory=Clock)

    def run(self) -> AddedNodes:
        """Return the answer, without its seconds."""
        needs = needs_with(self.answer, {})
        if not any(kind.replicas for kind in needs.kinds):
            return replace(self.answer, status=PlanStatus.OPTIMAL, bound=0.0)
        base, profiles = self._tables(needs)
        first = greedy(base, self.budget.part(self.budget.shares.step), by_value=False)
        self.clock.lap("greedy")
        if not missing(base, first):
            return self._written([], 0.0, proven=True)
        return self._by_model(enlarged(self.answer, base, profiles, self.budget.sizes))

    def _tables(self, needs: Needs) -> tuple[GangProblem, list[int]]:
        """Return the problem without new nodes, and for each node type the profile of its nodes."""
        asked = self.answer
        # The devices of a new node depend on its place only where they publish where they are.
        places = {spot.type: spot.place for spot in reversed(spots_of(asked, needs, 1).found)}
        models = [NewNode(f"+{at}", asked.types[at], place) for at, place in sorted(places.items())]
        larger = with_new_nodes(asked.cluster, models)
        every = problem_of(larger, needs, self.release, self.budget, self.solver, self.clock)
        every = every.decided(self.budget.part(self.budget.shares.step))
        names = {one.name for one in models}
        cells = {key: [node for node in nodes if node not in names] for key, nodes in every.cells.items()}
        profiles = [every.on[f"+{at}"].profile if f"+{at}" in every.on else -1 for at in range(len(asked.types))]
        self.models = models
        # Claims may select by what devices of new nodes publish of their place, and it differs by place.
        published = {key for one in models for key in ATTRIBUTES if one.place.values.get(key)}
        claims = [kind.claims for kind in needs.kinds] if published else []
        text = msgspec.json.encode((claims, asked.cluster.classes if published else ())).decode()
        self.place_matters = any(key.partition("/")[2] in text for key in published)
        return replace(every, cells={key: nodes for key, nodes in cells.items() if nodes}), profiles

    # ------------------------------------------------------------------ the best answer

    def _by_model(self, problem: GangProblem) -> AddedNodes:
        """Return the answer with the nodes of the model over what may exist, or more until greedy places everything."""
        model = GangModel(problem, self.solver, self.budget)
        for goal in problem.needs.wanted:
            model.keep(goal, 0)
        outcome = model.minimise(COST, self.budget.part(self.budget.shares.first))
        sure = not (problem.not_examined or self.place_matters) and problem.new.complete
        bound = max(0, outcome.bound or 0) if sure else 0
        self.clock.lap("model")
        if sure and outcome.infeasible:
            shortfalls = _reasons(self.answer, problem, self.models, self.release, self.budget)
            return replace(self.answer, status=PlanStatus.INFEASIBLE, shortfalls=shortfalls)
        nodes: Mapping[On, int] | None = None if outcome.value is None else model.added()
        if nodes is None or not problem.closed:
            nodes = opened(problem, nodes, self.budget)
        self.clock.lap("greedy")
        if nodes is None:
            return replace(self.answer, bound=bound / problem.new.unit)
        cost = sum(problem.new.spots[at.spot].cost * count for at, count in nodes.items())
        self.budget.report_step("nodes", f"cost: best {cost}, bound {bound}", cost, bound)
        known = None if bound > cost else bound / problem.new.unit
        return self._written(nodes_of(self.answer, problem.new.spots, nodes), known, proven=bound == cost)

    # ------------------------------------------------------------------ the answer as people read it

    def _written(self, new: Sequence[NewNode], bound: float | None, *, proven: bool) -> AddedNodes:
        asked, budget = self.answer, self.budget
        cluster, trees = asked.cluster, asked.hierarchies
        if new:
            cluster = with_new_nodes(cluster, new)
            trees = hierarchies_with(trees, {one.name: one.place.paths for one in new})
        left = budget.shares.added if budget.left is None else budget.left
        plan = plan_gangs(
            cluster,
            [*asked.wanted, *asked.workloads],
            hierarchies=trees,
            release=self.release,
            time_limit=left,
            cancel=budget.cancel,
            progress=budget.report,
            solver=self.solver,
        )
        self.clock.lap("plan")
        findings = [*asked.findings, *_not_placed(plan)]
        named = [item.name for item in cluster.topologies if item.resource.startswith("hypernodes.")]
        if named and new:
            message = "HyperNodes name their nodes; those of the new nodes must be changed or added"
            findings.append(Finding("hyper-nodes-of-new-nodes", Severity.NOTE, f"HyperNode/{named[0]}", message, ""))
        return replace(
            asked,
            status=PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE,
            added=tuple(_counts(new)),
            cost=float(sum(one.type.exact_cost for one in new)),
            bound=bound,
            cluster=cluster,
            hierarchies=trees,
            plan=plan,
            findings=tuple(findings),
        )


def _counts(new: Sequence[NewNode]) -> Iterator[AddedCount]:
    found: dict[tuple[str, tuple[str, ...], bool], list[NewNode]] = {}
    for one in new:
        found.setdefault((one.type.name, one.place.domain, one.place.new), []).append(one)
    for (kind, domain, is_new), nodes in found.items():
        cost = float(nodes[0].type.exact_cost * len(nodes))
        yield AddedCount(kind, domain, len(nodes), cost, is_new, tuple(one.name for one in nodes))


def _not_placed(plan: Plan) -> Iterator[Finding]:
    short = {gang.name: gang.replicas - plan.placed[gang.name] for gang in plan.gangs}
    goals = [goal for goal in plan.goals if goal.goal.partition(" ")[0] == GANGS]
    if any(short.values()) and goals and all(goal.proven for goal in goals):
        raise SolverError(
            f"the new nodes do not hold gang {max(short, key=lambda name: short[name])!r}; please report it"
        )
    if any(plan.placed[one.name] < one.replicas for one in plan.workloads):
        message = "the plan on the cluster with the new nodes does not place everything yet; there was not enough time"
        yield Finding("not-placed-yet", Severity.WARNING, "", message, "Plan again with `make_plan` and more time.")


# ---------------------------------------------------------------------- why no number of nodes helps


def _reasons(
    asked: AddedNodes, problem: GangProblem, models: Sequence[NewNode], release: KubernetesRelease, budget: Budget
) -> tuple[Shortfall, ...]:
    """Return why no number of nodes helps; `models` has one new node of each type."""
    short = [need for need in problem.needs.gangs if _most_in_one(problem, need) < sum(need.least_pods.values())]
    kinds = {group.kind for need in short for group in need.groups}
    found = [*_claims(asked, problem, models, release, kinds, budget)] or [*_domains(asked, problem, short)]
    if not found:
        message = "everything fits by itself, but not together, even with every node that may be added"
        found = [Shortfall("places", "", message, advice="Allow more places or more new domains.")]
    return tuple(found)


def _names(asked: AddedNodes) -> Iterator[tuple[str, object]]:
    for gang in asked.wanted:
        for group in gang.pods:
            yield f"{group.name!r} of gang {gang.name!r}", group.claims
            if group.shared_claims:
                yield f"the shared claims of {group.name!r} of gang {gang.name!r}", group.shared_claims
        if gang.shared_claims:
            yield f"the shared claims of gang {gang.name!r}", gang.shared_claims
    for workload in asked.workloads:
        yield repr(workload.name), workload.claims


def _claims(
    asked: AddedNodes,
    problem: GangProblem,
    models: Sequence[NewNode],
    release: KubernetesRelease,
    short: Collection[int],
    budget: Budget,
) -> Iterator[Shortfall]:
    """Yield the pods that no node type can have; `short` are the kinds of pods of gangs without a domain."""
    types = {at.profile for at in problem.cells if at.spot >= 0}
    for number, kind in enumerate(problem.needs.kinds):
        here = sum(counts[number] for counts in problem.there)
        able = any(problem.profiles[profile].bound[number] for profile in types)
        if able or (here >= kind.replicas and number not in short):
            continue
        larger = when_idle(with_new_nodes(asked.cluster, models))
        alone = without_nodes(larger, set(larger.node_names) - {one.name for one in models})
        who = next((name for name, claims in _names(asked) if claims == kind.claims), repr(kind.name))
        lacks = []
        for one in models:
            plan = plan_pod(alone, kind.claims, release=release, node=one.name, time_limit=2 * budget.shares.explain)
            message = plan.shortfalls[0].message if plan.shortfalls else "it does not fit"
            lacks.append(f"{one.type.name}: {message.replace(one.name, one.type.name)}")
        message = f"no node type can have a pod of {who}"
        message += f" ({'; '.join(lacks)})" if lacks else ""
        yield Shortfall(
            "node-type", who, message, kind.replicas, here, advice="Give a node type that has these devices."
        )


def _domains(asked: AddedNodes, problem: GangProblem, short: Sequence[GangNeed]) -> Iterator[Shortfall]:
    """Yield the gangs that no domain can have, whatever else is placed."""
    for need in short:
        best, wanted = _most_in_one(problem, need), sum(need.least_pods.values())
        gang = asked.wanted[need.gangs[0]]
        level = gang.level or "cluster"
        message = f"gang {gang.name!r} needs {wanted} pods in one {level}; with every node that may be added, "
        message += f"no {level} has more than {best}"
        advice = "Allow more places in a domain, or larger new domains."
        yield Shortfall("places", gang.name, message, wanted, best, advice=advice)


def _most_in_one(problem: GangProblem, need: GangNeed) -> int:
    """Return how many pods of a gang one domain of its level has at most, with every node that may be added."""
    sums = (
        sum(min(problem.pods_in(regions, kind), pods) for kind, pods in need.least_pods.items())
        for regions in problem.inside[need.required].values()
    )
    return max(sums, default=0)
