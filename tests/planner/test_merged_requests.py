"""Requests that mean the same are planned as one, and get their own devices back."""

from __future__ import annotations

import random

import pytest
from random_devices import GPU, NIC, NUMA, ROOT, TAG, device_class
from small_nodes import a_slice, cluster, device

from dra_lab.index.node_index import node_index
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.device_counts import AllocationCounts
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.goal_table import goal_values, objectives
from dra_lab.planner.node.interchangeable import interchangeable
from dra_lab.planner.node.link_rows import lost
from dra_lab.planner.node.merged_requests import MergedRequests, merge_requests
from dra_lab.planner.node.milp import build_model, minimise_exactly
from dra_lab.planner.node.variables import Model
from dra_lab.planner.scan import scan_nodes

RELEASE = KubernetesRelease("1.36")
ORDER = ("alternatives", "preferences", "numa", "unpaired", "roots")
OTHER = "tpu.example"


def random_node(rng: random.Random):
    """Make a node with a few GPUs, NICs and others; some places are not published."""
    roots = [f"pci0000:{n}0" for n in range(rng.randint(1, 4))]

    def placed(name: str):
        attributes: dict[str, str | int | bool] = {}
        if rng.random() < 0.9:
            attributes[ROOT] = rng.choice(roots)
        if rng.random() < 0.8:
            attributes[NUMA] = rng.randint(0, 1)
        if rng.random() < 0.7:
            attributes[TAG] = rng.choice("ab")
        return device(name, attributes)

    slices = [
        a_slice(driver, *(placed(f"{driver[0]}{n}") for n in range(rng.randint(2, 5)))) for driver in (GPU, NIC, OTHER)
    ]
    return cluster(*slices, classes=tuple(device_class(driver) for driver in (GPU, NIC, OTHER)))


def random_template(rng: random.Random) -> ClaimSketch:
    """Write one unit several times under numbered names, with links inside each and over all."""
    parts = rng.sample((GPU, NIC, OTHER), rng.choice([1, 2, 2, 3]))
    counts = [rng.choice([1, 1, 1, 2]) for _ in parts]
    inside = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        ends = tuple(rng.sample(range(len(parts)), rng.randint(1, len(parts))))
        how = rng.choice([How.TOGETHER, How.TOGETHER, How.PAIRWISE, How.APART])
        if how is not How.PAIRWISE or len(ends) > 1:
            inside.append((ends, rng.choice([ROOT, NUMA, TAG, "pcieRoot", "numaNode"]), how, rng.random() < 0.6))
    requests, links = [], []
    for copy in range(rng.randint(2, 3)):
        for part, count in zip(parts, counts, strict=True):
            exactly = ExactDeviceRequest(device_class_name=part, count=count)
            requests.append(DeviceRequest(name=f"{part[:3]}-{copy}", exactly=exactly))
        for number, (ends, where, how, must) in enumerate(inside):
            tied = tuple(f"{parts[end][:3]}-{copy}" for end in ends)
            links.append(Link(name=f"l{number}-{copy}", requests=tied, where=where, how=how, must=must))
    if rng.random() < 0.4:
        names = tuple(request.name for request in requests if rng.random() < 0.9)
        how = rng.choice([How.TOGETHER, How.APART])
        if names:
            where = rng.choice(["numaNode", TAG])
            links.append(Link(name="all", requests=names, where=where, how=how, must=rng.random() < 0.4))
    return ClaimSketch(requests=tuple(requests), links=tuple(links))


def problem_of(node, drawn: ClaimSketch) -> AllocationProblem:
    rules = Rules(node, drawn, RELEASE, node_index(node, RELEASE).matching)
    return scan_nodes(rules, Budget()).problem("n1")


