"""The planner: one claim on one node (20 ms median), and on 5,000 nodes from the drawing to the plan (1 s)."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

from dra_lab.index.node_index import node_index
from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import goal_order
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner import make_plan
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.lexicographic import solve_problem
from dra_lab.planner.node.solver import ENGINES
from dra_lab.planner.recorded_cases import replay_feasibility
from dra_lab.planner.scan import scan_nodes
from tests.benchmarks.big_cluster import big_cluster

RELEASE = KubernetesRelease("1.36")
NODES = 5000
SAMPLE = 200
HARD = Path(__file__).parents[1] / "conformance" / "allocation-hard.ndjson.gz"


def _request(name: str, driver: str, count: int, cpus: int = 0) -> DeviceRequest:
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": cpus}) if cpus else None
    exactly = ExactDeviceRequest(device_class_name=driver, count=count, capacity=capacity)
    return DeviceRequest(name=name, exactly=exactly)


def sketch(pairs: int) -> ClaimSketch:
    """Return GPU-NIC pairs on the PCIe root, preferably on one NUMA node with their CPUs."""
    requests = (
        _request("gpu", "gpu.nvidia.com", pairs),
        _request("nic", "dranet", pairs),
        _request("cpu", "dra.cpu", 1, 8 * pairs),
    )
    links = (
        Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE),
        Link(name="near", requests=("gpu", "nic", "cpu"), where="numaNode", must=False),
    )
    return ClaimSketch(requests=requests, links=links)


def node_milliseconds(cluster: Cluster, drawn: ClaimSketch) -> list[float]:
    """Return the time that one claim takes on one node, for a sample of nodes: model, all goals, proof."""
    scan = scan_nodes(Rules(cluster, drawn, RELEASE, node_index(cluster, RELEASE).matching), Budget())
    times = []
    for name in cluster.node_names[:: NODES // SAMPLE]:
        problem = scan.problem(name)
        began = time.perf_counter()
        solve_problem(problem, goal_order(()), Budget())
        times.append(1000 * (time.perf_counter() - began))
    return times


def hard_cases() -> list[tuple[float, str, float]]:
    """Return (seconds, name, milliseconds of the Go allocator) of each recorded hard case: all but reading the file."""
    found = []
    with gzip.open(HARD) as lines:
        for case in map(json.loads, lines):
            began = time.perf_counter()
            replay_feasibility(case)
            found.append((time.perf_counter() - began, case["id"], max(case["allocatorMs"].values())))
    return sorted(found, reverse=True)


def cost_of_proofs(run: Callable[[], object]) -> tuple[int, float, float]:
    """Return how many models a run solves, and the seconds of HiGHS with presolve and without, model by model."""
    plain, times = ENGINES["HiGHS"], []

    def both(rows: object, budget: Budget, options: object = None) -> object:
        began = time.perf_counter()
        plain(rows, budget, {**(options or {}), "presolve": "on"})
        between = time.perf_counter()
        claim = plain(rows, budget, options)
        times.append((between - began, time.perf_counter() - between))
        return claim

    ENGINES["HiGHS"] = both
    try:
        run()
    finally:
        ENGINES["HiGHS"] = plain
    return len(times), sum(t for t, _ in times), sum(t for _, t in times)


def main() -> None:
    """Print the medians beside their targets."""
    hard_cases()
    times = hard_cases()
    print(
        f"{len(times)} recorded hard cases, fits or not with a proof: slowest {times[0][0]:.3f} s ({times[0][1]}), "
        f"median {median(t for t, *_ in times):.3f} s, all {sum(t for t, *_ in times):.2f} s; target 0.2 s each "
        f"(the Go allocator: up to {max(ms for *_, ms in times) / 1000:.0f} s)"
    )
    cluster = big_cluster(NODES)
    for name, run in (
        ("the hard cases", hard_cases),
        ("4 pairs on each of 200 nodes", lambda: node_milliseconds(cluster, sketch(4))),
    ):
        models, presolved, seconds = cost_of_proofs(run)
        print(
            f"what a proof costs: {models} models of {name} take {seconds:.2f} s without presolve, which proves, and "
            f"{presolved:.2f} s with it, which does not: {seconds / presolved:.2f} times"
        )
    for pairs in (2, 4):
        drawn = sketch(pairs)
        times = node_milliseconds(cluster, drawn)
        print(
            f"best allocation of {pairs} pairs on one node: median {median(times):.1f} ms, "
            f"p95 {quantiles(times, n=20)[-1]:.1f} ms; target 20 ms"
        )
        for which in ("first plan", "plan after an edit"):
            began = time.perf_counter()
            plan = make_plan(cluster, drawn, release=RELEASE)
            seconds = time.perf_counter() - began
            print(
                f"  {which} of {pairs} pairs on {NODES:,} nodes ({len(plan.node_classes)} classes of equal nodes, "
                f"{len(plan.fitting_nodes)} fit, {plan.status}): {seconds:.2f} s; target 1 s"
            )


if __name__ == "__main__":
    main()
