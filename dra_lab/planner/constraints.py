"""The rules of an allocation as linear constraints, one function a rule."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.counters import COARSE
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import pairwise_share, partner_links
from dra_lab.planner.stages import Tie
from dra_lab.planner.variables import Expression, Model, total

_MOST_COMBINATIONS = 512
_SCALE = 1_000_000


def build_model(problem_model: Model) -> Model:
    """Add every rule to a fresh model and return it."""
    model = problem_model
    add_alternatives(model)
    add_counts(model)
    add_exclusive_devices(model)
    add_shared_capacity(model)
    add_shared_counters(model)
    add_device_limit(model)
    add_node_selectors(model)
    merged: set[int] = set()
    for number, link in enumerate(model.problem.links):
        if link.how is How.TOGETHER:
            add_together(model, number)
        elif link.how is How.APART:
            add_apart(model, number)
        elif number not in merged:
            same_ends = partner_links(model.problem, number)
            merged.update(same_ends if link.must else ())
            add_pairwise(model, number, same_ends)
    return model


def add_alternatives(model: Model) -> None:
    """`requests[].firstAvailable`: exactly one alternative of a request is served."""
    for indices in model.problem.requests:
        possible = [model.chosen[index] for index in indices if model.possible(index)]
        if len(possible) != 1:
            model.require(total(possible) == 1, "alternative", model.problem.asks[indices[0]].request)


def add_counts(model: Model) -> None:
    """`allocationMode` and `count`: an ask that is served takes its number of devices, All takes every one."""
    problem = model.problem
    for ask, chosen in model.chosen.items():
        groups = [number for number, group in enumerate(problem.groups) if ask in group.asks]
        if problem.asks[ask].all_devices:
            for number in groups:
                size = problem.groups[number].size
                upper = model.take[ask, number]
                # More devices of a kind than a claim can hold: the ask is out (dra-semantics 3.6, rule 33).
                model.require(upper == size * chosen if size <= MAX_DEVICES else chosen <= 0, "all", str(ask))
        else:
            taken = total(model.take[ask, number] for number in groups)
            model.require(taken == problem.asks[ask].count * chosen, "count", problem.asks[ask].reference)


def add_exclusive_devices(model: Model) -> None:
    """`allowMultipleAllocations` unset: a device is taken once, over all claims of a pod.

    `adminAccess` looks away from what earlier claims of the pod took, never from its own claim, and later claims do not
    look away from it (dra-semantics 3.5, C1). What it took holds up no other pod: such results allocate nothing (3.14).
    """
    problem = model.problem
    for number, group in enumerate(problem.groups):
        takes = model.takes(number)
        if group.shareable or (len(takes) < 2 and group.size <= MAX_DEVICES):
            continue
        if not problem.overlaps(number):
            model.require(total(takes) <= group.size, "exclusive", str(group.devices[0]))
            continue
        admin = [ask for ask in group.asks if problem.asks[ask].admin_access]
        alone = [ask for ask in group.asks if ask not in admin]
        model.require(total(model.takes(number, alone)) <= 1, "exclusive", str(group.devices[0]))
        for claim in dict.fromkeys(problem.claim_of(ask) for ask in admin):
            mine = [ask for ask in admin if problem.claim_of(ask) == claim]
            pod = problem.pod_of(mine[0])
            later = [ask for ask in alone if problem.claim_of(ask) >= claim and problem.pod_of(ask) == pod]
            model.require(total(model.takes(number, [*mine, *later])) <= 1, "exclusive", str(group.devices[0]))


def add_shared_capacity(model: Model) -> None:
    """`capacity.requests` on a shareable device: what the requests take stays within what is left (3.11, rule 64)."""
    for number, group in enumerate(model.problem.groups):
        if not group.shareable or len(model.takes(number)) < 2:
            continue
        for key, left in group.remaining:
            use = {ask: amount for ask, amounts in group.uses for name, amount in amounts if name == key}
            limit = float(_SCALE) if left > 0 else 0.0
            scaled = {a: float(amount / left * _SCALE if left > 0 else amount > left) for a, amount in use.items()}
            # Shares of what is left: no large numbers, and what the solver lets pass is recounted exactly afterwards.
            row = total(scaled[ask] * model.take[ask, number] for ask in use if (ask, number) in model.take)
            model.require(row <= limit, "capacity", f"{group.devices[0]} {key}")


def add_shared_counters(model: Model) -> None:
    """`consumesCounters` and `sharedCounters`: what the devices taken draw stays within what is left (3.10, rule 55).

    A shareable device pays once, however many requests share it (rule 60); admin access pays too (rule 61).
    """
    for counter, left in model.problem.counters:
        groups = [(n, group) for n, group in enumerate(model.problem.groups) if model.takes(n)]
        drawn = {n: amount for n, group in groups for key, amount in group.draws if key == counter}
        most = max(drawn.values(), default=0)
        # Large amounts become shares of what is left; what the solver then lets pass is recounted exactly.
        scale = 1.0 if most <= COARSE else _SCALE / left
        row = total(amount * scale * model.paid[number] for number, amount in drawn.items())
        if drawn:
            model.require(row <= left * scale, "counter", f"{counter[1]}/{counter[2]}")


def add_device_limit(model: Model) -> None:
    """`status.allocation.devices.results`: at most 32 devices in each claim of a pod."""
    for claim in range(model.problem.most_devices // MAX_DEVICES):
        mine = [variable for (ask, _), variable in model.take.items() if model.problem.claim_of(ask) == claim]
        if sum(variable.upBound for variable in mine) > MAX_DEVICES:
            model.require(total(mine) <= MAX_DEVICES, "limit", f"claim {claim}")


def add_node_selectors(model: Model) -> None:
    """`nodeSelector` of several terms: only after a device of the claim that ties it to the node (dra-semantics 3.12).

    kube-scheduler goes through a claim's devices, writes `allocation.nodeSelector` from the first that ties it to the
    node, and gives up the pod at one of several terms before that. Where such devices are, each is a group of its own.
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
            model.require(variable <= before, "node-selector", str(problem.groups[number].devices[0]))