def best(problem: AllocationProblem) -> tuple[tuple[int, ...] | None, dict[tuple[int, int], int]]:
    """Return the least values of the goals, each kept for the next, and an allocation that has them."""
    model = build_model(Model(problem))
    for goal in objectives(model, ORDER):
        found = minimise_exactly(model, goal.expression, "HiGHS", Budget())
        if found.value is None:
            return None, {}
        model.require(goal.expression <= found.value, "goal", goal.goal)
    taken = {pair: round(variable.varValue or 0) for pair, variable in model.take.items()}
    values = goal_values(problem, taken)
    return tuple(values[goal] for goal in ORDER), taken


def merged_cases(seeds: range) -> list[tuple[int, AllocationProblem, MergedRequests]]:
    """Return the random templates of which requests are merged."""
    found = []
    for seed in seeds:
        rng = random.Random(f"merged {seed}")
        problem = problem_of(random_node(rng), random_template(rng))
        merged = merge_requests(problem)
        if merged is not None:
            found.append((seed, problem, merged))
    return found


@pytest.mark.parametrize("start", range(0, 240, 80))
def test_merged_requests_have_the_values_of_those_written(start):
    """The best values are the same whether requests that mean the same are merged or not."""
    cases = merged_cases(range(start, start + 80))
    assert len(cases) > 20
    assert [(seed, best(merged.problem)[0]) for seed, _, merged in cases] == [
        (seed, best(problem)[0]) for seed, problem, _ in cases
    ]


@pytest.mark.parametrize("start", range(0, 240, 80))
def test_what_is_handed_back_has_the_values_of_what_was_merged(start):
    """The requests as written get devices that keep every must-link and have the same values."""
    compared = 0
    for seed, problem, merged in merged_cases(range(start, start + 80)):
        values, taken = best(merged.problem)
        if values is None:
            continue
        back = merged.hand_back(taken)
        counted = goal_values(problem, back)
        assert tuple(counted[goal] for goal in ORDER) == values, f"seed {seed}"
        counts = AllocationCounts(problem, back)
        assert [n for n, link in enumerate(problem.links) if link.must and lost(counts, n)] == [], f"seed {seed}"
        for ask, wanted in enumerate(problem.asks):
            assert sum(count for (own, _), count in back.items() if own == ask) == wanted.count, f"seed {seed}"
        compared += 1
    assert compared > 10


def template(pairs: int) -> ClaimSketch:
    """Write pairs of a GPU and a NIC on one PCIe root as numbered requests."""
    requests, links = [], []
    for number in range(pairs):
        for name, driver in (("gpu", GPU), ("nic", NIC)):
            requests.append(
                DeviceRequest(name=f"{name}-{number}", exactly=ExactDeviceRequest(device_class_name=driver))
            )
        links.append(Link(name=f"pair-{number}", requests=(f"gpu-{number}", f"nic-{number}"), where=ROOT))
    return ClaimSketch(requests=tuple(requests), links=tuple(links))


def test_a_template_is_the_problem_of_its_drawing():
    """Eight numbered requests are two for four devices each, with one pairwise link."""
    roots = [f"pci0000:{n}0" for n in range(4)]
    node = cluster(
        a_slice(GPU, *(device(f"g{n}", {ROOT: roots[n % 4]}) for n in range(8))),
        a_slice(NIC, *(device(f"n{n}", {ROOT: roots[n % 4]}) for n in range(8))),
        classes=(device_class(GPU), device_class(NIC)),
    )
    merged = merge_requests(problem_of(node, template(4)))
    assert merged is not None
    assert [ask.count for ask in merged.problem.asks] == [4, 4]
    assert [link.how for link in merged.problem.links] == [How.PAIRWISE]


def test_a_link_over_some_copies_makes_them_different():
    """A link between two of three GPUs: these can change places, and the third one cannot with them."""
    units = interchangeable(["gpu", "gpu", "gpu"], [("numa", frozenset({(0, ""), (1, "")}))])
    assert [unit.copies for unit in units] == [((0,), (1,)), ((2,),)]


def test_other_requests_are_left_alone():
    """Requests that ask for different numbers are not interchangeable."""
    units = interchangeable([("gpu", 1), ("gpu", 2)], [])
    assert [unit.count for unit in units] == [1, 1]
