"""How late fleets and gangs are planned: seconds beyond a time limit, seconds after a cancel, and bounds at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.workload import Workload
from dra_lab.planner import largest_job, stranded
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import plan_gangs
from dra_lab.planner.questions import how_many_more
from tests.benchmarks import bench_gangs
from tests.benchmarks.crowded_cluster import before_chassis, partitioned, profiles, shared, shares, with_nic
from tests.benchmarks.irregular_cluster import drawn_pairs, irregular_cluster, numbered_pairs
from tests.benchmarks.mixed_cluster import NUMA, cpu_request, mixed_cluster, request_of, workloads

RELEASE = KubernetesRelease("1.36", {"DRAConsumableCapacity": True})
LIMITS, CANCELS, MORE = (0.3, 1.0, 3.0), (0.1, 0.5, 1.0, 2.0), 0.1
LONG_CANCELS = (*CANCELS, 4.0, 8.0, 16.0, 20.0)
"""For gangs, whose models are solved later."""


def _pairs(**link: object) -> ClaimSketch:
    requests = (request_of("gpu", "gpu.nvidia.com", 4), request_of("nic", "dranet", 4))
    return ClaimSketch("claim", requests, (Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, **link),))


def _fleets() -> Iterator[tuple[str, Callable[[], Cluster], Sequence[Workload]]]:
    cpus = Workload("cpu-only", ClaimSketch("cpu", (cpu_request(4),)), replicas=100000)
    chassis = [with_nic(workload) for workload in profiles(4)]
    drawn, numbered = (
        Workload("pairs", drawn_pairs(1), replicas=40000),
        Workload("pairs", numbered_pairs(4), replicas=6400),
    )
    four = (*workloads((250, 500, 500), must=False), Workload("cpu-only", cpus.claims, replicas=2500))
    yield "pairs, 5,000 x 8 + 8", lambda: irregular_cluster(5_000, 8), [drawn]
    yield "4 pairs as template, 800 x 16 + 16", lambda: irregular_cluster(800, 16), [numbered]
    yield "4 preferred pairs, 800 x 16 + 16", lambda: irregular_cluster(800, 16), [_claimed(_pairs(must=False))]
    yield "4 pairs on NUMA nodes, 800 x 16 + 16", lambda: irregular_cluster(800, 16), [_claimed(_pairs(where=NUMA))]
    yield "MIG, 200 nodes", lambda: partitioned(200), profiles(200)
    yield "MIG and a NIC, 50 nodes before 4 chassis", lambda: before_chassis(50, 4), chassis
    yield "shares of GPU memory, 500 nodes", lambda: shared(500), shares(500)
    yield "4 CPUs, 2,000 mixed nodes", lambda: mixed_cluster(2_000), [cpus]
    yield "four workloads, 500 mixed nodes", lambda: mixed_cluster(500), four
    yield "three workloads, 5,000 mixed nodes", lambda: mixed_cluster(5_000), workloads((3500,) * 3, must=False)
    three = workloads((1000, 2000, 2000), must=False)
    yield "three workloads, 2,000 x 8 + 8 and CPUs", lambda: irregular_cluster(2_000, 8, cpus=True), three


def _claimed(claim: ClaimSketch) -> Workload:
    return Workload("pairs", claim, replicas=4000)


def _late(plan: Callable[..., object], seconds: float, *, cancelled: bool) -> float:
    """Return how many seconds after the limit or the cancel a plan comes back; less than 0 if it needs less time."""
    cancel = threading.Event()
    timer = threading.Timer(seconds, cancel.set)
    if cancelled:
        timer.start()
    began, limit = time.monotonic(), None if cancelled else seconds
    plan(release=RELEASE, time_limit=limit, cancel=cancel)
    timer.cancel()
    return time.monotonic() - began - seconds


def _measure(what: str, plan: Callable[..., object], cancels: Sequence[float]) -> None:
    late = [[_late(plan, seconds, cancelled=False) for seconds in LIMITS]]
    late.append([_late(plan, seconds, cancelled=True) for seconds in cancels])
    limits, after = (", ".join(f"{max(0.0, seconds):.2f}" for seconds in row) for row in late)
    print(f"{what}: limits {limits}; cancels {after}", flush=True)


def _cancels_of_questions(cluster: Cluster, workload: Workload) -> str:
    """Return how late the other questions of the fleet's engine are answered after the same cancels."""
    asked: dict[str, Callable[..., object]] = {
        "how_many_more": partial(how_many_more, cluster, workload),
        "largest_job": partial(largest_job, cluster, workload.claims[0]),
        "stranded": partial(stranded, cluster, workload.claims),
    }
    late = {name: [_late(ask, seconds, cancelled=True) for seconds in CANCELS] for name, ask in asked.items()}
    return "; ".join(f"{name} {', '.join(f'{max(0.0, one):.2f}' for one in row)}" for name, row in late.items())


def main() -> None:
    """Print seconds beside the targets; a plan that needs less time than it has is not late."""
    print(f"seconds after limits of {LIMITS} s (target 10 % + 0.1 s) and cancels after {CANCELS} s (target 0.3 s)")
    for what, made, fleet in _fleets():
        cluster = made()
        plan_fleet(cluster, [Workload(w.name, w.claims, replicas=1) for w in fleet], release=RELEASE, time_limit=10.0)
        _measure(what, partial(plan_fleet, cluster, fleet), CANCELS)
        headroom = how_many_more(cluster, fleet[0], release=RELEASE, time_limit=MORE)
        print(
            f"  {fleet[0].name}: {headroom.count} more after {headroom.seconds:.2f} s; "
            f"cancels of {_cancels_of_questions(cluster, fleet[0])}",
            flush=True,
        )
    for name in ("slices", "priorities"):
        cluster, hierarchy, gangs, plain = bench_gangs.instance(name)
        _measure(
            f"gangs, {name}", partial(plan_gangs, cluster, [*gangs, *plain], hierarchies=[hierarchy]), LONG_CANCELS
        )


if __name__ == "__main__":
    main()
