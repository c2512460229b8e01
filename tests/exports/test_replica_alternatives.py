"""One template serves replicas that are planned with devices of several sorts."""

from __future__ import annotations

from small_claims import request
from small_nodes import a_slice, gpu
from small_nodes import cluster as made

from dra_lab.exports.tightening import tighten
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.fleet import plan_fleet

R136 = KubernetesRelease("1.36")
NUMA = "resource.kubernetes.io/numaNode"


def on_numa_nodes(name, *numbers):
    return a_slice("gpu.nvidia.com", *(gpu(n, **{NUMA: numa}) for n, numa in enumerate(numbers)), node=name)


def test_each_replica_gets_its_own_sort_of_devices():
    """Node a has two GPUs on one NUMA node behind another one, and node b has none such.

    A selector of one NUMA node shuts out node b, and no node of the two can be left out.
    """
    on = made(on_numa_nodes("a", 1, 0, 0), on_numa_nodes("b", 1, 0))
    two = ClaimSketch(name="two", requests=(request("gpu", "gpu.nvidia.com", 2),))
    plan = plan_fleet(on, [Workload("two", (two,), 2)], release=R136, first_fit=False)
    found = tighten(on, plan, R136)
    assert (found.before.kept, found.loop.kept, found.loop.as_planned) == (1, 2, True)
