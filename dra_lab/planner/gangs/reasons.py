"""Why gangs have no place: what the nodes of a domain lack, and why no number of new nodes helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from dra_lab.model.plan import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.model.what_if import when_idle, without_nodes
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.needs import GangNeed, GroupNeed
from dra_lab.planner.gangs.new_nodes import AddQuestion
from dra_lab.planner.gangs.problem import GangProblem
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.why.funnel import matching_devices, noun_of
from dra_lab.topology.new_nodes import NewNode, with_new_nodes

_NAMED = 3
"""Nodes that a reason names."""


def lacking(problem: GangProblem, need: GangNeed, nodes: Sequence[str], budget: Budget) -> list[str]:
    """Return what keeps pods of a gang away from nodes: devices in use or with a taint, too few devices, a cordon.

    If time ends before all nodes were looked at, it is not known, and nothing is returned.
    """
    reasons: dict[str, dict[str, None]] = {}
    able = [node for node in nodes if node not in problem.cordoned]
    for group in need.groups:
        for node in able:
            if budget.reached:
                return []
            for reason in _on_node(problem, group, node):
                reasons.setdefault(reason, {})[node] = None
    found = []
    for reason, mine in sorted(reasons.items(), key=lambda row: -len(row[1])):
        named = ", ".join(islice(mine, _NAMED)) + (f" and {len(mine) - _NAMED} more" if len(mine) > _NAMED else "")
        found.append(f"{reason} {named}")
    closed = len(nodes) - len(able)
    found += [f"{closed} {'node' if closed == 1 else 'nodes'} cordoned"] if closed else []
    return found or ["too few devices in all"]


def _on_node(problem: GangProblem, group: GroupNeed, node: str) -> Iterator[str]:
    """Yield what a node lacks for pods of a group, request by request: words that end before the name of the node."""
    scan, pod = problem.fleet.scan, problem.fleet.pods[group.kind]
    inner = [ask for request in pod.sketch.requests for ask in asks(request)]
    single = {request.name for request in pod.sketch.requests if len(asks(request)) == 1}
    for joint, ask in zip(scan.rules.asks[slice(*pod.asks)], inner, strict=True):
        if ask.request not in single or ask.all_devices or ask.admin_access or ask.capacity:
            continue
        stages = Counter(stage for _, stage in matching_devices(scan, joint, node))
        free, used = stages[Stage.FREE], stages[Stage.IN_USE]
        if (free + used) // ask.count > free // ask.count:
            yield f"{noun_of(scan, joint, node)} in use on"
        elif stages.total() < ask.count:
            yield f"too few devices for request {ask.reference} on"
        elif free + used < ask.count:
            yield f"{noun_of(scan, joint, node)} with a taint that request {ask.reference} does not tolerate on"


def reasons_of(
    question: AddQuestion, problem: GangProblem, models: Sequence[NewNode], release: KubernetesRelease, budget: Budget
) -> tuple[Shortfall, ...]:
    """Return why no number of nodes helps; `models` has one new node of each type."""
    gangs = {need.gangs[0]: need for need in problem.needs.gangs}
    short = {
        question.gangs[at].name: need
        for at, need in gangs.items()
        if _most_in_one(problem, need) < sum(need.least_pods.values())
    }
    kinds = {group.kind for need in short.values() for group in need.groups}
    found = [*_claims(question, problem, models, release, kinds, budget)] or [*_domains(question, problem, short)]
    if not found:
        message = "everything fits by itself, but not together, even with every node that may be added"
        found = [Shortfall("places", "", message, advice="Allow more places or more new domains.")]
    return tuple(found)


def _names(question: AddQuestion) -> Iterator[tuple[str, object]]:
    for gang in question.gangs:
        for group in gang.groups:
            yield f"{group.workload.name!r} of gang {gang.name!r}", group.workload.claims
            if group.shared_claims:
                yield f"the shared claims of {group.workload.name!r} of gang {gang.name!r}", group.shared_claims
        if gang.shared_claims:
            yield f"the shared claims of gang {gang.name!r}", gang.shared_claims
    for workload in question.workloads:
        yield repr(workload.name), workload.claims


def _claims(
    question: AddQuestion,
    problem: GangProblem,
    models: Sequence[NewNode],
    release: KubernetesRelease,
    short: Collection[int],
    budget: Budget,
) -> Iterator[Shortfall]:
    """Yield the pods that no node type can have; `short` are the kinds of pods of gangs without a domain."""
    types = {slot.profile for slot in problem.new.slots if slot.most}
    for number, kind in enumerate(problem.needs.kinds):
        here = sum(counts[number] for counts in problem.there)
        able = any(problem.profiles[profile].bound[number] for profile in types)
        if able or (here >= kind.replicas and number not in short):
            continue
        larger = when_idle(with_new_nodes(question.cluster, models))
        alone = without_nodes(larger, set(larger.node_names) - {one.name for one in models})
        who = next((name for name, claims in _names(question) if claims == kind.claims), repr(kind.name))
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


def _domains(question: AddQuestion, problem: GangProblem, short: Mapping[str, GangNeed]) -> Iterator[Shortfall]:
    """Yield the gangs that no domain can have, whatever else is placed."""
    for name, need in short.items():
        best, wanted = _most_in_one(problem, need), sum(need.least_pods.values())
        gang = next(gang for gang in question.gangs if gang.name == name)
        level = gang.required or "cluster"
        message = f"gang {name!r} needs {wanted} pods in one {level}; with every node that may be added, "
        message += f"no {level} has more than {best}"
        advice = "Allow more places in a domain, or larger new domains."
        yield Shortfall("places", name, message, wanted, best, advice=advice)


def _most_in_one(problem: GangProblem, need: GangNeed) -> int:
    """Return how many pods of a gang one domain of its level has at most, with every node that may be added."""
    sums = (
        sum(min(problem.pods_in(regions, kind), pods) for kind, pods in need.least_pods.items())
        for regions in problem.inside[need.required].values()
    )
    return max(sums, default=0)
