"""Plans for small fleets against trying everything, all rules of DRA mixed: several claims a pod, every goal.

`DRA_LAB_RANDOM_MIXED_FLEETS` is the number of fleets that are compared, 620 by itself.
"""

from __future__ import annotations

import os

import pytest
from brute_force_fleets import hold_to
from cancelled import CancelledAfter
from checked_plans import checked_fleet
from random_pods import a_fleet_case

from dra_lab.model.plan import PlanStatus

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_MIXED_FLEETS", "620"))
PARTS = 62


@pytest.mark.parametrize("part", [1, *(pytest.param(n, marks=pytest.mark.long) for n in range(PARTS) if n != 1)])
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


def test_two_shares_of_one_device_for_one_request_are_no_start():
    """First fit gives a request two shares of a device; a plan that is cancelled then keeps every rule."""
    case, _ = a_fleet_case(132)
    plan = checked_fleet(case.cluster, case.workloads, release=case.release, cancel=CancelledAfter(40))
    assert plan.status is not PlanStatus.OPTIMAL
