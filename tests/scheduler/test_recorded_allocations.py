"""The verdicts recorded from the structured allocator of Kubernetes 1.36.2, family by family."""

from __future__ import annotations

import gzip
import json
from functools import cache
from operator import itemgetter
from pathlib import Path

import pytest

from dra_lab.model.quantity import parse_quantity
from dra_lab.scheduler.replay_allocator import replay_allocation

CASES = Path(__file__).parents[1] / "conformance"
JULY = "allocation-1.37-2026-07"
FAMILIES = (
    *("admin", "aligned", "all", "apart", "binding", "capacity", "config", "counters", "cpu", "fabric", "gates"),
    *("generations", "ladder", "limit", "lists", "mig", "mixed", "odd", "pairs", "partly", "pernode", "shared"),
)


@cache
def recorded(name: str) -> dict[str, list[bytes]]:
    """Read the lines of recorded cases by family; the family is the first word of the id, which begins a line."""
    found: dict[str, list[bytes]] = {}
    for line in gzip.decompress((CASES / name).read_bytes()).splitlines():
        family = line[: line.index(b"-")].removeprefix(b'{"id":"').decode()
        found.setdefault(family, []).append(line)
    return found


def explained() -> dict[str, str]:
    """Read which later changes of 1.37 explain that a case differs from the library of July 2026."""
    return dict(row.split("\t") for row in (CASES / f"{JULY}.explained.tsv").read_text().splitlines()[1:])


def comparable(allocation: list[dict] | None) -> list | None:
    """Keep what must agree: devices and configuration in order, the node selector whatever its order."""
    if allocation is None:
        return None
    return [
        {
            "results": [comparable_device(device) for device in result.get("devices", {}).get("results", [])],
            "config": result.get("devices", {}).get("config", []),
            "selector": [
                sorted(
                    (part, e["key"], e["operator"], sorted(e.get("values", [])))
                    for part in ("matchFields", "matchExpressions")
                    for e in term.get(part) or []
                )
                for term in result.get("nodeSelector", {}).get("nodeSelectorTerms", [])
            ],
        }
        for result in allocation
    ]


def comparable_device(device: dict) -> dict:
    """Compare quantities by value and leave out shareIDs, which are random in Kubernetes."""
    consumed = {key: parse_quantity(amount) for key, amount in device.get("consumedCapacity", {}).items()}
    kept = {key: value for key, value in device.items() if key not in ("shareID", "consumedCapacity") and value}
    return {**kept, "consumed": consumed}


def disagreement(case: dict, answer: dict) -> str:
    """Say where an answer differs from the recorded verdict, or ""."""
    for node, want in case["expect"].items():
        got = answer["results"][node]
        if bool(got["error"]) != bool(want["error"]):
            return f"{case['id']} on {node}: error {got['error']!r}, recorded {want['error']!r}"
        if not want["error"] and comparable(got["allocation"]) != comparable(want["allocation"]):
            return f"{case['id']} on {node}: {got['allocation']}, recorded {want['allocation']}"
    return ""


def as_document(answer: dict) -> dict:
    """Turn an answer into what a reader of its JSON sees."""
    return json.loads(json.dumps(answer))


def test_the_families_are_those_of_the_file():
    """Every recorded family is replayed, none is forgotten."""
    assert sorted(recorded("allocation.ndjson.gz")) == sorted(FAMILIES)
    assert sum(map(len, recorded("allocation.ndjson.gz").values())) == 4881


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_verdict_agrees(family):
    """Same devices in the same order, tolerations, conditions, configuration, node selector; same attempts given up."""
    cases = list(map(json.loads, recorded("allocation.ndjson.gz")[family]))
    wrong = [text for case in cases if (text := disagreement(case, as_document(replay_allocation(case))))]
    assert not wrong, f"{len(wrong)} of {len(cases)} disagree; the first: {wrong[0]}"


@pytest.mark.some(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_1_37_differs_from_the_library_of_july_2026_in_the_explained_cases_alone(family):
    """The changes that explain a case are in `.explained.tsv`; docs/semantics.md has their pull requests."""
    july = dict(map(itemgetter("id", "results"), map(json.loads, recorded(f"{JULY}.expect.ndjson.gz")[family])))
    cases = map(json.loads, recorded("allocation.ndjson.gz")[family])
    answered = ((case, as_document(replay_allocation(case, "1.37.0", time_limit=120))) for case in cases)
    found = {case["id"] for case, answer in answered if disagreement({**case, "expect": july[case["id"]]}, answer)}
    assert found == {case for case in explained() if case.startswith(f"{family}-")}


def test_every_explanation_is_a_change_after_july_2026():
    """Several changes of one case explain it together."""
    named = {change for changes in explained().values() for change in changes.split()}
    assert named == {"distinct", "reject", "back", "all", "pools"}


def test_verdicts_of_all_rules_mixed_agree():
    """All rules mixed, asked of the same allocator: broken pools, counters, shares, gates off."""
    cases = list(map(json.loads, recorded("allocation-rules.ndjson.gz")["rules"]))
    wrong = [text for case in cases if (text := disagreement(case, as_document(replay_allocation(case))))]
    assert not wrong, f"{len(wrong)} of {len(cases)} disagree; the first: {wrong[0]}"


def test_hard_cases_agree_or_stop():
    """A search at its limit says so with an error; it never says that the claims do not fit."""
    agree = stopped = 0
    for line in (line for lines in recorded("allocation-hard.ndjson.gz").values() for line in lines):
        case = json.loads(line)
        answer = as_document(replay_allocation(case, step_limit=3_000, time_limit=5))
        for node, got in answer["results"].items():
            one = {**case, "expect": {node: case["expect"][node]}}
            if got["error"].startswith("stopped after"):
                assert got["allocation"] is None
                stopped += 1
            else:
                assert not disagreement(one, answer)
                agree += 1
    assert agree > 0
    assert stopped > 0
