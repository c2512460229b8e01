"""Plans for small fleets against trying everything, all rules of DRA mixed: several claims a pod, every goal.

`DRA_LAB_RANDOM_MIXED_FLEETS` is the number of fleets that are compared, 500 by itself.
"""

from __future__ import annotations

import os

import pytest
from brute_force import RULES
from brute_force_fleets import hold_to
from checked_plans import checked_fleet
from random_rule_fleets import a_fleet_case

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_MIXED_FLEETS", "500"))
PARTS = 10

DECIDED = {
    "exclusive devices": (10, 11),
    "selectors": (4, 44),
    "counts": (1, 3),
    "All": (7, 9),
    "alternatives": (10, 11),
    "match": (88, 141),
    "distinct": (60, 75),
    "pairwise": (27, 52),
    "lists": (11, 16),
    "counters": (3, 14),
    "capacity": (3, 10),
    "request policies": (3, 10),
    "device taints": (15, 27),
    "taint rules": (18, 37),
    "tolerations": (57, 133),
    "admin access": (11, 22),
    "several claims": (11, 24),
    "in use": (1, 3),
    "limit of 32": (10,),
    "network pools": (3, 10),
    "node selectors": (3, 187),
    "several terms": (18, 69),
    "broken pools": (3, 14),
    "extended resources": (6, 21),
}
"""Fleets among the 500 whose optimum is another one without a rule: two of each, of the limit one."""


@pytest.mark.parametrize("part", range(PARTS))
def test_fleet_is_brute_force_with_all_rules_mixed(part):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    for number in range(part, FLEETS, PARTS):
        case, expected = a_fleet_case(number)
        plan = checked_fleet(
            case.cluster,
            case.workloads,
            release=case.release,
            goals=case.goals,
            objective=case.objective,
            first_fit=False,
        )
        hold_to(expected, plan, f"fleet {number}")


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_decides_fleets(rule):
    """Fleets of each rule have another optimum when it is left out."""
    assert DECIDED[rule]
    for number in DECIDED[rule]:
        case, expected = a_fleet_case(number)
        assert case.best(frozenset({rule})) != expected, f"fleet {number} is not decided by {rule}: look for others"
