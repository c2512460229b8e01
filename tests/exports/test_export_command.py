"""`dra-lab export`: a folder for Git from the command line."""

from __future__ import annotations

import json

import pytest
import yaml
from small_manifests import workload

from dra_lab import KubernetesRelease, load_cluster, read_sketch
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.exports.bundle import Wanted, make_bundle
from dra_lab.exports.simulation import exit_status
from dra_lab.sketch.claim_objects import Target

APART = """\
apiVersion: dra-lab/v1
kind: Drawing
sketch:
  name: apart
  requests:
  - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
  links:
  - {name: link, requests: [gpu], where: numaNode, how: apart, must: true}
"""
MANY = """\
apiVersion: dra-lab/v1
kind: Drawing
sketch:
  name: many
  requests:
  - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2000000000}}
  - {name: nic, exactly: {deviceClassName: dranet, count: 2000000000}}
"""
CLAIM = ("sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs")


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


DEPLOYMENT = workload("train", fields=["replicas: 3"])


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


def test_a_must_link_that_is_not_kept_sets_status_1(tmp_path):
    """These GPUs publish no NUMA node, so that no constraint keeps them apart; selectors of their own values do."""
    claim = tmp_path / "apart.dralab.yaml"
    claim.write_text(APART)
    command = ["export", "sample:eks-p4d", "--claim", str(claim), "--replicas", "3", "--dir"]
    assert main([*command, str(tmp_path / "plain")]) == 1
    assert main([*command, str(tmp_path / "pinned"), "--pin"]) == 0


@pytest.mark.parametrize(
    ("outcome", "as_planned", "status", "allowed"),
    [
        ("fits", True, 0, 0),
        ("fits", False, 1, 0),
        ("fits", None, 2, 0),
        ("does-not-fit", False, 1, 1),
        ("stopped", None, 2, 2),
    ],
)
def test_the_exit_status_follows_from_the_recorded_answer(outcome, as_planned, status, allowed):
    """0 as planned, 1 not, 2 not decided; --allow-worse accepts what is worse, never what does not fit."""
    answer = {"outcome": outcome, "asPlanned": as_planned, "reasons": []}
    assert (exit_status(answer), exit_status(answer, allow_worse=True)) == (status, allowed)


@pytest.mark.parametrize("how", ["", "pairwise", "apart"])
def test_a_count_of_any_size_ends_with_an_answer(how, tmp_path, capsys):
    """2,000,000,000 devices do not fit: status 1 and the limit of a claim, at once and without a traceback."""
    claim = tmp_path / "many.dralab.yaml"
    link = f"  links:\n  - {{name: link, requests: [gpu, nic], where: pcieRoot, how: {how}, must: true}}\n"
    claim.write_text(MANY + (link if how else ""))
    assert main(["export", "sample:eks-p4d", "--claim", str(claim), "--dir", str(tmp_path / "out"), "--pin"]) == 1
    assert "a claim can contain at most 32" in capsys.readouterr().err


def test_files_that_are_not_in_the_table_are_refused():
    cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    with pytest.raises(InputError, match="no extra files 'picture'; use report"):
        make_bundle(sketch, cluster, Target(KubernetesRelease("1.36")), Wanted(extra=("picture",)))
