"""What is known of nodes before a plan is written: pods of an answer before, places of pods on trees, open numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.crowded_cluster import partitioned, profiles
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import NUMA, mixed_cluster, request_of, workloads
from dra_lab.planner.fleet.tree_every import EveryNumber
from small_nodes import a_slice, cluster, gpu, nic
from small_plans import GPU, NIC

from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.fleet_work import Clock, FleetWork
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.placing import PodsOnNode, WrittenPods, replicas_of
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.search import by_layout, search
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.fleet.tables import tables_of
from dra_lab.planner.fleet.tree_numbers import TreeNumbers
from dra_lab.planner.fleet.tree_table import tree_tables

RELEASE = KubernetesRelease("1.36", {"DRAConsumableCapacity": True})
ORDER = fleet_order((), "replicas")


def pairs():
    """Pods of one and of three pairs of a GPU and a NIC, on nodes no two of which are identical."""
    return irregular_cluster(8, 8), [Workload(f"pairs-{count}", drawn_pairs(count), 20) for count in (1, 3)]


def mixed():
    """Jobs with GPUs, NICs and CPUs on few kinds of hardware."""
    return mixed_cluster(8), workloads((8, 8, 8), must=False)


def partitions():
    """MIG partitions that share counters."""
    return partitioned(4), profiles(4)


def two_kinds():
    """Pods of three devices on one NUMA node each if that can be, and pods of a pair."""
    requests = request_of("gpu", "gpu.nvidia.com", 2), request_of("nic", "dranet", 1)
    near = ClaimSketch("claim", requests, (Link(name="near", requests=("gpu", "nic"), must=False, where=NUMA),))
    return [Workload("near", near, 20), Workload("pairs", drawn_pairs(1), 20)]


def work_of(fleet):
    """Return a fleet as it is searched, without a limit."""
    return FleetWork(fleet, ORDER, False, Budget(), "HiGHS", Clock())


def without_last(on_node):
    """Return the pods on a node without the last one."""
    last = max(at for at, count in enumerate(on_node.counts) if count)
    counts = tuple(count - (at == last) for at, count in enumerate(on_node.counts))
    return on_node._replace(counts=counts, takes=on_node.takes[:-1])


@pytest.mark.parametrize("made", [pairs, mixed, partitions])
def test_a_plan_is_the_same_whatever_was_written_before(made):
    """Nodes with the pods of an answer before are taken from it, and those with other pods are written again."""
    fleet = look_at(*made(), RELEASE, Budget())
    by_node, written = search(work_of(fleet)).by_node, WrittenPods(fleet, ORDER)
    before = [without_last(on_node) if at % 2 else on_node for at, on_node in enumerate(by_node)]
    replicas_of(fleet, before, ORDER, written)
    assert replicas_of(fleet, by_node, ORDER, written) == replicas_of(fleet, by_node, ORDER)


@pytest.mark.parametrize("listed", [False, True])
def test_the_places_on_a_tree_have_the_values_that_were_found(listed):
    """If all numbers are written before better ways are found, the better ways are written in the end."""
    fleet = look_at(irregular_cluster(6, 8), two_kinds(), RELEASE, Budget())
    goals = device_goals(ORDER)
    better = 0
    for table in tree_tables(fleet, goals, "HiGHS", Budget()):
        known = table.numbers
        numbers = TreeNumbers(known.fill, known.sparing, known.state, known.demand, known.floors)
        numbers.place(Budget(), first=True)
        first = dict(numbers.found)
        for counts in first:
            numbers.steps(counts)
        if listed:
            numbers.know(EveryNumber(known.fill, known.demand, Budget(), steps=10**7))
        else:
            numbers.place(Budget(), first=False)
        better += sum(numbers.found[counts] < values for counts, values in first.items())
        again, node = replace(table, numbers=numbers), table.site.members[0]
        for counts, values in numbers.found.items():
            pods = replicas_of(fleet, [PodsOnNode(table.site, node, counts, again.takes(counts))], goals)
            assert values == tuple(sum(pod.goals[at].value for pod in pods) for at in range(len(goals)))
    assert better, "no better way was found for numbers that were written"


def test_a_pod_takes_of_a_group_once():
    """A pod takes one number of GPUs whose root is not known, though each of them is a root by itself."""
    gpus = ClaimSketch("gpus", (request_of("gpu", "gpu.nvidia.com", 2), request_of("nic", "dranet", 1)))
    nics = nic("nic-0", "pci0000:10", 0), nic("nic-1", "pci0000:20", 1)
    parts = a_slice(GPU, *map(gpu, range(4))), a_slice(NIC, *nics)
    fleet = look_at(cluster(*parts), [Workload("gpus", gpus, 2)], RELEASE, Budget())
    (table,) = tree_tables(fleet, device_goals(ORDER), "HiGHS", Budget())
    groups = [[(ask, group) for ask, group, _ in mine] for mine in table.takes((2,))]
    assert [len(set(mine)) for mine in groups] == [len(mine) for mine in groups] == [2, 2]


@pytest.mark.parametrize("made", [mixed, partitions])
def test_a_table_that_cannot_be_closed_has_open_numbers(made):
    """What is known before a look at all numbers agrees with the look."""
    fleet = look_at(*made(), RELEASE, Budget())
    sites = sites_of(fleet, Budget())
    for group in by_layout(sites):
        for table in tables_of(work_of(fleet), group, len(sites)):
            is_open = any(table.is_open(counts) and not table.is_barred(counts) for counts in table.vectors or ())
            assert table.closed == (table.vectors is not None and not is_open)
