"""Why no number of nodes helps: a claim that fits no node type, or a gang for which no domain has enough places."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dra_lab.model.plan import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.what_if import when_idle, without_nodes
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.add_problem import AddProblem, AddQuestion
from dra_lab.planner.gangs.needs import GangNeed
from dra_lab.planner.plan_claim import make_plan
from dra_lab.topology.new_nodes import NewNode, with_new_nodes


def reasons_of(
    question: AddQuestion, problem: AddProblem, models: Sequence[NewNode], release: KubernetesRelease, budget: Budget
) -> tuple[Shortfall, ...]:
    """Return why no number of nodes helps; `models` has one new node of each type."""
    gangs = {need.gangs[0]: need for need in problem.base.needs.gangs}
    short = {question.gangs[at].name: need for at, need in gangs.items() if not _may_fit(problem, need)}
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
    problem: AddProblem,
    models: Sequence[NewNode],
    release: KubernetesRelease,
    short: Collection[int],
    budget: Budget,
) -> Iterator[Shortfall]:
    """Yield the pods that no node type can have; `short` are the kinds of pods of gangs without a domain."""
    base = problem.base
    types = {slot.profile for slot in problem.slots if slot.most}
    for number, kind in enumerate(base.needs.kinds):
        here = sum(len(nodes) * base.profiles[profile].bound[number] for (_, profile), nodes in base.cells.items())
        if (here >= kind.replicas and number not in short) or any(
            base.profiles[profile].bound[number] for profile in types
        ):
            continue
        larger = when_idle(with_new_nodes(question.cluster, models))
        alone = without_nodes(larger, set(larger.node_names) - {one.name for one in models})
        who = next((name for name, claims in _names(question) if claims == kind.claims), repr(kind.name))
        lacks = []
        for one in models:
            plan = make_plan(alone, kind.claims, release=release, node=one.name, time_limit=2 * budget.shares.explain)
            message = plan.shortfalls[0].message if plan.shortfalls else "it does not fit"
            lacks.append(f"{one.type.name}: {message.replace(one.name, one.type.name)}")
        message = f"no node type can have a pod of {who}"
        message += f" ({'; '.join(lacks)})" if lacks else ""
        yield Shortfall(
            "node-type", who, message, kind.replicas, here, advice="Give a node type that has these devices."
        )


def _may_fit(problem: AddProblem, need: GangNeed) -> bool:
    pods = _pods(need)
    return any(all(have[kind] >= count for kind, count in pods.items()) for have in _most(problem, need))


def _domains(question: AddQuestion, problem: AddProblem, short: Mapping[str, GangNeed]) -> Iterator[Shortfall]:
    """Yield the gangs that no domain can have, whatever else is placed."""
    for name, need in short.items():
        pods = _pods(need)
        most = _most(problem, need)
        best = max((sum(min(have[kind], count) for kind, count in pods.items()) for have in most), default=0)
        gang = next(gang for gang in question.gangs if gang.name == name)
        level = gang.required or "cluster"
        wanted = sum(pods.values())
        message = f"gang {name!r} needs {wanted} pods in one {level}; with every node that may be added, "
        message += f"no {level} has more than {best}"
        advice = "Allow more places in a domain, or larger new domains."
        yield Shortfall("places", name, message, wanted, best, advice=advice)


def _pods(need: GangNeed) -> dict[int, int]:
    found: dict[int, int] = {}
    for group in need.groups:
        found[group.kind] = found.get(group.kind, 0) + group.least
    return found


def _most(problem: AddProblem, need: GangNeed) -> list[list[int]]:
    """Return for each domain of a gang's level the most pods of each kind that may be there alone."""
    base = problem.base
    found: dict[object, list[int]] = {}

    def add(region: int, profile: int, count: int) -> None:
        path = problem.keys[region][need.required]
        if path is not None:
            mine = found.setdefault(path, [0] * base.kinds)
            found[path] = [have + count * n for have, n in zip(mine, base.profiles[profile].bound, strict=True)]

    for (region, profile), nodes in base.cells.items():
        add(region, profile, len(nodes))
    for slot in problem.slots:
        limit = min([slot.most, *(most for slots, most in problem.limits if problem.slots.index(slot) in slots)])
        add(slot.region, slot.profile, limit)
    return list(found.values())
