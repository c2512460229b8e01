"""The Topology Manager of the kubelet: which pods each policy admits."""

from __future__ import annotations

import random

import pytest

from dra_lab import load_cluster
from dra_lab.course.lesson_run import open_lesson
from dra_lab.course.topology_manager import NumaSupply, Policy, admit, baseline_lines, supplies_of

NUMA = (0, 1)


def supply(*rows: tuple[int, int]) -> NumaSupply:
    """A resource with (all, free) devices on each NUMA node."""
    return NumaSupply(dict(enumerate(all_ for all_, _ in rows)), dict(enumerate(free for _, free in rows)))


def admits(policy: Policy, supplies: list[NumaSupply], wanted: list[int], numa=NUMA) -> bool:
    return admit(policy, supplies, wanted, numa).admits


@pytest.mark.parametrize("policy", Policy)
def test_without_enough_devices_no_policy_admits(policy: Policy):
    assert not admits(policy, [supply((2, 1), (2, 0))], [2])


@pytest.mark.parametrize(
    ("policy", "admitted"), [("none", 1), ("best-effort", 1), ("restricted", 0), ("single-numa-node", 0)]
)
def test_two_gpus_left_on_two_numa_nodes(policy: str, admitted: int):
    """A NUMA node could serve both if nothing were in use, so restricted refuses what is spread."""
    assert admits(Policy(policy), [supply((2, 1), (2, 1))], [2]) is bool(admitted)


@pytest.mark.parametrize(
    ("policy", "admitted"), [("none", 1), ("best-effort", 1), ("restricted", 1), ("single-numa-node", 0)]
)
def test_three_gpus_where_a_numa_node_has_two(policy: str, admitted: int):
    """No NUMA node could ever serve three, so two are what restricted prefers."""
    assert admits(Policy(policy), [supply((2, 2), (2, 2))], [3]) is bool(admitted)


@pytest.mark.parametrize(
    ("policy", "admitted", "numa"),
    [("none", 1, ()), ("best-effort", 1, (0, 1)), ("restricted", 0, ()), ("single-numa-node", 0, ())],
)
def test_three_gpus_and_a_card_prefer_different_numa_nodes(policy: str, admitted: int, numa: tuple[int, ...]):
    """Hints are preferred only if all resources name the same NUMA nodes (`mergePermutation` in policy.go)."""
    found = admit(Policy(policy), [supply((2, 2), (2, 2)), supply((2, 2), (2, 2))], [3, 1], NUMA)
    assert (found.admits, found.numa_nodes) == (bool(admitted), numa)


def test_aligned_resources_are_looked_for_on_the_numa_node_that_has_both():
    """The GPU is free on both NUMA nodes, the card on the second alone."""
    found = admit(Policy.SINGLE_NUMA_NODE, [supply((2, 1), (2, 2)), supply((1, 0), (1, 1))], [1, 1], NUMA)
    assert (found.admits, found.numa_nodes) == (True, (1,))


@pytest.mark.parametrize("seed", range(20))
def test_random_machines_are_admitted_by_what_each_policy_says(seed: int):
    """`none` and `best-effort` need enough devices, `single-numa-node` needs one NUMA node with enough of each."""
    chance = random.Random(seed)
    for _ in range(100):
        numa = tuple(range(chance.choice((1, 2, 4))))
        rows = [
            [(n := chance.randrange(4), chance.randint(0, n)) for _ in numa] for _ in range(chance.choice((1, 2, 3)))
        ]
        supplies, wanted = [supply(*row) for row in rows], [chance.randint(1, 3) for _ in rows]
        enough = all(sum(free for _, free in row) >= count for row, count in zip(rows, wanted, strict=True))
        one = any(all(row[at][1] >= count for row, count in zip(rows, wanted, strict=True)) for at in numa)
        found = {policy: admits(policy, supplies, wanted, numa) for policy in Policy}
        assert (found[Policy.NONE], found[Policy.BEST_EFFORT], found[Policy.SINGLE_NUMA_NODE]) == (enough, enough, one)
        assert found[Policy.RESTRICTED] or not one


def test_the_devices_of_a_node_are_counted_by_numa_node():
    (gpus,) = supplies_of(load_cluster("sample:two-sockets"), "lab-2", ("gpu.nvidia.com",))
    assert (dict(gpus.all), dict(gpus.free)) == ({0: 2, 1: 2}, {0: 1, 1: 2})


def test_the_lesson_shows_each_policy(tmp_path):
    told = baseline_lines(open_lesson("10", tmp_path))
    assert [line.partition(":")[0].strip("*") for line in told[1:]] == [policy.value for policy in Policy]
    assert [("refused" in line) for line in told[1:]] == [False, False, True, True]


def test_a_lesson_without_numbers_shows_none(tmp_path):
    assert baseline_lines(open_lesson("3", tmp_path)) == ()
