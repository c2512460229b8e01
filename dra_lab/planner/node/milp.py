"""The integer model of a problem: one function a rule, any allocation of it, and what only rounding let pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dra_lab.index.in_use import Counter as Drawn
from dra_lab.index.pools import Tie
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.device_tests import COARSE
from dra_lab.planner.node.link_rows import LINK_ROWS
from dra_lab.planner.node.merged_requests import merge_requests
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression, Model, total

_SCALE = 1_000_000


def build_model(model: Model) -> Model:
    """Add every rule to a fresh model and return it."""
    add_alternatives(model)
    add_counts(model)
    add_exclusive_devices(model)
    add_shared_capacity(model)
    add_shared_counters(model)
    add_device_limit(model)
    add_node_selectors(model)
    for number, link in enumerate(model.problem.links):
        LINK_ROWS[link.how].add(model, number)
    return model


def add_alternatives(model: Model) -> None:
    """`requests[].firstAvailable`: exactly one alternative of a request is served, none of a pod that is not there."""
    for indices in model.problem.requests:
        possible = [model.chosen[index] for index in indices if model.possible(index)]
        here = model.present.get(model.problem.pod_of(indices[0]), 1)
        if len(possible) != 1 or model.may_stay_away:
            model.require(total(possible) == here)


def add_counts(model: Model) -> None:
    """`allocationMode` and `count`: an ask that is served takes its number of devices, All takes every one."""
    problem = model.problem
    for ask, chosen in model.chosen.items():
        groups = [number for number, group in enumerate(problem.groups) if ask in group.asks]
        if problem.asks[ask].all_devices:
            for number in groups:
                # A request for more devices than a claim can hold takes none (docs/semantics.md 3.6.7): `take` ends
                # there.
                model.require(model.take[ask, number] == problem.groups[number].size * chosen)
        else:
            taken = total(model.take[ask, number] for number in groups)
            model.require(taken == problem.asks[ask].count * chosen)


def add_exclusive_devices(model: Model) -> None:
    """`allowMultipleAllocations` unset: a device is taken once, over all claims of a pod.

    `adminAccess` looks away from what earlier claims of the pod took, never from its own claim, and later claims do not
    look away from it (docs/semantics.md 3.5.1). What it took holds up no other pod: such results allocate nothing
    (docs/semantics.md 3.14).
    """
    problem = model.problem
    for number, group in enumerate(problem.groups):
        takes = model.takes(number)
        if group.shareable or (len(takes) < 2 and group.size <= MAX_DEVICES):
            continue
        if not problem.overlaps(number):
            model.require(total(takes) <= group.size)
            continue
        admin = [ask for ask in group.asks if problem.asks[ask].admin_access]
        alone = [ask for ask in group.asks if ask not in admin]
        model.require(total(model.takes(number, alone)) <= 1)
        for claim in dict.fromkeys(problem.claim_of(ask) for ask in admin):
            mine = [ask for ask in admin if problem.claim_of(ask) == claim]
            pod = problem.pod_of(mine[0])
            later = [ask for ask in alone if problem.claim_of(ask) >= claim and problem.pod_of(ask) == pod]
            model.require(total(model.takes(number, [*mine, *later])) <= 1)


def add_shared_capacity(model: Model) -> None:
    """`capacity.requests` on a shareable device: what the requests take stays within what is left.

    Rule: docs/semantics.md 3.11.1.
    """
    for number, group in enumerate(model.problem.groups):
        if not group.shareable or len(model.takes(number)) < 2:
            continue
        for key, left in group.remaining:
            use = {ask: dict(amounts)[key] for ask, amounts in group.uses if key in dict(amounts)}
            for asks in asks_at_once(model.problem, [number]):
                takes = [(model.take[ask, number], use[ask]) for ask in use if ask in asks and model.possible(ask)]
                _keep_within(model, takes, left, exact=False)


def add_shared_counters(model: Model) -> None:
    """`consumesCounters` and `sharedCounters`: what the devices taken draw stays within what is left.

    Rule: docs/semantics.md 3.10.1. A shareable device pays once, however many requests share it, another one each time
    that it is taken (docs/semantics.md 3.10.6, 3.10.7); admin access pays too.
    """
    problem = model.problem
    draws: dict[Drawn, dict[int, int]] = {}
    for number, group in enumerate(problem.groups):
        for counter, amount in group.draws if model.takes(number) else ():
            draws.setdefault(counter, {})[number] = amount
    for counter, left in problem.counters:
        drawn = draws.get(counter, {})
        for asks in asks_at_once(problem, drawn) if drawn else ():
            paying = [(variable, drawn[at]) for at in drawn for variable in model.payments(at, asks)]
            _keep_within(model, paying, left, exact=max(drawn.values()) <= COARSE)


def asks_at_once(problem: AllocationProblem, groups: Iterable[int]) -> list[frozenset[int]]:
    """Return the asks whose takes of some groups must fit together.

    A request with `adminAccess` allocates nothing (docs/semantics.md 3.14), so each pod's fits beside the allocations
    of all pods.
    """
    asks = frozenset(ask for number in groups for ask in problem.groups[number].asks)
    admin = {ask for ask in asks if problem.asks[ask].admin_access}
    if not problem.pods or not admin:
        return [asks]
    pods = sorted({problem.pod_of(ask) for ask in admin})
    return [asks - {ask for ask in admin if problem.pod_of(ask) != pod} for pod in pods]


def _keep_within(
    model: Model, amounts: Sequence[tuple[Expression, Fraction | int]], left: Fraction | int, *, exact: bool
) -> None:
    """Add a row: amounts of variables stay within what is left.

    Amounts that the solver cannot hold exactly become whole shares of what is left, rounded down: of fractions that
    differ in the tenth place the solver proved what is not so. `overbooked` recounts such rows exactly.
    """
    if exact:
        model.require(total(amount * variable for variable, amount in amounts) <= left)
        return
    limit = _SCALE if left > 0 else 0
    shares = ((v, amount * _SCALE // left if left > 0 else int(amount > left)) for v, amount in amounts)
    model.require(total(share * variable for variable, share in shares) <= limit)
    model.recounted.append((tuple(amounts), left))


def add_device_limit(model: Model) -> None:
    """`status.allocation.devices.results`: at most 32 devices in each claim of a pod."""
    inside: dict[int, list[Expression]] = {}
    for (ask, _), variable in model.take.items():
        inside.setdefault(model.problem.claim_of(ask), []).append(variable)
    for mine in inside.values():
        if sum(variable.upBound for variable in mine) > MAX_DEVICES:
            model.require(total(mine) <= MAX_DEVICES)


def add_node_selectors(model: Model) -> None:
    """`nodeSelector` of several terms: only after a device of the claim that ties it to the node.

    Rule: docs/semantics.md 3.12. kube-scheduler goes through a claim's devices, writes `allocation.nodeSelector` from
    the first that ties it to the node, and gives up the pod at one of several terms before that. Where such devices
    are, each is a group of its own.
    """
    problem = model.problem
    for (ask, number), variable in model.take.items():
        if problem.groups[number].tie is Tie.TERMS:
            before = total(
                other
                for (a, n), other in model.take.items()
                if problem.groups[n].tie is Tie.NODE
                and problem.claim_of(a) == problem.claim_of(ask)
                and (a, n) < (ask, number)
            )
            model.require(variable <= before)


def minimise_exactly(
    model: Model, expression: Expression, solver: str, budget: Budget, have: int | None = None
) -> Outcome:
    """Minimise, and cut off what only rounding inside the solver allowed.

    Afterwards the variables hold what was found; where that is nothing, or worse than `have`, what they held before.
    """
    kept = {variable: variable.varValue for variable in model.lp.variables()}
    while True:
        outcome = minimise(model.lp, expression, solver, budget)
        if outcome.value is None or (have is not None and outcome.value > have):
            for variable in model.lp.variables():
                variable.varValue = kept.get(variable)
            return outcome
        excess = overbooked(model)
        if not excess:
            return outcome
        for taken in excess:
            model.require(total(taken) <= len(taken) - 1)


def overbooked(model: Model) -> list[list[Expression]]:
    """Return, for each row that is exceeded in exact arithmetic, the 0/1 variables that exceed it."""
    excess = []
    for amounts, left in model.recounted:
        taken = [(variable, amount) for variable, amount in amounts if variable.varValue]
        if sum(amount for _, amount in taken) > left:
            excess.append([variable for variable, _ in taken])
    return excess


def is_feasible(problem: AllocationProblem, budget: Budget, *, solver: str = "HiGHS") -> bool | None:
    """Say whether there is any allocation; None when time or a person ended the search before it was known."""
    merged = merge_requests(problem)
    one = problem if merged is None else merged.problem
    if hopeless(one):
        return False
    outcome = minimise_exactly(build_model(Model(one)), 0, solver, budget)
    return False if outcome.infeasible else None if outcome.value is None else True


def hopeless(problem: AllocationProblem) -> bool:
    """Say whether some request cannot be served by counting alone, which needs no solver."""
    least: Counter[int] = Counter()
    for indices in problem.requests:
        needs = [problem.need(ask) for ask in indices if ask not in problem.impossible and is_enough(problem, ask)]
        if not needs:
            return True
        least[problem.claim_of(indices[0])] += min(needs)
    return max(least.values(), default=0) > MAX_DEVICES


def is_enough(problem: AllocationProblem, ask: int) -> bool:
    """Say whether a node has the devices that an ask takes, and it takes any."""
    have = sum(group.size for group in problem.groups if ask in group.asks)
    return 0 < problem.need(ask) <= have
