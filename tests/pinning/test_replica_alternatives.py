"""One template serves replicas that are planned with devices of several sorts."""

from __future__ import annotations

import random

from checked_plans import checked_fleet
from random_clusters import random_fleet, random_sketch
from small_claims import request
from small_nodes import a_slice, gpu
from small_nodes import cluster as made

from dra_lab import ClaimSketch, How, KubernetesRelease, Link, Workload
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest
from dra_lab.pinning.pin_options import with_alternatives
from dra_lab.pinning.pin_plan import pin_plan

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
    plan = checked_fleet(on, [Workload("two", (two,), replicas=2)], release=R136, first_fit=False)
    found = pin_plan(on, plan, R136)
    assert (found.before.kept, found.replay.kept, found.replay.as_planned) == (1, 2, True)


def test_alternatives_of_a_drawing_get_the_devices_of_each_replica():
    """A recorded fleet: the drawn alternatives stay what they are, and each has the devices of planned replicas."""
    rng = random.Random(10022)
    on, sketch = random_fleet(rng), random_sketch(rng)
    plan = checked_fleet(on, [Workload("w", (sketch,), replicas=rng.randint(2, 4))], release=R136, first_fit=False)
    found = pin_plan(on, plan, R136)
    assert (found.before.kept, found.replay.kept, found.replay.as_planned) == (0, 3, True)
    (request,) = found.sketches[0][0].requests
    assert {sub.name.partition("-")[0] for sub in request.first_available} == {"s0"}


def test_alternatives_that_a_link_names_stay():
    """A link that names one alternative cannot name the several that would be in its place."""
    subs = tuple(DeviceSubRequest(name=name, device_class_name="gpu", count=1) for name in ("new", "old"))
    link = Link(name="near", requests=("gpu/new",), where="numaNode", how=How.TOGETHER)
    sketch = ClaimSketch(requests=(DeviceRequest(name="gpu", first_available=subs),), links=(link,))
    assert with_alternatives(sketch, texts={"gpu": (("new", "true"), ("new", "false"))}) is None
