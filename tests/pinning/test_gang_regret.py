"""The regret of schedulers contains what gangs do that arrive one after the other, in any order of chance."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from test_gang_replay import ONE, R136, racks

from dra_lab import plan_gangs
from dra_lab.errors import InputError
from dra_lab.model.fleet import NODES, Workload
from dra_lab.model.gang import DOMAINS, Gang, GangGroup
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.workloads import Pod, PodSpec
from dra_lab.pinning.replay_gang import replay_kueue
from dra_lab.pinning.trace_gang import gang_regret, trace_gang

CASES = range(40)


def drawn(seed: int):
    """Return racks of nodes with few GPUs, a gang with its replicas, and its best plan."""
    draw = random.Random(f"regret {seed}")
    sizes = {f"r{rack}": [draw.randint(0, 3) for _ in range(draw.randint(1, 3))] for rack in range(3)}
    size = draw.randint(1, 4)
    least = draw.choice([size, size, draw.randint(1, size)])
    group = GangGroup(Workload("worker", (ONE,), size), least)
    gang = Gang("train", [group], "rack", hierarchy="fabric", replicas=draw.randint(1, 3))
    on, tree = racks(sizes, pods=draw.randint(2, 6))
    return draw, sizes, gang, on, tree, plan_gangs(on, [gang], hierarchies=[tree], release=R136)


def regret(found, scheduler: str):
    """Return the regret of a drawn case."""
    _, _, gang, on, tree, plan = found
    return gang_regret(on, gang, plan, scheduler, hierarchies=[tree], release=R136)


def started_by_chance(draw, sizes, gang) -> tuple[int, Counter[str], int]:
    """Return how many PodGroups start, the pods of each node, and the racks used, if chance takes every choice."""
    left = {f"{rack}-n{number}": gpus for rack, row in sizes.items() for number, gpus in enumerate(row)}
    begun, pods, used = 0, Counter[str](), set()
    for _ in range(gang.replicas):
        headroom = {rack: sum(left[name] for name in left if name.startswith(f"{rack}-")) for rack in sizes}
        feasible = [rack for rack, free in headroom.items() if free >= gang.least]
        if not feasible:
            continue
        rack = draw.choice(feasible)
        for _pod in range(min(gang.size, headroom[rack])):
            node = draw.choice([name for name, free in left.items() if free and name.startswith(f"{rack}-")])
            left[node] -= 1
            pods[node] += 1
        begun += 1
        used.add(rack)
    return begun, pods, len(used)


@pytest.mark.parametrize("seed", CASES)
def test_what_pod_groups_do_by_chance_is_in_the_range(seed: int):
    """The gangs, the pods, and the goals where they are compared."""
    found = drawn(seed)
    regrets = regret(found, "kube-scheduler")
    goals = {goal.goal: goal for goal in regrets.goals}
    for _ in range(30):
        begun, pods, used = started_by_chance(*found[:3])
        seen = {DOMAINS: used, NODES: len(pods)}
        outside = [goal for goal, value in seen.items() if goal in goals and not _in(value, goals[goal])]
        assert (regrets.least <= begun <= regrets.most, _within(pods.total(), regrets.pods), outside) == (
            True,
            True,
            [],
        )


def _in(value, goal) -> bool:
    return goal.least <= value <= goal.most


def _within(value: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= value <= bounds[1]


@pytest.mark.parametrize("seed", CASES)
def test_kueue_starts_as_many_gangs_as_one_replay_after_the_other(seed: int):
    """Each replay sees the pods of those before it, and their devices are in use."""
    _, _, gang, on, tree, _ = found = drawn(seed)
    free = {node.name: 0 for node in on.nodes} | {s.spec.node_name: len(s.spec.devices) for s in on.slices}
    started, pods = 0, list(on.pods)
    for _ in range(gang.replicas):
        replay = replay_kueue(replace(on, pods=tuple(pods)), replace(gang, replicas=1), tree, R136)
        served = 0
        for row in replay.domains:
            served += min(free[row.domain], row.wanted)
            free[row.domain] -= min(free[row.domain], row.wanted)
            pods += [Pod(ObjectMeta(), PodSpec(node_name=row.domain))] * row.wanted
        started += bool(replay.domains) and served >= gang.least
    compared = regret(found, "kueue")
    assert (compared.least, compared.most) == (started, started)


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("scheduler", ["kueue", "kube-scheduler"])
def test_no_scheduler_starts_more_than_the_best_plan(scheduler: str, seed: int):
    """The plan is proven, so what starts for certain is never more."""
    compared = regret(drawn(seed), scheduler)
    assert compared.least <= compared.best


@pytest.mark.long
def test_the_cases_occur():
    """Some schedulers lose gangs, some are as good, and goals are compared."""
    compared = [regret(drawn(seed), scheduler) for seed in CASES for scheduler in ("kueue", "kube-scheduler")]
    occurs = {(bool(one.gangs[0]), bool(one.goals), one.least < one.most) for one in compared}
    assert occurs >= {(True, False, False), (False, True, False)}


def test_an_unknown_scheduler_is_refused_with_a_hint():
    """The message names those that are replayed."""
    _, _, gang, on, tree, _ = drawn(0)
    with pytest.raises(InputError, match="did you mean"):
        trace_gang(on, gang, "kuewe", hierarchies=[tree], release=R136)


def test_a_plan_of_other_gangs_is_refused():
    """A regret compares with a plan that has the gang."""
    _, _, gang, on, tree, plan = drawn(0)
    with pytest.raises(InputError, match="plan_gangs"):
        gang_regret(on, replace(gang, name="other"), plan, hierarchies=[tree], release=R136)


def test_a_plan_that_was_not_answered_leaves_the_regret_open():
    """Without a best plan there is no regret of the scheduler."""
    _, _, gang, on, tree, plan = drawn(0)
    stopped = replace(plan, status=PlanStatus.STOPPED, placed=())
    assert gang_regret(on, gang, stopped, hierarchies=[tree], release=R136).unknown


def test_a_gang_without_a_level_has_the_hosts_as_topology():
    """Kueue then places it on nodes without a level above them."""
    _, _, gang, on, _, _ = drawn(0)
    found = trace_gang(on, replace(gang, required="host", hierarchy=""), hierarchies=[], release=R136)
    assert found.levels == ("host",)
