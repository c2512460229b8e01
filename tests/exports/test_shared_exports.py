"""Exports of inputs that once went wrong on a real kube-scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dra_lab.cli import main

REPRO = Path(__file__).parents[2] / ".." / "shared" / "repro"
pytestmark = pytest.mark.skipif(not REPRO.is_dir(), reason=f"the reference inputs are not here: {REPRO}")


def export(tmp_path, cluster, claim, *more):
    """Export with pins; return the exit status and what plan.json records."""
    status = main(["export", str(cluster), "--claim", str(REPRO / claim), "--dir", str(tmp_path), "--pin", *more])
    return status, json.loads((tmp_path / "plan.json").read_text())


def test_the_node_on_which_the_search_timed_out_is_excluded(tmp_path, capsys):
    """The pod is kept off b-odd, and no statement says that kube-scheduler gives it up."""
    status, _ = export(tmp_path, REPRO / "heavy.yaml", "eight.yaml")
    said = capsys.readouterr().err
    assert (status, "a-idle" in (tmp_path / "pod.yaml").read_text(), "give up" in said) == (0, True, False)


@pytest.mark.parametrize("replicas", [2, 3, 5])
def test_pins_of_devices_apart_place_every_pod(replicas, tmp_path):
    """A hostname as pin placed 2 of 5; one request per NUMA node, by the GPUs' own values, places all of them."""
    status, record = export(tmp_path, "sample:eks-p4d", "gpu2-apart.dralab.yaml", "--replicas", str(replicas))
    assert (status, record["loop"]["placed"], record["loop"]["kept"]) == (0, replicas, replicas)
    assert "nodeAffinity" not in (tmp_path / "deployment-gpu2-apart.yaml").read_text()


def test_a_readme_without_pins_does_not_say_that_none_are_needed(tmp_path):
    """Where no pins were found, the README of the folder says so."""
    export(tmp_path, "sample:eks-p4d", "gpu2-apart.dralab.yaml", "--replicas", "40", "--report", "--allow-worse")
    record, text = json.loads((tmp_path / "plan.json").read_text()), (tmp_path / "README.md").read_text()
    assert ("allocates the plan without any" in text) == (not record["pins"] and record["loop"]["asPlanned"])


@pytest.mark.long
def test_pins_place_as_many_pods_as_planned(tmp_path):
    """Six of eight were planned; 4 were placed. Alternatives for each sort of replica serve all six as planned."""
    status, record = export(tmp_path, "sample:mi300x", "s119.dralab.yaml", "--replicas", "8")
    assert (status, record["loop"]["placed"], record["loop"]["kept"]) == (1, 6, 6)
    assert record["loop"]["asPlanned"]


@pytest.mark.parametrize("cluster", ["sample:oke-gb200", "sample:eks-p4d"])
@pytest.mark.parametrize("claim", ["gb-first.dralab.yaml", "gpu-first.dralab.yaml"])
def test_a_manifest_that_is_not_served_as_planned_exits_1_and_so_does_check(cluster, claim, tmp_path, capsys):
    """`--allow-worse` exits 0 in both commands; a manifest that is served as planned exits 0 without it."""
    found = []
    for allowed in (["--allow-worse"], []):
        folder = str(tmp_path / "out")
        exported = main(["export", cluster, "--claim", str(REPRO / claim), "--dir", folder, *allowed])
        found.append((exported, main(["check", cluster, folder, *allowed])))
    record = json.loads((tmp_path / "out" / "plan.json").read_text())
    served = record["loop"]["kept"]
    assert found == ([(0, 0), (1, 1)] if not served else [(0, 0), (0, 0)]), capsys.readouterr().err
    if cluster == "sample:oke-gb200":
        assert (served, record["loop"]["wanted"]) == (0, 1)
