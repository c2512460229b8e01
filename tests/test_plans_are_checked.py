"""What holds plans holds all of them: a broken one fails the test that was handed it, whoever asked and wherever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import plans_held
import pytest
from plans_held import FOLDER, from_processes

from dra_lab import load_cluster, make_plan, read_sketch

HERE = Path(__file__).parent

TAMPER = '''
"""A planner that gives what it has found to another request, in this process."""
from dataclasses import replace
from msgspec.structs import replace as changed

import dra_lab.planner.answer as single
import dra_lab.planner.fleet.placing as fleet
import dra_lab.planner.plan_claim
from dra_lab import load_cluster, make_plan, plan_fleet, read_sketch, Session, Workload

found, replicas = single.plan_of_fit, fleet.replicas_of

def tampered(work):
    plan = found(work)
    return replace(plan, placements=(plan.placements[0],) * len(plan.placements))

def twice(*asked):
    made = replicas(*asked)
    return (*made[:-1], changed(made[-1], node=made[0].node, placements=made[0].placements))

single.plan_of_fit, fleet.replicas_of = tampered, twice
cluster, pairs = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
'''

TESTS = (
    TAMPER
    + """
from dra_lab.planner.plan_claim import make_plan as by_its_own_path

def test_asked():
    make_plan(cluster, pairs)

def test_asked_by_another_name():
    by_its_own_path(cluster, pairs, node=cluster.node_names[0])

def test_session():
    session = Session(cluster, sketch=pairs)
    session.wait()
    session.close()

def test_fleet():
    plan_fleet(cluster, [Workload("pairs", (pairs,), 3)], first_fit=False)

def test_command_line():
    from dra_lab.cli.main import main
    main(["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"])

def test_patched_while_it_is_asked(monkeypatch):
    monkeypatch.setattr("dra_lab.checks.plans.check_plan", lambda *_: ())
    make_plan(cluster, pairs)

def test_honest(monkeypatch):
    monkeypatch.setattr(single, "plan_of_fit", found)
    make_plan(cluster, pairs)
"""
)


def test_a_broken_plan_fails_its_test_however_it_was_asked_for(tmp_path):
    """Each test of a tampered planner fails after its end, the one whose planner is honest passes."""
    file = tmp_path / "test_tampered.py"
    file.write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "plans_are_checked", "-p", "no:cacheprovider"]
    paths = os.pathsep.join((str(HERE), os.environ["PYTHONPATH"]))
    done = subprocess.run(
        [*command, "-p", "no:randomly", "--rootdir", str(tmp_path), str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    told = {line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")}
    asked = set(re.findall(r"def (test_\w+)", TESTS)) - {"test_honest"}
    assert told == {f"ERROR test_tampered.py::{name}" for name in asked}, done.stdout + done.stderr
    assert "plan-taken-twice" in done.stdout


@pytest.fixture
def elsewhere() -> Path:
    """Give the folder where other processes write what they held, as this test finds it: empty."""
    folder = Path(os.environ[FOLDER])
    from_processes(folder)
    return folder


@pytest.mark.parametrize(
    ("prepared", "rules"), [(TAMPER, True), ("from dra_lab import *", False)], ids=["tampered", "honest"]
)
def test_a_process_that_a_test_starts_holds_its_plans(elsewhere, prepared, rules):
    """A plan of another process is held before that process has it, and what it breaks is known to the test."""
    code = prepared + "\nmake_plan(load_cluster('sample:eks-p4d'), read_sketch('sample:eks-p4d/gpu-nic-pairs'))"
    subprocess.run([sys.executable, "-c", code], check=True)
    number, lines = from_processes(elsewhere)
    assert number == 1
    assert any("plan-taken-twice" in line for line in lines) == rules


def test_the_kernel_of_a_notebook_holds_its_plans(elsewhere):
    """Kernels are started with the environment of the tests, so that notebooks hand out nothing that was not held."""
    client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed: pip install dra-lab[test]")
    manager, kernel = client.manager.start_new_kernel()
    try:
        reply = kernel.execute_interactive(TAMPER + "\nmake_plan(cluster, pairs)", timeout=60, output_hook=print)
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok"
    _, lines = from_processes(elsewhere)
    assert any("plan-taken-twice" in line for line in lines)


def test_an_answer_that_is_given_again_is_held_once(monkeypatch):
    """The same plan for the same question is held once; for another cluster it is held anew."""
    cluster, sketch = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan, held = make_plan(cluster, sketch), []
    monkeypatch.setattr(plans_held, "broken", lambda handed: held.append(handed.asked["cluster"].name) or [])
    collector = plans_held.Collector()
    for on in (cluster, load_cluster("sample:eks-p4d"), replace(cluster, name="other")):
        again = replace(plan, seconds=plan.seconds + 1.0)
        collector.take(plans_held.Handed("make_plan", {"cluster": on, "claims": sketch}, again))
    assert (collector.hold(), held, collector.held) == ([], [cluster.name, "other"], 3)