def add_together(model: Model, link: int) -> None:
    """`constraints[].matchAttribute`: all devices of the joined requests have one value; a preference may lose it."""
    ends = model.problem.ends(link)
    must = model.problem.links[link].must
    name = model.problem.links[link].name
    broken = 0 if must else model.integer("broken", name, 1)
    used: dict[PlaceValue, Expression] = {}
    for number, variable in _touched(model, ends):
        values = model.problem.groups[number].places[link]
        if not values:
            model.require(variable <= variable.upBound * broken, "together", name)
            continue
        for value in values:
            if value not in used:
                used[value] = model.integer("used", f"{name} at {value[1]}", 1)
        # Of a list any value may be the common one (M7).
        model.require(variable <= variable.upBound * total(used[value] for value in values), "together", name)
    if len(used) > 1:
        model.require(total(used.values()) <= 1 + (len(used) - 1) * broken, "together", name)
    if not must:
        model.broken[link] = broken


def add_apart(model: Model, link: int) -> None:
    """`constraints[].distinctAttribute`: no two devices have a value in common (all compared, as from 1.37)."""
    ends = model.problem.ends(link)
    must = model.problem.links[link].must
    name = model.problem.links[link].name
    broken = 0 if must else model.integer("broken", name, 1)
    at: dict[PlaceValue, list[Expression]] = {}
    for number, variable in _touched(model, ends):
        values = model.problem.groups[number].places[link]
        if not values:
            model.require(variable <= variable.upBound * broken, "apart", name)
        for value in values:
            at.setdefault(value, []).append(variable)
    for value, variables in at.items():
        model.require(total(variables) <= 1 + (MAX_DEVICES - 1) * broken, "apart", f"{name} at {value[1]}")
    if not must:
        model.broken[link] = broken


