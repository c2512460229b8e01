"""The ways to find an optimum agree: counting, flows, the model of ways, and the model of single devices."""

from __future__ import annotations

import random

import oracle_cbc
import oracle_flow
import pulp
import pytest
from oracle_cbc import GOALS, UnknownError, maximum
from oracle_claims import Apart, Together, WithCores
from oracle_clusters import Node, random_nodes
from oracle_devices import DeviceFleet
from oracle_drawings import NODE, NUMAS, ROOTS, Drawn
from oracle_families import COUNTED, FAMILIES, random_claims
from oracle_fleets import Fleet, placeable
from oracle_truth import Truth

SEEDS = range(2)


@pytest.fixture(autouse=True)
def _every_model_is_solved(monkeypatch):
    """A slow machine changes no result."""
    monkeypatch.setattr(oracle_cbc, "SECONDS", 600.0)


def nodes_of(seed: str, most: int) -> list[Node]:
    """Draw nodes of any kind."""
    return random_nodes(random.Random(seed))[:most]


def drawn(seed: str, family: str, nodes: int) -> tuple[list[Node], tuple]:
    """Draw nodes and the claims of a family."""
    rng = random.Random(f"{family} {seed}")
    return random_nodes(rng, split="partitions" in family)[:nodes], random_claims(rng, family)


@pytest.mark.some(8)
@pytest.mark.parametrize("family", COUNTED)
def test_counting_agrees_with_the_model_of_ways(family):
    """Both find the same number of replicas, and the same least values of every goal that counting knows."""
    for seed in SEEDS:
        nodes, claims = drawn(str(seed), family, 3)
        alone = Truth(nodes, claims)
        truth = Truth(nodes, claims, tuple(alone.total(at) for at in range(len(claims))))
        try:
            placed = placeable(truth.frees, truth.drawn, truth.replicas)
        except UnknownError:
            continue
        assert placed == truth.placeable
        known = truth._counted_goals(placed, nodes_first=False) if len(claims) == 1 else ()
        modelled = dict(Fleet(truth.frees, truth.drawn, truth.replicas).least_goals(placed))
        assert {name: modelled[name] for name, _ in known if name in modelled} == dict(known)


@pytest.mark.some(12)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_of_ways_agrees_with_the_model_of_devices(family):
    """Both find the same number of pods on a node, and the same least values of all goals."""
    nodes, claims = drawn("0", family, 1)
    frees, asked, two = [node.free() for node in nodes], [claim.drawn() for claim in claims], [2] * len(claims)
    placed = placeable(frees, asked, two)
    devices = DeviceFleet(frees, asked, two)
    assert devices.most(devices.placed()) == placed
    assert devices.least_goals(placed) == Fleet(frees, asked, two).least_goals(placed)


@pytest.mark.parametrize("level", [ROOTS, NUMAS, NODE])
def test_counting_agrees_with_the_flow_of_pairs(level):
    """A flow of least cost finds as many pairs as counting, and the same least values of the three goals."""
    for seed in range(20):
        nodes = nodes_of(f"{level} {seed}", 8)
        truth = Truth(nodes, (Together(1, 1, level),))
        wanted = max(1, truth.total(0))
        placed, goals = oracle_flow.pairs(truth.frees, level, wanted)
        assert placed == truth.total(0)
        assert list(zip(GOALS[1:], goals, strict=True)) == list(truth._counted_goals(placed, nodes_first=False)[:3])


def test_counting_agrees_with_the_flow_of_pairs_with_cores():
    """Roots and cores of a NUMA node hold as many pods as the flow through both."""
    for seed in range(20):
        nodes = nodes_of(f"cores {seed}", 8)
        for cores in (1, 3, 8):
            truth = Truth(nodes, (WithCores(1, 1, cores),))
            assert oracle_flow.pairs_with_cores(truth.frees, cores) == truth.total(0)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_counting_agrees_with_the_flow_of_devices_apart(k):
    """The theorem of Gale and Ryser finds as many pods as a flow from pods to PCIe roots."""
    for seed in range(20):
        (node,) = nodes_of(f"{k} {seed}", 1)
        free = node.free()
        assert oracle_flow.spread(free.gpus, k) == Apart(k).most(free)


def test_a_multiple_of_a_claim_has_its_cores_in_parts():
    """Cores that no CPU device has are those of several devices, in the fewest equal whole parts."""
    _, (claim,) = drawn("any", "shares", 1)
    more = claim.drawn().times(12, largest=claim.cores * 5)
    assert [(ask.count, ask.cores) for ask in more.asks] == [(3, claim.cores * 4)]


def asked_of(found: str, values: tuple[int, int]) -> pulp.LpProblem:
    """Return a model of two variables whose sum is at most 3, and a solver that answers it as given."""

    class Answers(pulp.LpSolver):
        def __init__(self, **_):
            super().__init__()

        def actualSolve(self, lp, **_):  # noqa: N802 - PuLP's name
            for variable, value in zip(lp.variables(), values, strict=True):
                variable.varValue = value
            lp.assignStatus(*STATUS[found])
            return lp.status

    model = pulp.LpProblem("two")
    model.solver = Answers
    x, y = (pulp.LpVariable(name, 0, 2, pulp.LpInteger) for name in "xy")
    model += x + y <= 3
    model.total = x + y
    return model


STATUS = {
    "optimal": (pulp.LpStatusOptimal, pulp.LpSolutionOptimal),
    "stopped": (pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible),
    "infeasible": (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible),
}


@pytest.mark.parametrize(
    ("found", "values", "known"),
    [
        ("optimal", (2, 1), (3, True)),
        ("stopped", (1, 1), (2, False)),
        ("optimal", (2, 2), None),
        ("optimal", (3, 0), None),
        ("infeasible", (0, 0), None),
    ],
)
def test_the_oracle_believes_no_solver_without_a_recount(found, values, known, monkeypatch):
    """A solution that breaks a row or a bound is none, and "infeasible" is no answer of a model that has a solution."""
    model = asked_of(found, values)
    monkeypatch.setattr(oracle_cbc.pulp, "PULP_CBC_CMD", model.solver)
    answer = maximum(model, model.total, 1.0)
    assert (answer and (answer.value, answer.best)) == known


def test_what_is_too_large_is_unknown():
    """The oracle does not guess: a claim with too many ways has no optimum here."""
    nodes, (claim,) = drawn("0", "one to one on roots", 1)
    with pytest.raises(UnknownError):
        placeable([nodes[0].free()], [Drawn(claim.drawn().times(16, 1).asks * 2)], [1])
