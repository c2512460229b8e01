"""Exports: the share of planned replicas that first fit serves as planned, as compiled and pinned (target 95 %).

`DRA_LAB_BENCH_SEEDS` is the number of random clusters of each kind, 150 unless told; `DRA_LAB_BENCH_FIRST` the first
seed, 20,000 unless told: the search was looked at on seeds below 1,000 and from 10,000 to 10,149.

Not every plan can be had. A selector and a constraint see what a device publishes, and first fit takes the first device
that they admit. Between devices that publish the same, kube-scheduler takes the one listed first, whatever is planned.
If only the other one leaves space for a second replica, no manifest places both. Such replicas count against the share
here: nothing is taken out of it, so the share is a lower bound of what is asked for.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))

from random_clusters import random_cluster, random_fleet, random_sketch
from small_claims import request

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.pinning.pin_plan import pin_plan
from dra_lab.planner import make_plan
from dra_lab.planner.fleet import plan_fleet
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster

RELEASE = KubernetesRelease("1.36")
FIRST = int(os.environ.get("DRA_LAB_BENCH_FIRST", "20000"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("DRA_LAB_BENCH_SEEDS", "150")))
SAMPLES = ("eks-p4d/gpu-nic-pairs", "eks-p4d/any-nic-pairs", "dgx-h100/gpu-nic-cpu", "mi300x/gpu-nic-pairs")
MIG = ClaimSketch(name="slices", requests=(request("part", "mig.nvidia.com", 2),))
Planned = tuple[Cluster, Plan]


def fleet(cluster: Cluster, sketch: ClaimSketch, replicas: int) -> Plan:
    """Return the plan of as many replicas of one claim."""
    return plan_fleet(cluster, [Workload(sketch.name, (sketch,), replicas=replicas)], release=RELEASE, first_fit=False)


def of_samples() -> Iterator[Planned]:
    """Yield plans of 1, 2, 4 and 12 replicas on the samples."""
    for example in SAMPLES:
        cluster, sketch = load_cluster(f"sample:{example.partition('/')[0]}"), read_sketch(f"sample:{example}")
        for replicas in (1, 2, 4, 12):
            yield cluster, fleet(cluster, sketch, replicas)
    for replicas in (1, 2, 4):
        cluster = load_cluster("sample:mig")
        yield cluster, fleet(cluster, MIG, replicas)


def of_random_nodes() -> Iterator[Planned]:
    """Yield plans of one random claim on one random node."""
    for seed in SEEDS:
        rng = random.Random(seed)
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        try:
            yield cluster, make_plan(cluster, sketch, release=RELEASE)
        except DraLabError:
            continue


def of_random_fleets() -> Iterator[Planned]:
    """Yield plans of two to four replicas of one random claim on five nodes of two random kinds."""
    for seed in SEEDS:
        rng = random.Random(seed)
        cluster, sketch = random_fleet(rng), random_sketch(rng)
        try:
            yield cluster, fleet(cluster, sketch, rng.randint(2, 4))
        except DraLabError:
            continue


def measure(name: str, plans: Iterator[Planned]) -> None:
    """Print the share of replicas as planned without and with pins, and how long a plan takes."""
    wanted = before = after = pins = 0
    times = []
    for cluster, plan in plans:
        began = time.process_time()
        found = pin_plan(cluster, plan, RELEASE, seeds=5)
        if found.replay.wanted:
            times.append(time.process_time() - began)
            wanted += found.replay.wanted
            before += found.before.kept
            after += found.replay.kept
            pins += len(found.pins)
    print(f"{name}: {len(times)} plans, {wanted} replicas")
    print(f"  as planned as compiled {100 * before / wanted:.1f} %, pinned {100 * after / wanted:.1f} % (target 95 %)")
    print(f"  {pins / len(times):.1f} pins a plan; {1000 * sum(times) / len(times):.0f} ms of processor time a plan")


def main() -> None:
    """Run all."""
    measure("samples eks-p4d, dgx-h100, mi300x, mig", of_samples())
    measure("one claim on a random node", of_random_nodes())
    measure("replicas on random fleets", of_random_fleets())


if __name__ == "__main__":
    main()
