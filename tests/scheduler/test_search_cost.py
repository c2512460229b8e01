"""The estimate of kube-scheduler's time is never below what was measured, and not far above it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dra_lab import KubernetesRelease
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import RECORDED_RELEASE
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.replay_allocator import read_case

HARD = Path(__file__).parents[1] / "conformance" / "allocation-hard.ndjson.gz"
MEASURABLE = 20
"""Milliseconds below which a measured time is mostly set-up."""

CASES = [json.loads(line) for line in gzip.decompress(HARD.read_bytes()).splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_estimate_is_below_the_measured_time(case):
    """For each recorded node: the estimate is at least the allocator's time, or is stopped at its limit of 1 s."""
    read = read_case(case)
    release = KubernetesRelease(RECORDED_RELEASE, read.features)
    for node, measured in case["allocatorMs"].items():
        if measured < MEASURABLE:
            continue
        found = first_fit(read.cluster, node, read.claims, release, step_limit=10**12, time_limit=60, search_limit=1.0)
        if measured > 1000:
            assert found.status is FirstFitStatus.STOPPED, node
        assert min(measured, 1000) <= 1000 * found.seconds <= 3 * measured, node
