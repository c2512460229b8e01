"""The links of a claim as linear constraints: together, apart, pairwise; one function a kind of link."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import pairwise_share, partner_links
from dra_lab.planner.variables import Expression, Model, total

_MOST_COMBINATIONS = 512


def add_links(model: Model) -> None:
    """Add every link; pairwise must-links between the same requests are one pairing."""
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
        if model.may_stay_away or any(model.possible(other) for other in others):
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
