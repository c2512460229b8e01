"""Where the planner says that claims fit, kube-scheduler allocated them, and the other way round (recorded, 1.36.2)."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from checked_plans import broken_rules

from dra_lab import KubernetesRelease, make_plan
from dra_lab.cli import main
from dra_lab.model.claims import AllocationResult
from dra_lab.model.placement import FirstFitStatus, Placement
from dra_lab.model.plan import PlanStatus, plan_of_pod
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.replay_allocator import read_case

CONFORMANCE = Path(__file__).parents[1] / "conformance"
EVERY = int(os.environ.get("DRA_LAB_EVERY_CASE", "1"))
"""Look at every k-th recorded case only; all of them take 45 s on one core."""
PARTS = 96

GATES_OF_1_36 = {"DRADeviceTaintRules": False, "DRAFractionalCapacityRange": False, "DRAListTypeAttributes": False}

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


def exceptions(names):
    """Read some of the cases on which 1.36.2 and the planner differ."""
    with gzip.open(CONFORMANCE / "allocation.ndjson.gz") as lines:
        yield from (json.loads(line) for line in lines if line[7 : line.index(b'"', 7)].decode() in names)


class Recorded:
    """A recorded case, answered node by node by `dra-lab replay --allocator ilp`, under the rules of 1.37."""

    def __init__(self, case, answer) -> None:
        read = read_case(case)
        self.cluster, self.claims, self.expect = read.cluster, read.claims, case["expect"]
        self.release = KubernetesRelease("1.37", {**GATES_OF_1_36, **read.features})
        self.answer = answer["results"]

    def solved(self, node: str) -> list[list[str]] | None:
        """Return the rules that the planner's allocation on a node breaks, None where it proves that there is none."""
        answer = self.answer[node]
        assert not answer["error"], answer
        return None if answer["allocation"] is None else self.broken(node, answer["allocation"])

    def broken(self, node: str, allocations) -> list[str]:
        """Return the rules that allocations of the claims on a node break."""
        placements = []
        for number, result in enumerate(allocations):
            claim = str(number) if len(self.claims) > 1 else ""
            for device in msgspec.convert(result, AllocationResult).devices.results:
                placements.append(Placement(device.request, device.id, claim=claim))
        given = {str(number): claim for number, claim in enumerate(self.claims)}
        asked = make_plan(self.cluster, given, release=self.release, time_limit=0)
        plan = plan_of_pod(PlanStatus.FEASIBLE, asked.sketch, node, tuple(placements))
        return broken_rules(self.cluster, plan, self.release)


def answered(cases, folder: Path, capsys) -> Iterator[Recorded]:
    """Yield cases with the answers of the command line."""
    cases = list(cases)
    path = folder / "cases.ndjson"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    capsys.readouterr()
    assert main(["replay", str(path), "--allocator", "ilp"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for case, line in zip(cases, lines, strict=True):
        yield case["id"], Recorded(case, json.loads(line))


@pytest.mark.parametrize("part", range(PARTS))
def test_fits_where_kube_scheduler_allocates(part, tmp_path, capsys):
    """On every node of every case without an error the planner agrees with 1.36.2, but for the defects named here."""
    counts: Counter[str] = Counter()
    for name, found in answered(recorded("allocation", part, PARTS), tmp_path, capsys):
        known = {**LEAKED, **FORGOTTEN}.get(name, ())
        for node, expected in found.expect.items():
            if expected["error"]:
                counts["given up"] += 1
                continue
            broken = found.solved(node)
            counts["compared"] += 1
            counts["differ"] += node in known
            assert ((broken is not None) == (expected["allocation"] is not None)) != (node in known), (name, node)
            assert not broken, (name, node)
    print(dict(counts))
    assert counts["compared"]


def test_leaked_counters_are_decided(tmp_path, capsys):
    """Where 1.36.2 says no and the planner yes, the plan keeps every rule, and the search without leaks finds one."""
    for name, found in answered(exceptions(LEAKED), tmp_path, capsys):
        for node in LEAKED[name]:
            assert found.solved(node) == [], name
            verdict = first_fit(found.cluster, node, found.claims, found.release)
            assert verdict.status is FirstFitStatus.ALLOCATED, verdict.message


def test_forgotten_values_are_decided(tmp_path, capsys):
    """Where 1.36.2 says yes and the planner no, what was granted breaks distinctAttribute, and a whole search fails."""
    for name, found in answered(exceptions(FORGOTTEN), tmp_path, capsys):
        for node in FORGOTTEN[name]:
            assert found.solved(node) is None
            granted = found.broken(node, found.expect[node]["allocation"])
            assert {line.split()[0] for line in granted} == {"plan-link"}
            verdict = first_fit(found.cluster, node, found.claims, found.release)
            assert verdict.status is FirstFitStatus.NONE, verdict.message


def test_hard_cases_are_decided(tmp_path, capsys):
    """Each case on which kube-scheduler gives up after 10 s is answered as recorded."""
    for name, found in answered(recorded("allocation-hard"), tmp_path, capsys):
        for node, expected in found.expect.items():
            if not expected["error"]:
                assert (found.solved(node) is None) == (expected["allocation"] is None), (name, node)


def test_answers_are_allocations(tmp_path, capsys):
    """An answer has the form of `status.allocation`, one per claim, and says how it is proven."""
    for name, found in answered(recorded("allocation", 0, 200), tmp_path, capsys):
        for answer in found.answer.values():
            assert answer["proof"] in ("allocation", "count", "solver") or answer["error"], name
            assert answer["allocation"] is None or len(answer["allocation"]) == len(found.claims), name
