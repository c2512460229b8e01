"""Replays recorded cases of the allocator with the planner: which claims fit on which node, proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dra_lab.cel.matching import Matching
from dra_lab.errors import DraLabError
from dra_lab.model.claims import AllocationResult, ResourceClaim
from dra_lab.model.quantity import to_nano
from dra_lab.model.release import LIST_ATTRIBUTES, KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import Taken as Devices
from dra_lab.planner.node.allocation_problem import build_problem
from dra_lab.planner.node.eligible import NodeEligibility, Rules, eligibility, refuse_claim, refuse_devices
from dra_lab.planner.node.lexicographic import solve_problem
from dra_lab.planner.node.milp import hopeless
from dra_lab.planner.pod_claims import exact_sketch, join_sketches
from dra_lab.scheduler.allocating import Taken
from dra_lab.scheduler.candidates import view_node
from dra_lab.scheduler.first_fit import allocation_result
from dra_lab.scheduler.replay_allocator import read_case
from dra_lab.scheduler.requests import claim_needs
from dra_lab.scheduler.search_limits import AttemptAborted
from dra_lab.topology.locality import localities

INTENDED = "1.37"
"""The release whose rules are the intended ones: the known defects of 1.36.2 are gone (docs/semantics.md 5.2)."""

_GATES_OF_1_36 = {"DRADeviceTaintRules": False, "DRAFractionalCapacityRange": False, LIST_ATTRIBUTES: False}


def replay_feasibility(case: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a recorded allocation case: `{"id", "results": {node: {"allocation", "error", "proof"}}}`.

    `allocation` is one AllocationResult a claim that keeps all rules of 1.37, with the lowest ranks of alternatives, or
    None. `proof` says why the answer holds: `allocation` (it is there to be checked), `count` (too few devices may
    serve a request), `solver` (no solution of the model), "" where `error` says why there is no answer. Errors that
    would make kube-scheduler give up the pod are not examined here. Raises ManifestError for a case of another form.
    """
    read = read_case(case)
    # the intended rules with the gates of a case that was recorded from 1.36
    release = KubernetesRelease(INTENDED, {**_GATES_OF_1_36, **read.features})
    # each constraint at exactly its attribute
    drawn = [exact_sketch(claim.spec, claim.metadata.name or "claim") for claim in read.claims]
    several = {str(number): sketch for number, sketch in enumerate(drawn)}
    joined = drawn[0] if len(drawn) == 1 else join_sketches(several, "pod")
    rules = Rules(read.cluster, joined, release, Matching(read.cluster, release, read.cluster.class_by_name))
    return {"id": read.id, "results": {node.name: _answer(rules, node.name, read.claims) for node in read.nodes}}


def _answer(rules: Rules, node_name: str, claims: tuple[ResourceClaim, ...]) -> dict[str, Any]:
    try:
        if not rules.sketch.requests:
            results = tuple(AllocationResult() for _ in claims)
            return {"allocation": list(map(msgspec.to_builtins, results)), "error": "", "proof": "allocation"}
        refuse_claim(rules.sketch)
        found = eligibility(rules, node_name)
        refuse_devices(rules, found)
        problem = build_problem(rules.sketch, found, localities(rules.cluster, node_name), paired=False)
        if hopeless(problem):
            return {"allocation": None, "error": "", "proof": "count"}
        solution = solve_problem(problem, ("alternatives",), Budget())
        if solution.taken is None:
            return {"allocation": None, "error": "", "proof": "solver" if solution.infeasible else "allocation"}
        results = _allocations(rules, found, claims, solution.taken)
    except (DraLabError, AttemptAborted) as error:
        return {"allocation": None, "error": str(error), "proof": ""}
    return {"allocation": list(map(msgspec.to_builtins, results)), "error": "", "proof": "allocation"}


def _allocations(
    rules: Rules, found: NodeEligibility, claims: tuple[ResourceClaim, ...], devices: Devices
) -> tuple[AllocationResult, ...]:
    """Return what a solution writes into `status.allocation` of every claim.

    Raises AttemptAborted for a device whose node selector has more than one term (docs/semantics.md 3.12).
    """
    cluster, gates = rules.cluster, rules.gates
    view = view_node(cluster, found.node, gates, classes=rules.matching.classes)
    candidates = {candidate.id: candidate for candidate in view.candidates}
    needs = [claim_needs(number, claim, view, gates) for number, claim in enumerate(claims)]
    every = [need for claim in needs for request in claim.requests for need in request]
    taken: list[list[Taken]] = [[] for _ in claims]
    chosen: dict[tuple[int, int], int] = {}
    for ask, device in sorted(devices, key=lambda pair: (pair[0], candidates[pair[1]].index)):
        need, part = every[ask], found.asks[ask]
        uses = {key: to_nano(amount) for key, amount in part.uses[device].items()} if device in part.uses else None
        taken[need.claim].append(Taken(need, candidates[device], uses))
        names = [request[0].request for request in needs[need.claim].requests]
        chosen[need.claim, names.index(need.request)] = part.ask.rank
    return tuple(
        allocation_result(claim, number, taken[number], chosen, found.node, gates) for number, claim in enumerate(needs)
    )
