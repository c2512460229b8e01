"""Where the planner says that claims fit, kube-scheduler allocated them, and the other way round (recorded, 1.36.2)."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest

from dra_lab.checks.plans import check_plan
from dra_lab.model.allocation import AllocationResult
from dra_lab.model.names import part_of
from dra_lab.model.plan import FirstFitStatus, Placement, Plan, PlanStatus
from dra_lab.planner.recorded_cases import intended_release, recorded_rules, replay_feasibility, solve_node
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.replay_allocator import read_case

CONFORMANCE = Path(__file__).parents[1] / "conformance"
EVERY = int(os.environ.get("DRA_LAB_EVERY_CASE", "1"))
"""Look at every k-th recorded case only; all of them take 45 s on one core."""
PARTS = 8

LEAKED = {
    "mig-open-1-44": ("node-1",),
    "mig-open-1-302": ("node-1", "node-2"),
    "mig-open-1-738": ("node-1",),
    "mig-open-1-829": ("node-1",),
    "mig-open-1-1122": ("node-0",),
    "mig-open-1-2129": ("node-0",),
    "mig-open-1-2970": ("node-1", "node-2"),
    "mixed-open-1-1478": ("node-0",),
    "counters-open-2-6": ("n0",),
    "counters-open-2-54": ("n0",),
    "counters-open-2-230": ("n0",),
    "counters-open-2-726": ("n0",),
}
"""Rule 62: 1.36 keeps what a rejected candidate drew from counters (or shares them between drivers), and says no."""

_APART = (
    *(18, 34, 130, 194, 242, 370, 802, 866, 882, 898, 946, 962, 1394, 1410, 1442),
    *(1602, 1618, 1650, 1730, 1794, 1826, 1906),
)
FORGOTTEN = {
    "aligned-open-1-1244": ("node-0",),
    "aligned-open-1-1878": ("node-0",),
    "fabric-open-1-947": ("node-0", "node-1"),
    "lists-open-1-2405": ("node-0",),
    "partly-open-2-1550": ("n0",),
    **{f"apart-open-2-{number}": ("n0",) for number in _APART},
}
"""3.9 D5: 1.36 compares only the last device of a request for distinctAttribute, and grants what it should not."""


def recorded(name: str, part: int = 0, parts: int = 1):
    with gzip.open(CONFORMANCE / f"{name}.ndjson.gz") as lines:
        for number, line in enumerate(lines):
            if number % (EVERY * parts) == part * EVERY:
                yield json.loads(line)


@cache
def exceptions() -> dict[str, dict]:
    """Read the cases on which 1.36.2 and the planner differ."""
    names = {*LEAKED, *FORGOTTEN}
    with gzip.open(CONFORMANCE / "allocation.ndjson.gz") as lines:
        cases = (json.loads(line) for line in lines if line[7 : line.index(b'"', 7)].decode() in names)
        return {case["id"]: case for case in cases}


class Recorded:
    """A recorded case, answered by the planner node by node under the intended rules."""

    def __init__(self, case) -> None:
        read = read_case(case)
        self.cluster, self.claims, self.expect = read.cluster, read.claims, case["expect"]
        self.release = intended_release(read.features)
        self.rules = recorded_rules(self.cluster, self.claims, self.release)

    def plan(self, node: str, placements) -> Plan:
        return Plan(PlanStatus.FEASIBLE, self.rules.sketch, node=node, placements=tuple(placements))

    def solved(self, node: str) -> Plan | None:
        """Return the planner's allocation on a node, None where it proves that there is none."""
        solution, _, found = solve_node(self.rules, node)
        assert solution.infeasible == (solution.taken is None)
        if solution.taken is None:
            return None
        placements = []
        for ask, device in solution.taken:
            claim, request = part_of(found.asks[ask].ask.reference)
            placements.append(Placement(request, device, claim=claim))
        return self.plan(node, placements)

    def granted(self, node: str) -> Plan:
        """Return what kube-scheduler 1.36.2 allocated on a node."""
        placements = []
        for number, result in enumerate(self.expect[node]["allocation"]):
            claim = str(number) if len(self.claims) > 1 else ""
            for device in msgspec.convert(result, AllocationResult).devices.results:
                placements.append(Placement(device.request, device.id, claim=claim))
        return self.plan(node, placements)

    def broken(self, plan: Plan) -> tuple:
        return check_plan(self.cluster, plan, self.release)


@pytest.mark.parametrize("part", range(PARTS))
def test_fits_where_kube_scheduler_allocates(part):
    """On every node of every case without an error the planner agrees with 1.36.2, but for the defects told here."""
    counts: Counter[str] = Counter()
    for case in recorded("allocation", part, PARTS):
        found = Recorded(case)
        known = {**LEAKED, **FORGOTTEN}.get(case["id"], ())
        for node, expected in case["expect"].items():
            if expected["error"]:
                counts["given up"] += 1
                continue
            plan = found.solved(node) if found.rules.sketch.requests else found.plan(node, ())
            counts["compared"] += 1
            counts["differ"] += node in known
            assert ((plan is not None) == (expected["allocation"] is not None)) != (node in known), (case["id"], node)
            assert plan is None or found.broken(plan) == (), (case["id"], node)
    print(dict(counts))
    assert counts["compared"]


@pytest.mark.parametrize("name", LEAKED)
def test_leaked_counters_decided(name):
    """Where 1.36.2 says no and the planner yes, the plan keeps every rule, and the search without leaks finds one."""
    found = Recorded(exceptions()[name])
    for node in LEAKED[name]:
        plan = found.solved(node)
        assert plan is not None
        assert found.broken(plan) == ()
        verdict = first_fit(found.cluster, node, found.claims, found.release)
        assert verdict.status is FirstFitStatus.ALLOCATED, verdict.message


@pytest.mark.parametrize("name", FORGOTTEN)
def test_forgotten_values_decided(name):
    """Where 1.36.2 says yes and the planner no, what was granted breaks distinctAttribute, and a whole search fails."""
    found = Recorded(exceptions()[name])
    for node in FORGOTTEN[name]:
        assert found.solved(node) is None
        assert {finding.rule for finding in found.broken(found.granted(node))} == {"plan-link"}
        verdict = first_fit(found.cluster, node, found.claims, found.release)
        assert verdict.status is FirstFitStatus.NONE, verdict.message


def test_hard_cases_are_decided():
    """Each case on which kube-scheduler gives up after 10 s is answered as recorded."""
    for case in recorded("allocation-hard"):
        answer = replay_feasibility(case)["results"]
        for node, expected in case["expect"].items():
            if not expected["error"]:
                assert not answer[node]["error"]
                assert (answer[node]["allocation"] is None) == (expected["allocation"] is None), (case["id"], node)


def test_answers_are_allocations():
    """The answer of `--allocator ilp` has the form of `status.allocation`, one per claim, and says how it is proven."""
    for case in recorded("allocation", 0, 200):
        for answer in replay_feasibility(case)["results"].values():
            assert answer["proof"] in ("allocation", "count", "solver") or answer["error"]
            if answer["allocation"] is not None:
                read = msgspec.convert(answer["allocation"], tuple[AllocationResult, ...])
                assert len(read) == len(case["claims"])
