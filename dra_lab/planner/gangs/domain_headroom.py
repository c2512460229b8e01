"""How many pods of a gang, and how many such gangs, each domain of its level has; and what the others lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from msgspec.structs import replace as changed

from dra_lab.model.gang import GANGS, Gang, GangHeadroom
from dra_lab.model.sketch import asks
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.headroom_tables import tables_for
from dra_lab.planner.gangs.needs import GangNeed, GroupNeed, Needs, goal_order, without_preferences
from dra_lab.planner.gangs.problem import GangProblem

_NAMED = 3
"""Nodes that a reason names."""

_WORDS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPUs"}


def headroom_by_domain(
    problem: GangProblem, gangs: Sequence[Gang], solver: str, budget: Budget
) -> tuple[GangHeadroom, ...]:
    """Return for each gang what each domain of its required level has, as long as there is time."""
    found: list[GangHeadroom] = []
    known: dict[GangNeed, list[GangHeadroom]] = {}
    place = {at: need for need in problem.needs.gangs for at in need.gangs}
    for at, gang in enumerate(gangs):
        if at not in place or budget.reached:
            continue
        required = without_preferences(place[at])
        if required not in known:
            known[required] = list(_headroom_of_need(problem, required, gang, solver, budget))
        for headroom in known[required]:
            count, bound = (min(gang.replicas, number) for number in (headroom.gangs, headroom.gangs_bound))
            found.append(changed(headroom, gang=gang.name, gangs=count, gangs_bound=bound))
    return tuple(found)


def _headroom_of_need(
    problem: GangProblem, need: GangNeed, gang: Gang, solver: str, budget: Budget
) -> Iterator[GangHeadroom]:
    """Yield what each domain has for a gang."""
    beside = gang.size - sum(group.most for group in need.groups[: need.pods])
    tables = tables_for(problem, need, budget)
    for path, nodes in problem.nodes_inside[need.required].items():
        regions = problem.inside[need.required].get(path, [])
        numbers = None if tables is None or budget.reached else tables.headroom(regions)
        most, bound, count, count_bound = numbers or _headroom(problem, need, regions, solver, budget)
        # Pods that have only shared claims have a place where these have one, also if no whole gang fits.
        most += beside if count else 0
        bound += beside if count_bound or len(need.groups) > 1 else 0
        lacking = _lacking(problem, need, nodes, budget) if most < gang.size else []
        yield GangHeadroom(gang.name, path, most, bound, gang.least, gang.size, count, count_bound, tuple(lacking))


def _headroom(
    problem: GangProblem, need: GangNeed, regions: Sequence[int], solver: str, budget: Budget
) -> tuple[int, int, int, int]:
    """Return the most pods of one gang in regions and its bound, and the same of whole gangs."""
    caps = [sum(problem.capacity[region][group.kind] for region in regions) for group in need.groups]
    pods = need.groups[: need.pods]
    bound = sum(min(group.most, cap) for group, cap in zip(pods, caps, strict=False))
    count = min(cap // group.least for group, cap in zip(need.groups, caps, strict=True) if group.least)
    if len(need.groups) == 1 and not need.groups[0].slices and need.groups[0].required < 0:
        have = sum(problem.found_capacity[region][need.groups[0].kind] for region in regions)
        return min(have, need.groups[0].most, bound), bound, have // need.groups[0].least, count
    if not (bound or count) or budget.reached or not problem.whole:
        return 0, bound, 0, count
    return (
        *_most(problem, need, regions, solver, budget, whole=False, most=bound),
        *_most(problem, need, regions, solver, budget, whole=True, most=count),
    )


def _most(
    problem: GangProblem,
    need: GangNeed,
    regions: Sequence[int],
    solver: str,
    budget: Budget,
    *,
    whole: bool,
    most: int,
) -> tuple[int, int]:
    """Return the most gangs, or pods of one gang, that regions hold, and what they surely do not exceed."""
    # The solver takes half a second to import; only who plans waits for it.
    from dra_lab.planner.gangs.gang_model import GangModel

    if not most:
        return 0, 0
    inside = set(regions)
    groups = tuple(
        replace(group, least=group.least if whole or at >= need.pods else 0) for at, group in enumerate(need.groups)
    )
    alone = replace(need, groups=groups, gangs=(0,) * (most if whole else 1))
    needs = Needs(problem.needs.kinds, problem.needs.tiers, [alone], [])
    cells = {key: nodes for key, nodes in problem.cells.items() if key[0] in inside}
    part = replace(problem, needs=needs, cells=cells, order=goal_order(needs))
    found, bound = 0, most
    for least in (False,) if problem.closed else (False, True):
        model = GangModel(part, solver, budget, least=least)
        if budget.reached:
            break
        expression = model.expression(GANGS) if whole else model.all_pods(need.pods)
        outcome = None if isinstance(expression, int) else model.minimise(expression, budget)
        shift = most if whole else 0
        if not least:
            found = 0 if outcome is None or outcome.value is None else shift - outcome.value
        if (least or problem.closed) and (outcome is None or outcome.infeasible or outcome.bound is not None):
            bound = min(most, found if outcome is None or outcome.bound is None else shift - outcome.bound)
    return found, bound


def _lacking(problem: GangProblem, need: GangNeed, nodes: Sequence[str], budget: Budget) -> list[str]:
    """Return what keeps pods of a gang away from nodes: devices in use, too few devices, a cordon.

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
    alone = scan.views.held_on(node, scan.rules.allocated)[0]
    inner = [ask for request in pod.sketch.requests for ask in asks(request)]
    single = {request.name for request in pod.sketch.requests if len(asks(request)) == 1}
    for joint, ask in zip(scan.rules.asks[slice(*pod.asks)], inner, strict=True):
        if ask.request not in single or ask.all_devices or ask.admin_access or ask.capacity:
            continue
        stages = scan.views.stages(joint, node)
        every = [at for at, stage in enumerate(stages) if stage == "match"]
        free = sum(at not in alone for at in every)
        if len(every) // ask.count > free // ask.count:
            kinds = set(scan.kinds_matched(joint, node))
            yield f"{_WORDS.get(kinds.pop() if len(kinds) == 1 else '', 'devices')} in use on"
        elif len(every) < ask.count:
            yield f"too few devices for request {ask.reference} on"
