"""The most of one kind of device that pods use on nodes that share devices: one model for all of these nodes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.at_once import seen_together
from dra_lab.planner.fleet.crowd_ways import WaysCrowd, ways_crowd
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.usage import cpu_key, is_additive, kind_of
from dra_lab.planner.modelling import pulp
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.node_state import common_unit


def used_at_once(
    fleet: Fleet, site: Site, free: Mapping[str, int], solver: str, budget: Budget
) -> dict[str, tuple[int, int]]:
    """Return what pods use of each kind at least and at most, of which so much is `free`; not of kinds left open.

    Left open is everything where ways cannot be listed or time is up, and a kind of which a shared device counts once
    for several pods.
    """
    seen = seen_together(fleet, site, budget)
    crowd = None if seen is None else ways_crowd(seen, (), budget)
    if seen is None or crowd is None:
        return {}
    found = {}
    for kind, amount in free.items():
        if not is_additive(seen.problem, kind):
            continue
        known = _most(crowd, fleet, seen.problem, kind, solver, budget)
        if known is not None:
            found[kind] = min(known[0], amount), min(known[1], amount)
    return found


def _most(
    crowd: WaysCrowd, fleet: Fleet, whole: AllocationProblem, kind: str, solver: str, budget: Budget
) -> tuple[int, int] | None:
    lp = pulp.LpProblem("used", pulp.LpMinimize)
    model = crowd.model(lp, 0, fleet.demand)
    keys = {device: cpu_key(whole, at) for at, group in enumerate(whole.groups) for device in group.devices}
    amounts: dict[tuple[int, int], Fraction] = {}
    for part, columns in enumerate(crowd.stock.columns):
        each = [_amount(crowd.site.problem, ask, group, kind, keys) for ask, group in columns.pairs]
        for way, row in enumerate(columns.takes.tolist()):
            amounts[part, way] = sum((n * one for n, one in zip(row, each, strict=True) if n), Fraction())
    unit = common_unit(amounts.values()) or Fraction(1)
    used = {v: -int(amounts[one] / unit) for one, v in model.takes.items() if amounts[one]}
    if not used:
        return 0, 0
    outcome = minimise(lp, used, solver, budget)
    if outcome.bound is None:
        return None
    least = 0 if outcome.value is None else int(-outcome.value * unit)
    return least, int(-outcome.bound * unit)


def _amount(problem: AllocationProblem, ask: int, number: int, kind: str, keys: Mapping[DeviceID, str]) -> Fraction:
    """Return what one device of a group, or one share of it, counts of a kind when an ask takes it."""
    group = problem.groups[number]
    if kind_of(problem, number) != kind or problem.asks[ask].admin_access:
        return Fraction()
    key = keys[group.devices[0]]
    return dict(dict(group.uses)[ask]).get(key, Fraction()) if key else Fraction(1)
