"""The kinds of links: one class a kind, with its rows in a model, what an allocation loses of it, and why it fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.node.allocation_problem import (
    LIST,
    AllocationProblem,
    PlaceValue,
    Values,
    pairwise_share,
    partner_links,
)
from dra_lab.planner.node.variables import DeviceCounts, Expression, Model, ModelCounts, Number, NumberCounts, total
from dra_lab.sketch.links import LEVEL_WORDS, link_words

_MOST_COMBINATIONS = 512
Groups = tuple[int, tuple[int, ...]]
"""How many groups of devices, and how many devices of each ask a group has."""

NO_GROUPS: Groups = (0, ())


class LinkReason(Struct, frozen=True):
    """Why a link cannot hold: how much it needs and how much there is, in words and numbers.

    `drawn` says that the drawing itself decides it, whatever the hardware.
    """

    text: str
    needed: int
    available: int
    advice: str = ""
    drawn: bool = False


class LinkRows(ABC):
    """The planner's meaning of one kind of link; a link is its position in a problem."""

    @abstractmethod
    def add(self, model: Model, link: int) -> None:
        """Add a link to a model: its rows, and for a preferred link what it loses (`Model.broken`)."""

    @abstractmethod
    def lost(self, counts: NumberCounts, link: int) -> Number:
        """Return what an allocation loses of a link, 0 where it is kept."""

    @abstractmethod
    def reason(self, problem: AllocationProblem, link: int, parts: Sequence[int]) -> LinkReason:
        """Return why a link cannot hold between asks, by counting devices place by place."""

    def groups(self, needs: Sequence[int]) -> Groups | None:  # noqa: ARG002 - most kinds gather by it
        """Return (groups, devices of each ask in a group), each group at one place; None where the counts make none.

        NO_GROUPS where a link gathers nothing: then nothing can be counted from it.
        """
        return NO_GROUPS


def lost(counts: DeviceCounts, link: int) -> Number:
    """Return what an allocation loses of a link: in a model of a preferred one, in numbers of any."""
    if isinstance(counts, ModelCounts):
        return counts.model.broken[link]
    return LINK_ROWS[counts.problem.links[link].how].lost(counts, link)


class Together(LinkRows):
    """`constraints[].matchAttribute`: all devices of the joined requests have one value; a preference may lose it."""

    def add(self, model: Model, link: int) -> None:
        """Add a 0/1 for each place: devices are taken only at the one that is used."""
        broken = _broken(model, link)
        used: dict[PlaceValue, Expression] = {}
        for variable, values in _placed(model, link, broken):
            for value in values:
                if value not in used:
                    used[value] = model.integer("used", 1)
            # Any value of a list may be the common one (docs/semantics.md 3.9.11).
            model.require(variable <= variable.upBound * total(used[value] for value in values))
        if len(used) > 1:
            model.require(total(used.values()) <= 1 + (len(used) - 1) * broken)

    def lost(self, counts: NumberCounts, link: int) -> Number:
        """Return 1 where no place has all devices."""
        every = sum(_tied(counts, link).values())
        return int(bool(every) and every not in (sum(here) for here in _at_places(counts, link).values()))

    def reason(self, problem: AllocationProblem, link: int, parts: Sequence[int]) -> LinkReason:
        """Say which place has most of what is needed at one."""
        at = place_counts(problem, link, parts)
        best = max((sum(min(c[p], problem.need(p)) for p in parts) for c in at.values()), default=0)
        wanted = _counted(problem, parts, {part: problem.need(part) for part in parts})
        text = f"{link_words(problem.links[link])} needs {wanted} on one {_place(problem, link)}; "
        return LinkReason(text + _table(problem, parts, at), sum(problem.need(part) for part in parts), best)

    def groups(self, needs: Sequence[int]) -> Groups:
        """Return one group, of all devices."""
        return 1, tuple(needs)


