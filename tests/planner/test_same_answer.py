"""The same question has the same answer in every process."""

import os
import subprocess
import sys

import pytest
from code_of import code_of


def question():
    """Print a plan and a fleet."""
    import json

    from dra_lab import KubernetesRelease, Workload, load_cluster, make_plan, plan_fleet, read_sketch
    from dra_lab.words.plan_json import plan_json

    cluster, release = load_cluster("sample:dgx-h100"), KubernetesRelease("1.36")
    sketch = read_sketch("sample:dgx-h100/gpu-nic-cpu")
    fleet = plan_fleet(cluster, [Workload("w", (sketch,), 9)], release=release)
    print(json.dumps(plan_json(make_plan(cluster, sketch, release=release))))
    print([(r.node, [str(p.device) for p in r.placements]) for r in fleet.replicas])


@pytest.fixture(scope="module")
def answers():
    def ask(seed):
        return subprocess.run(
            [sys.executable, "-c", code_of(question)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    return [ask(seed) for seed in ("1", "2")]


def test_plans_do_not_depend_on_the_hashes_of_texts(answers):
    """Python hashes texts differently in every process; a plan and a fleet take the same devices all the same."""
    assert answers[0] == answers[1]
    assert "dgx-0" in answers[0]
