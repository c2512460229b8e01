"""Random fleets of every family: no fewer pods than first fit, nearly all that counting allows, and no false proof.

Each run draws other fleets. `DRA_LAB_FAMILY_SEED`, the number in the names of the cases, repeats a run.
"""

from __future__ import annotations

import os
import random
import secrets
import zlib

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet
from checked_plans import checked_fleet
from fleet_families import RELEASE, draw_axes, draw_fleet, placed_by_first_fit

from dra_lab import how_many_more, largest_job, stranded
from dra_lab.model.goals import UNPLACED


def seed_of_run() -> int:
    """Return the seed that was asked for; otherwise a new one, the same in all processes of a run."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "") or secrets.token_hex(8)
    return int(os.environ.get("DRA_LAB_FAMILY_SEED", "") or zlib.crc32(run.encode()) % 1_000_000)


SEED = seed_of_run()
SIZES = {"tiny": (3, 4), "small": (6, 8), "large": (60, 16)}
"""Nodes, and GPUs and NICs of each."""
LIMIT = 30
"""Seconds for a large fleet."""
ENOUGH = 0.95
"""The part of the pods that counting allows which a plan has to place."""


def case(size: str, number: int):
    """Return the parameters of a case; all but a few tiny ones are long."""
    axes = draw_axes(random.Random(f"{SEED} {size} {number}"))
    marks = [] if size == "tiny" and number < 6 else [pytest.mark.long]
    return pytest.param(size, number, axes, id=f"seed {SEED}: {size} {number}: {axes}", marks=marks)


COUNTS = {"tiny": 60, "small": 40, "large": 20}
CASES = [case(size, number) for size, count in COUNTS.items() for number in range(count)]


@pytest.mark.parametrize(("size", "number", "axes"), CASES)
def test_a_family_is_planned_as_well_as_it_can_be(size, number, axes):
    """The plan keeps every rule and places what first fit places, and nearly what counting allows, with true bounds."""
    fleet = draw_fleet(random.Random(f"{SEED} {size} {number} fleet"), axes, *SIZES[size])
    print(f"DRA_LAB_FAMILY_SEED={SEED} {size} {number}: {axes}")
    limit = LIMIT if size == "large" else None
    plan = checked_fleet(fleet.cluster, fleet.workloads, release=RELEASE, first_fit=False, time_limit=limit)
    placed, wanted = len(plan.pods), sum(workload.replicas for workload in fleet.workloads)
    by_first_fit = placed_by_first_fit(fleet)
    assert placed <= fleet.most
    assert by_first_fit <= fleet.most
    assert placed >= by_first_fit
    assert placed >= ENOUGH * fleet.most or not fleet.exact
    for goal in plan.goals[:1]:
        assert goal.bound is None or goal.bound <= wanted - max(placed, by_first_fit), goal
        assert not goal.proven or not fleet.exact or placed == fleet.most, goal
    if size == "tiny":
        assert_brute_force(fleet, plan)


@pytest.mark.parametrize(("size", "number", "axes"), CASES)
def test_the_other_questions_agree_with_counting(size, number, axes):
    """What is found is at most what counting says, a bound at least that, and what is proven is equal."""
    fleet = draw_fleet(random.Random(f"{SEED} {size} {number} fleet"), axes, *SIZES[size])
    print(f"DRA_LAB_FAMILY_SEED={SEED} {size} {number}: {axes}")
    first, limit = fleet.workloads[0], LIMIT if size == "large" else None
    given = {"release": RELEASE, "time_limit": limit}
    most, claim = sum(fleet.alone.values()), first.claims[0]
    more = how_many_more(fleet.cluster, first, **given)
    assert_between(more.count.value, most, more.count.bound, proven=more.proven)
    for fit in more.where:
        for node in fit.members:
            assert_between(fit.replicas.value, fleet.alone[node], fit.replicas.bound, proven=fit.replicas.exact)
    job = largest_job(fleet.cluster, claim, **given)
    assert_between(job.replicas.value, most, job.replicas.bound, proven=job.replicas.exact)
    if fleet.scale:
        assert_between(job.scale, fleet.scale, job.scale_bound, proven=job.scale == job.scale_bound)
    plan = checked_fleet(fleet.cluster, [first], release=RELEASE, first_fit=False, time_limit=limit)
    left = how_many_more(fleet.cluster, first, after=plan, **given).count
    assert len(plan.pods) + left.value <= most
    assert not left.value or plan.placed[first.name] == first.replicas or not plan.proven
    pairs = sum(one.exactly.count for one in claim.requests if one.exactly and one.name.startswith("nic"))
    for kind in stranded(fleet.cluster, [claim], **given).kinds if axes.kind == "pairs" else ():
        if kind.kind in ("gpu", "nic"):
            assert_between(kind.usable, most * pairs, kind.bound, proven=kind.usable == kind.bound)


def assert_between(value, truth, bound, *, proven) -> None:
    """Assert that a value is at most the truth and its bound at least, and that it is the truth if it is proven."""
    assert value <= truth <= bound
    assert value == truth or not proven


def assert_brute_force(fleet, plan) -> None:
    """Assert that as many pods are placed as trying everything finds, where everything can be tried."""
    try:
        expected = best_fleet(fleet.cluster, fleet.workloads, (UNPLACED,), RELEASE)
    except TooLarge:
        return
    wanted = sum(workload.replicas for workload in fleet.workloads)
    best = 0 if expected is None else wanted - expected[0]
    assert best <= fleet.most
    assert best == fleet.most or not fleet.exact
    assert len(plan.pods) == best or not plan.proven