class ApartRows(LinkRows):
    """`constraints[].distinctAttribute`: no two devices have a value in common (all compared, as from 1.37)."""

    def add(self, model: Model, link: int) -> None:
        """Add a row for each place: at most one device is there."""
        broken = _broken(model, link)
        at: dict[PlaceValue, list[Expression]] = {}
        for variable, values in _placed(model, link, broken):
            for value in values:
                at.setdefault(value, []).append(variable)
        for variables in at.values():
            model.require(total(variables) <= 1 + (MAX_DEVICES - 1) * broken)

    def lost(self, counts: NumberCounts, link: int) -> Number:
        """Return 1 where a place has two devices, or a device has no place."""
        unknown = any(not counts.problem.groups[group].places[link] for _, group in _tied(counts, link))
        return int(unknown or any(sum(here) > 1 for here in _at_places(counts, link).values()))

    def reason(self, problem: AllocationProblem, link: int, parts: Sequence[int]) -> LinkReason:
        """Say how many places there are."""
        at = place_counts(problem, link, parts)
        need = sum(problem.need(part) for part in parts)
        text = f"{link_words(problem.links[link])} needs {need} different values of {_place(problem, link)}, "
        return LinkReason(f"{text}there are {len(at)}: {_table(problem, parts, at)}", need, len(at))


