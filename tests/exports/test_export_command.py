"""`dra-lab export`: a folder for Git from the command line."""

from __future__ import annotations

import json

import pytest
import yaml

from dra_lab.cli import main

CLAIM = ("sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs")


def test_a_pinned_folder_says_that_first_fit_does_what_is_planned(tmp_path, capsys):
    """The answer and paths on standard output, findings on standard error, the replay and the pins in plan.json."""
    assert main(["export", *CLAIM, "--dir", str(tmp_path), "--pin", "--report"]) == 0
    output = capsys.readouterr()
    assert f"\n  - {tmp_path / 'plan.json'}\n" in output.out
    assert "1 of 1 as planned" in output.err
    record = json.loads((tmp_path / "plan.json").read_text())
    assert record["loop"]["asPlanned"] is True
    assert [pin["pin"] for pin in record["pins"]] == ["nic together on one NUMA node"]
    assert "![The plan on" in (tmp_path / "README.md").read_text()


def test_what_first_fit_does_otherwise_is_a_warning(tmp_path, capsys):
    main(["export", *CLAIM, "--dir", str(tmp_path)])
    assert "warning: kube-scheduler: 0 of 1 as planned" in capsys.readouterr().err


def test_version_kind_and_namespace_are_chosen(tmp_path):
    options = [
        "--api-version",
        "v1beta1",
        "--kind",
        "claim",
        "--namespace",
        "team-a",
        "--example",
        "deployment",
        "--allow-worse",
    ]
    assert main(["export", *CLAIM, "--dir", str(tmp_path), *options]) == 0
    claim = yaml.safe_load((tmp_path / "resourceclaim.yaml").read_text())
    assert (claim["apiVersion"], claim["metadata"]["namespace"]) == ("resource.k8s.io/v1beta1", "team-a")
    assert (tmp_path / "deployment.yaml").exists()


@pytest.mark.parametrize(
    "options", [["--patch"], ["--feature-gates", "DRADerivedAttributes"], ["--feature-gates", "Other=true"]]
)
def test_options_that_mean_nothing_are_refused_before_anything_is_written(tmp_path, options):
    assert main(["export", *CLAIM, "--dir", str(tmp_path / "new"), *options]) == 2
    assert not (tmp_path / "new").exists()


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  replicas: 3
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers: [{name: main, image: example/train:1}]
"""


def test_a_workload_is_planned_with_its_own_replicas(tmp_path, capsys):
    """What is run on the copy of kube-scheduler is what the Deployment will run; --replicas says otherwise."""
    (tmp_path / "work.yaml").write_text(DEPLOYMENT)
    options = ["--workload", str(tmp_path / "work.yaml"), "--allow-worse"]
    assert main(["export", *CLAIM, "--dir", str(tmp_path / "own"), *options]) == 0
    assert json.loads((tmp_path / "own" / "plan.json").read_text())["loop"]["wanted"] == 3
    assert "3 replicas are planned" in capsys.readouterr().err
    assert main(["export", *CLAIM, "--replicas", "2", "--dir", str(tmp_path / "two"), *options]) == 0
    assert json.loads((tmp_path / "two" / "plan.json").read_text())["loop"]["wanted"] == 2


def test_an_example_beside_a_workload_is_refused(tmp_path):
    """The patched copy takes its place, so an example beside it would only confuse."""
    (tmp_path / "work.yaml").write_text(DEPLOYMENT)
    options = ["--workload", str(tmp_path / "work.yaml"), "--example", "job"]
    assert main(["export", *CLAIM, "--dir", str(tmp_path / "new"), *options]) == 2
    assert not (tmp_path / "new").exists()
