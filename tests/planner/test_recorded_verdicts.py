"""Where the planner says that a claim fits, kube-scheduler allocated it, and the other way round (recorded, 1.36.2)."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest

from dra_lab.authoring.read_back import sketch_of
from dra_lab.checks.plans import check_plan
from dra_lab.errors import DraLabError, SketchError, UnsupportedFeature
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import ResourceSlice
from dra_lab.planner import make_plan
from dra_lab.scheduler.first_fit import first_fit

CASES = Path(__file__).parents[1] / "conformance" / "allocation.ndjson.gz"
EVERY = int(os.environ.get("DRA_LAB_EVERY_CASE", "12"))
PARTS = 4

LEAKED = ("mig-open-1-44", "mig-open-1-302", "mig-open-1-1122", "counters-open-2-726")
"""1.36 keeps what a rejected candidate drew from counters, and says no although the claim fits (rule 62, #140431)."""

_APART = (
    18,
    34,
    130,
    194,
    242,
    370,
    802,
    866,
    882,
    898,
    946,
    962,
    1394,
    1410,
    1442,
    1602,
    1618,
    1650,
    1730,
    1794,
    1826,
    1906,
)
FORGOTTEN = (
    "aligned-open-1-1878",
    "fabric-open-1-947",
    "partly-open-2-1550",
    *(f"apart-open-2-{number}" for number in _APART),
)
"""1.36 compares only the last device of a request for distinctAttribute, and grants what it should not (3.9 D5)."""

EMPTY = tuple(f"odd-open-2-{number}" for number in (12, 220, 524, 604, 956, 1452, 1676, 1788, 1884))
"""An empty text as PCIe root equals itself for kube-scheduler; here it stands for "not known", as drivers mean it."""


def recorded(part: int):
    with gzip.open(CASES) as lines:
        for number, line in enumerate(lines):
            if number % (EVERY * PARTS) == part * EVERY:
                yield json.loads(line)


@cache
def exceptions() -> dict[str, dict]:
    """Read the cases on which 1.36.2 and the planner differ."""
    names = {*LEAKED, *FORGOTTEN, *EMPTY}
    with gzip.open(CASES) as lines:
        cases = (json.loads(line) for line in lines if line[7 : line.index(b'"', 7)].decode() in names)
        return {case["id"]: case for case in cases}


def cluster_of(case) -> Cluster:
    return Cluster(
        msgspec.convert(case["slices"], tuple[ResourceSlice, ...]),
        msgspec.convert(case["classes"], tuple[DeviceClass, ...]),
        msgspec.convert(case["nodes"], tuple[Node, ...]),
        msgspec.convert(case["allocated"], tuple[ResourceClaim, ...]),
    )


def planned(case):
    """Return the cluster, the only claim, the release, and the plan for every node."""
    cluster, release = cluster_of(case), KubernetesRelease("1.36", case.get("features", {}))
    (claim,) = msgspec.convert(case["claims"], tuple[ResourceClaim, ...])
    sketch = sketch_of(claim.spec, "recorded")
    return cluster, claim, release, {n: make_plan(cluster, sketch, release=release, node=n) for n in case["expect"]}


def verdicts(case, node: str) -> tuple[bool, bool]:
    """Return whether kube-scheduler allocated on a node, and whether it gave up the pod there."""
    expected = case["expect"][node]
    return expected["allocation"] is not None, bool(expected["error"])


@pytest.mark.parametrize("part", range(PARTS))
def test_fits_where_kube_scheduler_allocates(part):
    """The planner and the recorded verdict agree on every node of every case of one claim, but for known defects."""
    told: Counter[str] = Counter()
    for case in recorded(part):
        if len(case["claims"]) != 1 or not case["claims"][0]["spec"].get("devices", {}).get("requests"):
            told["several claims, or no request"] += 1
            continue
        try:
            cluster, _, release, plans = planned(case)
        except (UnsupportedFeature, SketchError) as error:
            told[getattr(error, "feature", "no drawing")] += 1
            continue
        except DraLabError as error:
            told[type(error).__name__] += 1
            continue
        for node, plan in plans.items():
            allocated, gave_up = verdicts(case, node)
            if gave_up:
                told["given up"] += 1  # a failing selector or a violated All: told as a finding, not as a misfit
                continue
            told["compared"] += 1
            known = case["id"] in (*LEAKED, *FORGOTTEN, *EMPTY)
            assert known or plan.fits == allocated, f"{case['id']} on {node}: {plan.shortfalls}"
            assert check_plan(cluster, plan, release) == (), case["id"]
    print(dict(told))
    assert told["compared"]


@pytest.mark.parametrize("name", [*LEAKED, *FORGOTTEN])
def test_defects_decide_where_verdicts_differ(name):
    """Where 1.36.2 and the planner differ, kube-scheduler without its defects agrees with the planner, node by node."""
    case = exceptions()[name]
    cluster, claim, release, plans = planned(case)
    gates = {"DRADeviceTaintRules": False, "DRAFractionalCapacityRange": False, **release.gates}
    mended = KubernetesRelease("1.37", gates)
    differing = [node for node, plan in plans.items() if plan.fits != verdicts(case, node)[0]]
    assert differing
    for node in differing:
        assert plans[node].fits == (name in LEAKED)
        assert check_plan(cluster, plans[node], release) == ()
        verdict = first_fit(cluster, node, [claim], mended)
        assert (verdict.status is FirstFitStatus.ALLOCATED) == plans[node].fits, verdict.message


@pytest.mark.parametrize("name", EMPTY)
def test_empty_root_is_not_known(name):
    """A root that is an empty text is not known; the planner then says no where kube-scheduler says yes."""
    case = exceptions()[name]
    _, _, _, plans = planned(case)
    for node, plan in plans.items():
        assert plan.fits == verdicts(case, node)[0] or any("PCIe root" in s.message for s in plan.shortfalls)
