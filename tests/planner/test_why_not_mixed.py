"""The reasons for pods that fit nowhere are true under all rules of DRA, mixed: conflicts and gains, each tried again.

`DRA_LAB_RANDOM_MISFITS` is the number of random cases, 20 by itself; about half of them fit nowhere.
"""

from __future__ import annotations

import os
from itertools import combinations

import pytest
from brute_force import BruteForce, TooLarge
from checked_plans import checked_plan
from parts_of_drawings import elements, only
from random_devices import TELLS
from random_pods import Case, a_case
from test_all_rules_mixed import models_of, question_of

from dra_lab import ClaimSketch
from dra_lab.model.reasons import Element
from dra_lab.model.sketch import asks, claims_of

CASES = int(os.environ.get("DRA_LAB_RANDOM_MISFITS", "20"))
FIRST = 500_000
"""Other cases than those of which the best allocation is looked at."""


class Tried:
    """By brute force, the nodes of a case on which parts of its pod's drawing fit."""

    def __init__(self, case: Case) -> None:
        self.case, self.names = case, sorted(models_of(case))
        self.known: dict[tuple[str, str], bool] = {}

    def on(self, sketch: ClaimSketch) -> list[str]:
        return [name for name in self.names if self.fits(sketch, name)]

    def fits(self, sketch: ClaimSketch, name: str) -> bool:
        key = (repr(sketch), name)
        if sketch.requests and key not in self.known:
            claims = {claim or "claim": part for claim, part in ((claim.name, claim) for claim in claims_of(sketch))}
            model = BruteForce(self.case.cluster, claims, name, self.case.release)
            self.known[key] = next(iter(model.allocations()), None) is not None
        return not sketch.requests or self.known[key]


def means_something(sketch: ClaimSketch, chosen: tuple[Element, ...]) -> bool:
    """Say whether selectors and links stand with a request that they are about."""
    requests = {element.subject for element in chosen if element.kind == "request"}
    ends = {link.name: {end.split("/")[0] for end in link.requests} for link in sketch.links}
    return all(
        element.kind == "request" or requests & ends.get(element.subject, {element.subject.split("/")[0]})
        for element in chosen
    )


def hold_conflicts(tried: Tried, sketch: ClaimSketch, conflicts) -> None:
    """Hold each conflict against every set of the drawing's parts that is smaller, and against itself."""
    for conflict in conflicts:
        here = {conflict.node} if conflict.node else set(tried.names)
        assert not here & set(tried.on(only(sketch, conflict.elements))), conflict
        for element in conflict.elements if conflict.minimal else ():
            rest = [other for other in conflict.elements if other != element]
            assert here & set(tried.on(only(sketch, rest))) or not rest, (conflict, element)
        for size in range(1, len(conflict.elements) if conflict.smallest else 0):
            for chosen in combinations(elements(sketch), size):
                fits = here & set(tried.on(only(sketch, chosen)))
                assert fits or not means_something(sketch, chosen), (conflict, chosen)


def known_selectors(sketch: ClaimSketch) -> bool:
    return all(text in TELLS for request in sketch.requests for ask in asks(request) for text in ask.selectors)


@pytest.mark.long
def test_reasons_of_pods_hold_under_all_rules():
    """No set that is named fits, none that is smaller fails, and each change fits on as many nodes as is said."""
    count = 0
    for seed in range(FIRST, FIRST + CASES):
        case = a_case(seed)
        (cluster, claims), tried = question_of(case), Tried(case)
        plan = checked_plan(cluster, claims, release=case.release)
        reasons = plan.reasons
        try:
            hold_conflicts(tried, plan.sketch, reasons.conflicts if reasons else ())
            for change in reasons.relaxations if reasons else ():
                if change.sketch is None or change.why_open or not known_selectors(change.sketch):
                    continue
                nodes = tried.on(change.sketch)
                assert (change.fitting, change.example) == (len(nodes), nodes[0] if nodes else ""), (seed, change)
                count += 1
        except TooLarge:
            continue
    assert count > CASES
