"""The same question has the same answer in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

QUESTION = """
from dra_lab import KubernetesRelease, Workload, load_cluster, make_plan, read_sketch
from dra_lab.planner.fleet import plan_fleet

cluster, release = load_cluster("sample:dgx-h100"), KubernetesRelease("1.36")
sketch = read_sketch("sample:dgx-h100/gpu-nic-cpu")
print(make_plan(cluster, sketch, release=release).placements)
fleet = plan_fleet(cluster, [Workload("w", (sketch,), 9)], release=release)
print([(replica.node, [str(placement.device) for placement in replica.devices]) for replica in fleet.pods])
"""


def answer(seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run([sys.executable, "-c", QUESTION], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_plans_do_not_depend_on_the_hashes_of_texts():
    """Python hashes texts differently in every process; a plan and a fleet take the same devices all the same."""
    first, second = map(answer, "12")
    assert first == second
    assert "dgx-0" in first
