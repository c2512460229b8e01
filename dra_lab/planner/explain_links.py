"""Why a link cannot hold on a node: which places have how many devices of which request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dra_lab.authoring.links import LEVEL_WORDS
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import How, Link
from dra_lab.planner.node_case import NodeCase, shortfall_of
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import AllocationProblem, pairwise_share


def explain_link(case: NodeCase, name: str) -> Shortfall:
    """Explain a link that cannot hold even alone: which places have how many devices of which request."""
    index = next(n for n, link in enumerate(case.problem.links) if link.name == name)
    link = case.problem.links[index]
    if link.how is How.PAIRWISE:
        return _pairwise(case, index, link)
    parts = [_best_ask(case, indices) for indices in case.problem.covered(index)]
    need = sum(case.problem.need(part) for part in parts)
    at = place_counts(case.problem, index, parts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if link.how is How.APART:
        text = f"link {name} needs {need} different values of {place}, there are {len(at)}: {_table(case, parts, at)}"
        return shortfall_of("link", name, text, need, len(at), case.eligible.node)
    best = max((sum(min(c[p], case.problem.need(p)) for p in parts) for c in at.values()), default=0)
    wanted = _counted(case, parts, Counter({part: case.problem.need(part) for part in parts}))
    text = f"link {name} needs {wanted} at one {place}; {_table(case, parts, at)}"
    return shortfall_of("link", name, text, need, best, case.eligible.node)


def counted_out(case: NodeCase, name: str) -> Shortfall | None:
    """Return why a must-link cannot hold, where counting devices place by place already shows it."""
    found = explain_link(case, name)
    return found if found.available < found.needed else None


def _pairwise(case: NodeCase, index: int, link: Link) -> Shortfall:
    parts = [_best_ask(case, indices) for indices in case.problem.covered(index)]
    counts = [case.problem.need(part) for part in parts]
    share = pairwise_share(counts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if share is None:
        text = f"link {link.name} cannot pair {' with '.join(map(str, counts))} devices: no whole multiples"
        # The drawing decides this, not the hardware: no node is named.
        found = shortfall_of("link", link.name, text, min(counts), 0, "")
        return replace(found, advice="Make each count a multiple of the smallest one, or prefer the link.")
    groups, shares = share
    at = place_counts(case.problem, index, parts)
    fit = {v: min(c[p] // s for p, s in zip(parts, shares, strict=True)) for v, c in at.items()}
    available = sum(fit.values())
    each = _counted(case, parts, Counter(dict(zip(parts, shares, strict=True))))
    word = "group" if groups == 1 else "groups"
    text = f"link {link.name} needs {groups} {word} of {each}, each at one {place}; there is room for {available}: "
    if any(fit.values()):
        text += _table(case, parts, at)
    else:
        text += f"they sit at different {place}s, {_apart(case, parts, at)}"
    return shortfall_of("link", link.name, text, groups, available, case.eligible.node)


def place_counts(problem: AllocationProblem, link: int, parts: Sequence[int]) -> dict[PlaceValue, Counter[int]]:
    """Return, for each value at a link's place, how many devices each of the asks may take there; sorted by value."""
    at: dict[PlaceValue, Counter[int]] = {}
    for group in problem.groups:
        for value in group.places[link]:
            for part in parts:
                if part in group.asks:
                    at.setdefault(value, Counter())[part] += group.size
    return dict(sorted(at.items(), key=lambda item: (item[0][0], item[0][1])))


def _best_ask(case: NodeCase, indices: Sequence[int]) -> int:
    return next((index for index in indices if index not in case.problem.impossible), indices[0])


def _table(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = (f"{value[1]} has {_counted(case, parts, counts)}" for value, counts in at.items())
    return ", ".join(told) or "none has any"


def _counted(case: NodeCase, parts: Sequence[int], counts: Counter[int]) -> str:
    return " and ".join(f"{counts[part]} {case.problem.asks[part].reference}" for part in parts)


def _apart(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = []
    for part in parts:
        values = [str(value[1]) for value, counts in at.items() if counts[part]]
        told.append(f"{case.problem.asks[part].reference} at {', '.join(values) or 'none that is known'}")
    return "; ".join(told)
