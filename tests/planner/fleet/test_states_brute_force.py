"""What is in use on nodes as numbers, with counters, requests for all devices and admin access: still the best plan."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet, hold_to
from budgets import use_sizes
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_clusters import random_workloads, small_fleet, switches
from random_devices import CPU, NIC

from dra_lab.model.claims import ALL
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import pods, search
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_STATES", "60"))
"""How many random fleets of each kind are compared; more with the environment variable."""

ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"))


@pytest.fixture
def rules(monkeypatch):
    """Count the fleets of which every node's state was known, by the rules that made it hard to know."""
    counts, first = Counter(), pods.survey

    def survey(rules, limits):
        found = first(rules, limits)
        if found.plain:
            problems = [layout.problem for layout in found.scan.layouts.values()]
            able = [rules.asks[ask] for problem in problems for group in problem.groups for ask in group.asks]
            counts["counters"] += any(problem.counters for problem in problems)
            counts["all"] += any(ask.all_devices for ask in able)
            counts["admin"] += any(ask.admin_access for ask in able)
        return found

    look = search.admin_pods

    def admin_pods(fleet, order):
        found = look(fleet, order)
        counts["pods with admin access"] += found is not None
        return found

    monkeypatch.setattr(pods, "survey", survey)
    monkeypatch.setattr(search, "admin_pods", admin_pods)
    return counts


@pytest.mark.some(2)
@pytest.mark.parametrize("sharing", [False, True])
@pytest.mark.parametrize("large", [False, True])
def test_states_are_brute_force(sharing, large, rules, monkeypatch):
    """Every goal has the value that trying everything finds, proven, looked at one by one or all states at once."""
    if large:
        use_sizes(monkeypatch, states=0)
    compared = drawn = 0
    hard = ("all", "admin", "counters", "pods with admin access") if sharing else ("all",)
    while compared < FLEETS or min(rules[rule] for rule in hard) < FLEETS / 10:
        drawn += 1
        compared += is_brute_force(f"states {drawn} {sharing}", drawn, sharing=sharing)
        assert drawn < 6 * FLEETS, "too few fleets that can be tried were drawn"


def with_special_requests(rng: random.Random, workload: Workload, *, sharing: bool) -> Workload:
    """Return a workload of which some requests ask for all devices, or with admin access."""
    requests = []
    for request in workload.claims[0].requests:
        part, chance = request.exactly, rng.random()
        if part is not None and part.device_class_name != CPU and chance < 0.3:
            part = replace(part, allocation_mode=ALL, count=0)
        elif part is not None and sharing and chance < 0.8:
            part = replace(part, admin_access=True, device_class_name=NIC, capacity=None)
        requests.append(replace(request, exactly=part))
    return Workload(workload.name, (replace(workload.claims[0], requests=tuple(requests)),), workload.replicas)


def is_brute_force(seed: str, number: int, *, sharing: bool) -> bool:
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster = small_fleet(rng, switches(sharing=sharing))
    drawn = random_workloads(rng, cluster, switches(sharing=sharing))
    workloads = tuple(with_special_requests(rng, one, sharing=sharing) if number % 3 else one for one in drawn)
    objective = "nodes" if number % 4 == 3 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
    try:
        order = fleet_order(goals, objective)
        expected = best_fleet(cluster, workloads, order, release, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=release, goals=goals, objective=objective, first_fit=False)
    hold_to(expected, plan, seed)
    return True