def add_pairwise(model: Model, link: int, same_ends: tuple[int, ...] = ()) -> None:
    """Numbered requests with one `matchAttribute` a group: every group has its devices at one place.

    `same_ends` are must-links between the same requests: their places and this link's are one pairing. A preferred link
    loses the groups that find no common place.
    """
    drawn = model.problem.links[link]
    lost: list[Expression] = []
    for parts, active in _combinations(model, link):
        if len(parts) < 2:
            continue
        share = pairwise_share([model.problem.need(ask) for ask in parts])
        if share is None:
            if drawn.must:
                model.require(active <= 0, "pairwise", drawn.name)
            else:
                lost.append(min(model.problem.need(ask) for ask in parts) * active)
            continue
        kept = _groups_kept(model, (link, *same_ends), parts, share)
        groups = share[0]
        if drawn.must:
            model.require(total(kept) == groups * active, "pairwise", drawn.name)
        else:
            model.require(total(kept) <= groups * active, "pairwise", drawn.name)
            lost.append(groups * active - total(kept))
    if not drawn.must:
        model.broken[link] = total(lost)


def _groups_kept(
    model: Model, links: tuple[int, ...], parts: tuple[int, ...], share: tuple[int, tuple[int, ...]]
) -> list[Expression]:
    """Return one variable a place: how many groups stand there, each with its share of every request's devices."""
    drawn = model.problem.links[links[0]]
    groups, shares = share
    at: dict[tuple[PlaceValue, ...], dict[int, list[Expression]]] = {}
    for number, group in enumerate(model.problem.groups):
        # Lists are refused in pairwise links, so that there is one value at each place, or none.
        values = tuple(value for link in links for value in group.places[link])
        for ask in parts:
            if (ask, number) not in model.take:
                continue
            if len(values) == len(links):
                at.setdefault(values, {}).setdefault(ask, []).append(model.take[ask, number])
    kept = []
    for values, takes in at.items():
        here = model.integer("groups", f"{drawn.name} at {values}", groups)
        kept.append(here)
        for ask, size in zip(parts, shares, strict=True):
            model.require(total(takes.get(ask, ())) >= size * here, "pairwise", drawn.name)
    return kept


def _combinations(model: Model, link: int) -> Iterator[tuple[tuple[int, ...], Expression]]:
    """Yield the asks that a link may tie (one for each reference, or none) with a 0/1 that says when it does."""
    options: list[list[int | None]] = []
    for indices in model.problem.covered(link):
        possible: list[int | None] = [index for index in indices if model.possible(index)]
        request = model.problem.asks[indices[0]].request
        others = [i for i, ask in enumerate(model.problem.asks) if ask.request == request and i not in indices]
        if any(model.possible(other) for other in others):
            possible.append(None)
        options.append(possible)
    every = list(product(*options))
    if len(every) > _MOST_COMBINATIONS:
        name = model.problem.links[link].name
        raise UnsupportedFeature(
            "firstAvailable",
            f"link {name!r} ties requests whose alternatives combine in more than {_MOST_COMBINATIONS} ways; "
            "tie single alternatives (request/alternative) or use fewer",
        )
    if len(every) == 1:
        yield tuple(index for index in every[0] if index is not None), 1
        return
    active = [model.integer("active", model.problem.links[link].name, 1) for _ in every]
    model.require(total(active) == 1, "active", model.problem.links[link].name)
    for position, indices in enumerate(model.problem.covered(link)):
        for ask in (index for index in indices if model.possible(index)):
            with_it = total(a for a, combination in zip(active, every, strict=True) if combination[position] == ask)
            model.require(with_it == model.chosen[ask], "active", model.problem.asks[ask].reference)
    for combination, here in zip(every, active, strict=True):
        yield tuple(index for index in combination if index is not None), here


def _touched(model: Model, ends: tuple[int, ...]) -> Iterator[tuple[int, Expression]]:
    return ((number, variable) for (ask, number), variable in model.take.items() if ask in ends)
