"""What is known of nodes before a plan is written: pods of an answer before, places of pods on trees, open numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.crowded_cluster import partitioned, profiles
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads

from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.fleet_work import Clock, FleetWork
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.placing import PodsOnNode, replicas_of
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.search import by_layout, search
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.fleet.tables import tables_of
from dra_lab.planner.fleet.tree_table import list_all, tree_tables

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


def work_of(fleet):
    """Return a fleet as it is searched, without a limit."""
    return FleetWork(fleet, ORDER, False, Budget(), "HiGHS", Clock())


def without_last(on_node):
    """Return the pods on a node without the last one."""
    last = max(at for at, count in enumerate(on_node.counts) if count)
    counts = tuple(count - (at == last) for at, count in enumerate(on_node.counts))
    return replace(on_node, counts=counts, takes=on_node.takes[:-1])


@pytest.mark.parametrize("made", [pairs, mixed, partitions])
def test_a_plan_is_the_same_whatever_was_written_before(made):
    """Nodes with the pods of an answer before are taken from it, and those with other pods are written again."""
    fleet = look_at(*made(), RELEASE, Budget())
    by_node, written = search(work_of(fleet)).by_node, {}
    before = [without_last(on_node) if at % 2 else on_node for at, on_node in enumerate(by_node)]
    replicas_of(fleet, before, ORDER, written)
    assert replicas_of(fleet, by_node, ORDER, written) == replicas_of(fleet, by_node, ORDER)


@pytest.mark.parametrize("listed", [False, True])
def test_the_places_on_a_tree_have_the_values_that_were_found(listed):
    """Whichever numbers of pods were written before a better way was found, the best way is written in the end."""
    fleet = look_at(*pairs(), RELEASE, Budget())
    goals = device_goals(ORDER)
    trees = tree_tables(fleet, goals, "HiGHS", Budget())
    if listed:
        list_all(trees, Budget())
    for table in trees:
        node = table.site.members[0]
        for counts, values in table.found().items():
            pods = replicas_of(fleet, [PodsOnNode(table.site, node, counts, table.takes(counts))], goals)
            assert values == tuple(sum(pod.goals[at].value for pod in pods) for at in range(len(goals)))


@pytest.mark.parametrize("made", [mixed, partitions])
def test_a_table_that_cannot_be_closed_has_open_numbers(made):
    """What is known before a look at all numbers agrees with the look."""
    fleet = look_at(*made(), RELEASE, Budget())
    sites = sites_of(fleet, Budget())
    for group in by_layout(sites):
        for table in tables_of(work_of(fleet), group, len(sites)):
            is_open = any(table.is_open(counts) and not table.is_barred(counts) for counts in table.vectors or ())
            assert table.closed == (table.vectors is not None and not is_open)
