"""First fit of later patch levels, held against the recorded allocators of 1.36.3 and of 1.37 in July 2026."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scheduler.test_recorded_allocations import CASES, as_document, disagreement

from dra_lab import load_cluster, make_plan, read_sketch
from dra_lab.cli import main
from dra_lab.scheduler.replay_allocator import replay_allocation

REPRO = Path(__file__).parents[1] / "repro"
CUT_OFF = "mig-open-1-710"
"""A case of which a search was ended before it had an answer."""


class Verdict(msgspec.Struct):
    """What is read of each recorded case before it is known whether it is needed."""

    id: str
    expect: dict[str, Any]


def lines(name):
    return gzip.decompress((CASES / name).read_bytes()).splitlines()


def expected(name, *, changed=False):
    """Return the cases of 1.36.2, or those that `changed`, with the verdicts of another allocator."""
    other = {answer["id"]: answer["results"] for answer in map(json.loads, lines(name))}
    cases = ((line, msgspec.json.decode(line, type=Verdict)) for line in lines("allocation.ndjson.gz"))
    asked = ((line, other[case.id]) for line, case in cases if not (changed and other[case.id] == case.expect))
    return [case for line, answer in asked if (case := {**json.loads(line), "expect": answer})["id"] != CUT_OFF]


def wrong(cases, release):
    """Return the ids of cases that a release answers in another way."""
    return {case["id"] for case in cases if disagreement(case, as_document(replay_allocation(case, release)))}


def test_the_verdicts_that_changed_with_1_36_3_agree():
    """1.36.2 has none of them."""
    changed = expected("allocation-1.36.3.expect.ndjson.gz", changed=True)
    assert not wrong(changed, "1.36.3")
    assert len(wrong(changed, "1.36.2")) == len(changed) == 20


@pytest.mark.long
def test_every_verdict_of_1_36_3_agrees():
    """No exception in 4,880 cases."""
    assert not wrong(expected("allocation-1.36.3.expect.ndjson.gz"), "1.36.3")


@pytest.mark.long
def test_1_37_differs_from_its_july_only_by_later_changes():
    """These are distinctAttribute (3.9.18) and counters (3.10.8); docs/semantics.md lists them."""
    cases = expected("allocation-1.37-2026-07.expect.ndjson.gz")
    found = wrong(cases, "1.37.0")
    later = [case for case in cases if case["id"] in found]
    distinct = [case for case in later if "distinctAttribute" in json.dumps(case["claims"])]
    counters = [case for case in later if case not in distinct and "consumesCounters" in json.dumps(case["slices"])]
    rest = found - {case["id"] for case in (*distinct, *counters)}
    assert (len(distinct), len(counters), rest) == (45, 16, {"shared-open-1-2717"})


def test_a_configuration_for_every_request_names_none_from_1_37(capsys):
    """Those of classes too."""
    answers = {}
    for release in ("1.36.3", "1.37.0"):
        assert main(["replay", str(REPRO / "config-137" / "case.ndjson"), "--release", release]) == 0
        (result,) = json.loads(capsys.readouterr().out)["results"]["n0"]["allocation"]
        answers[release] = [entry.get("requests") for entry in result["devices"]["config"]]
    assert answers == {"1.36.3": [["a"], ["a"], None], "1.37.0": [None, None, None]}


@pytest.mark.parametrize(
    ("release", "fits"), [("1.36.2", "none"), ("1.36.3", "allocated"), ("1.36", "allocated"), (None, "allocated")]
)
def test_kubelets_of_1_36_3_have_the_counter_fixes(release, fits):
    """The cluster's patch level decides where no release is given."""
    cluster = load_cluster(REPRO / "counters-1363" / "cluster")
    plan = make_plan(cluster, read_sketch(REPRO / "counters-1363" / "claim.yaml"), release=release)
    assert plan.fits
    assert plan.first_fit.status.value == fits
