"""Kueue's quota comes out as Kueue's own tests say it does.

`kueue_cases/resource_test.json` has the queues, the Cohorts, the usage and the expected amounts of
kubernetes-sigs/kueue v0.19.2 (8eab68778fc1, Apache-2.0), pkg/cache/scheduler/resource_test.go; `line` is the line
there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dra_lab.errors import InputError
from dra_lab.scheduler.kueue.quota import Quota, QuotaNode, QuotaTree, QuotaVerdict

CASES = json.loads((Path(__file__).parent / "kueue_cases" / "resource_test.json").read_text())

Case = dict[str, Any]
CPU = ("red", "cpu")


def quota(nominal: str, borrowing: str = "", lending: str = "") -> Quota:
    """Return a quota of CPUs in thousandths."""
    return Quota(int(nominal) * 1000, *(int(limit) * 1000 if limit else None for limit in (borrowing, lending)))


def quotas(given: Case) -> dict[tuple[str, str], Quota]:
    """Return the quotas of a queue or a Cohort."""
    return {(flavor, resource): quota(*amounts) for flavor, resource, *amounts in given["quotas"]}


def tree_of(case: Case) -> QuotaTree:
    """Return the queues and Cohorts of a case."""
    queues = []
    for one in case["clusterQueues"]:
        usage = {(flavor, name): amount for flavor, name, amount in case["usage"].get(one["name"], ())}
        queues.append(QuotaNode(one["name"], quotas(one), one.get("parent", ""), usage))
    cohorts = [QuotaNode(one["name"], quotas(one), one.get("parent", "")) for one in case["cohorts"]]
    return QuotaTree([*queues, *cohorts])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line {case['line']}")
@pytest.mark.parametrize("what", ["wantAvailable", "wantPotentiallyAvailable"])
def test_amounts_are_those_of_kueue(case: Case, what: str) -> None:
    """What is left, and what would be without usage, is the same for each queue, flavor and resource."""
    tree = tree_of(case)
    amount = tree.available if what == "wantAvailable" else tree.potential
    found = {
        queue: [[flavor, name, amount(queue, (flavor, name))] for flavor, name, _ in rows]
        for queue, rows in case[what].items()
    }
    assert found == case[what]


def test_a_request_takes_the_first_flavor_that_has_enough() -> None:
    """All resources of a group come from one flavor, in the order of the queue."""
    tree = QuotaTree([QuotaNode("cq", {CPU: quota("1"), ("blue", "cpu"): quota("4")}, usage={})])
    answer = tree.answer("cq", [["cpu"]], {"cpu": 2000})
    assert (answer.verdict, answer.flavors) == (QuotaVerdict.FITS, {"cpu": "blue"})


@pytest.mark.parametrize(("wanted", "verdict"), [(1000, "fits"), (2000, "waits"), (3000, "never")])
def test_too_much_waits_or_never_fits(wanted: int, verdict: str) -> None:
    """A request within the quota but not within its rest waits; a request above the quota never fits."""
    tree = QuotaTree([QuotaNode("cq", {CPU: quota("2")}, usage={CPU: 1000})])
    assert tree.answer("cq", [["cpu"]], {"cpu": wanted}).verdict == verdict


def test_a_resource_that_no_group_covers_never_fits() -> None:
    """A device class without a mapping has no quota at all."""
    tree = QuotaTree([QuotaNode("cq", {CPU: quota("2")}, usage={})])
    assert tree.answer("cq", [["cpu"]], {"gpus": 1}).short == {"gpus": ""}


def test_cohorts_in_a_cycle_are_refused() -> None:
    """Kueue stops such Cohorts, so the answer names the cycle."""
    with pytest.raises(InputError, match="a -> b -> a"):
        QuotaTree([QuotaNode("a", parent="b"), QuotaNode("b", parent="a")])