class Pairwise(LinkRows):
    """Numbered requests with one `matchAttribute` a group: every group has its devices at one place.

    Pairwise must-links between the same requests are one pairing: what is together at one of their places is together
    at the others too. A preferred link between them shares the pairing of the must-links.
    """

    def add(self, model: Model, link: int) -> None:
        """Add for each place how many groups stand there; a preferred link loses those that find no common place."""
        same_ends = partner_links(model.problem, link)
        if model.problem.links[link].must and any(other < link for other in same_ends):
            return
        drawn = model.problem.links[link]
        lost: list[Expression] = []
        for parts, active in _combinations(model, link):
            if len(parts) < 2:
                continue
            share = pairwise_share([model.problem.need(ask) for ask in parts])
            if share is None:
                if drawn.must:
                    model.require(active <= 0)
                else:
                    lost.append(min(model.problem.need(ask) for ask in parts) * active)
                continue
            kept = _groups_kept(model, (link, *same_ends), parts, share)
            groups = share[0]
            if drawn.must:
                model.require(total(kept) == groups * active)
            else:
                model.require(total(kept) <= groups * active)
                lost.append(groups * active - total(kept))
        if not drawn.must:
            model.broken[link] = total(lost)

    def lost(self, counts: NumberCounts, link: int) -> Number:
        """Return how many groups find no common place."""
        links = (link, *partner_links(counts.problem, link))
        parts = counts.problem.covered(link)
        tied = [{pair: count for pair, count in counts.taken.items() if pair[0] in part} for part in parts]
        taken = [sum(part.values()) for part in tied]
        # What is not taken is no part of a group.
        present = [count for count in taken if count]
        if len(present) < 2:
            return 0
        groups = min(present)
        if any(count % groups for count in present):
            return groups
        shares = [count // groups for count in taken]
        places: dict[tuple[PlaceValue, ...], list[int]] = {}
        for number, part in enumerate(tied):
            for (_, group), count in part.items():
                found = counts.problem.groups[group].places
                values = tuple(value for one in links for value in found[one])
                if len(values) == len(links):
                    places.setdefault(values, [0] * len(tied))[number] += count
        kept = (
            min(have // share for have, share in zip(here, shares, strict=True) if share) for here in places.values()
        )
        return groups - sum(kept)

    def reason(self, problem: AllocationProblem, link: int, parts: Sequence[int]) -> LinkReason:
        """Say how many groups fit on the places, or that the counts make none."""
        name, place = link_words(problem.links[link]), _place(problem, link)
        counts = [problem.need(part) for part in parts]
        share = pairwise_share(counts)
        if share is None:
            text = f"{name} cannot pair {' with '.join(map(str, counts))} devices: no whole multiples"
            advice = "Make each count a multiple of the smallest one, or prefer the link."
            return LinkReason(text, min(counts), 0, advice, drawn=True)
        groups, shares = share
        at = place_counts(problem, link, parts)
        fit = {v: min(c[p] // s for p, s in zip(parts, shares, strict=True)) for v, c in at.items()}
        available = sum(fit.values())
        each = _counted(problem, parts, dict(zip(parts, shares, strict=True)))
        word = "group" if groups == 1 else "groups"
        text = f"{name} needs {groups} {word} of {each}, each on one {place}; there is room for {available}: "
        if any(fit.values()):
            return LinkReason(text + _table(problem, parts, at), groups, available)
        sides = []
        for part in parts:
            values = [_word(value) for value, counts in at.items() if counts[part]]
            sides.append(f"{problem.asks[part].reference} at {', '.join(values) or 'none that is known'}")
        return LinkReason(f"{text}they sit at different {place}s, {'; '.join(sides)}", groups, available)

    def groups(self, needs: Sequence[int]) -> Groups | None:
        """Return as many groups as the smallest ask has devices."""
        return pairwise_share(needs)


def _groups_kept(
    model: Model, links: tuple[int, ...], parts: tuple[int, ...], share: tuple[int, tuple[int, ...]]
) -> list[Expression]:
    """Return one variable a place: how many groups stand there, each with its share of every request's devices."""
    groups, shares = share
    at: dict[tuple[PlaceValue, ...], dict[int, list[Expression]]] = {}
    for number, group in enumerate(model.problem.groups):
        # Lists are refused in pairwise links, so that there is one value at each place, or none.
        values = tuple(value for link in links for value in group.places[link])
        for ask in parts if len(values) == len(links) else ():
            if (ask, number) in model.take:
                at.setdefault(values, {}).setdefault(ask, []).append(model.take[ask, number])
    kept = []
    for takes in at.values():
        here = model.integer("groups", groups)
        kept.append(here)
        for ask, size in zip(parts, shares, strict=True):
            model.require(total(takes.get(ask, ())) >= size * here)
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
    active = [model.integer("active", 1) for _ in every]
    model.require(total(active) == 1)
    for position, indices in enumerate(model.problem.covered(link)):
        for ask in (index for index in indices if model.possible(index)):
            with_it = total(a for a, combination in zip(active, every, strict=True) if combination[position] == ask)
            model.require(with_it == model.chosen[ask])
    for combination, here in zip(every, active, strict=True):
        yield tuple(index for index in combination if index is not None), here


def _broken(model: Model, link: int) -> Expression:
    """Return what a link loses: 0 for a must-link, else a new 0/1 of the model."""
    if model.problem.links[link].must:
        return 0
    model.broken[link] = model.integer("broken", 1)
    return model.broken[link]


def _placed(model: Model, link: int, broken: Expression) -> Iterator[tuple[Expression, Values]]:
    """Yield what is taken at the places of a link; what has no place there breaks it."""
    ends = model.problem.ends(link)
    for (ask, number), variable in model.take.items():
        if ask in ends:
            values = model.problem.groups[number].places[link]
            if values:
                yield variable, values
            else:
                model.require(variable <= variable.upBound * broken)


def _tied(counts: NumberCounts, link: int) -> dict[tuple[int, int], int]:
    """Return the devices that a link ties, by (ask, group)."""
    ends = set(counts.problem.ends(link))
    return {pair: count for pair, count in counts.taken.items() if pair[0] in ends}


def _at_places(counts: NumberCounts, link: int) -> dict[PlaceValue, list[int]]:
    """Return for each value at a link's place the numbers of devices there."""
    found: dict[PlaceValue, list[int]] = {}
    for (_, group), count in _tied(counts, link).items():
        for value in counts.problem.groups[group].places[link]:
            found.setdefault(value, []).append(count)
    return found


def place_counts(problem: AllocationProblem, link: int, parts: Sequence[int]) -> dict[PlaceValue, Counter[int]]:
    """Return, for each value at a link's place, how many devices each of the asks may take there; sorted by value."""
    at: dict[PlaceValue, Counter[int]] = {}
    for group in problem.groups:
        for value in group.places[link]:
            for part in parts:
                if part in group.asks:
                    at.setdefault(value, Counter())[part] += group.size
    return dict(sorted(at.items(), key=lambda item: (item[0][0], item[0][1])))


def _place(problem: AllocationProblem, link: int) -> str:
    where = problem.links[link].where
    return LEVEL_WORDS.get(where, where)


def _table(problem: AllocationProblem, parts: Sequence[int], at: Mapping[PlaceValue, Mapping[int, int]]) -> str:
    places = (f"{_word(value)} has {_counted(problem, parts, counts)}" for value, counts in at.items())
    return ", ".join(places) or "none has any"


def _counted(problem: AllocationProblem, parts: Sequence[int], counts: Mapping[int, int]) -> str:
    return " and ".join(f"{counts[part]} {problem.asks[part].reference}" for part in parts)


def _word(value: PlaceValue) -> str:
    """Return a value as messages show it: a list that this release does not read has none, an empty text is quoted."""
    if value[0] == LIST:
        return "a list that is not read"
    return '""' if value[1] == "" else str(value[1])


LINK_ROWS: Mapping[How, LinkRows] = {
    How.TOGETHER: Together(),
    How.PAIRWISE: Pairwise(),
    How.APART: ApartRows(),
}
"""The planner's meaning of each kind of link; `model/sketch.py` has the words."""
