"""`--pod NAME` chooses one of several pods in the file of a claim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dra_lab.cli import main

CLUSTER = "sample:eks-p4d"
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus-%(count)s}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: %(count)s}}]}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %(name)s}
spec:
  containers: [{name: main, image: busybox, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: gpus-%(count)s}]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: one}
spec:
  template:
    spec:
      containers: [{name: main, image: busybox, resources: {claims: [{name: g}]}}]
      resourceClaims: [{name: g, resourceClaimTemplateName: gpus-3}]
      restartPolicy: Never
"""
PARTS = [TEMPLATE % {"count": count} for count in (1, 2, 3)]
PARTS += [POD % {"name": name, "count": count} for name, count in (("one", 1), ("two", 2))]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pods.yaml"
    path.write_text("---\n".join(PARTS))
    return str(path)


def devices(capsys, *words):
    assert main(["plan", CLUSTER, *words, "--format", "json"]) == 0
    return len(json.loads(capsys.readouterr().out)["placements"])


@pytest.mark.parametrize(("name", "count"), [("one", 1), ("two", 2), ("Pod/two", 2)])
def test_the_option_selects_the_pod(name, count, file, capsys):
    """The plan is that of the named pod, by its name or by kind and name."""
    assert devices(capsys, "--claim", file, "--pod", name) == count


@pytest.mark.parametrize("command", ["plan", "export", "draw"])
@pytest.mark.parametrize("words", [[], ["--pod", "three"]], ids=["none", "unknown"])
def test_several_pods_are_listed_with_the_option(command, words, file, capsys, tmp_path):
    """Without the option, or with a name that is not there, the message lists the pods and names the option."""
    more = {"draw": ["--output", str(tmp_path / "out.svg")], "export": ["--dir", str(tmp_path)]}.get(command, [])
    assert main([command, CLUSTER, "--claim", file, *words, *more]) == 2
    said = capsys.readouterr().err
    assert [part for part in (file, "one", "two", "--pod NAME") if part not in said] == []


def test_one_name_of_two_kinds_needs_the_kind(file, capsys):
    """The message offers names that tell the two apart."""
    path = Path(file)
    path.write_text(path.read_text() + "---\n" + JOB)
    assert main(["plan", CLUSTER, "--claim", file, "--pod", "one"]) == 2
    said = capsys.readouterr().err
    assert "--pod Pod/one" in said
    assert devices(capsys, "--claim", file, "--pod", "Job/one") == 3


def test_each_claim_has_its_own_pod(file, capsys):
    """Of one file, two pods are planned together; the option stands behind the claim that it is for."""
    words = ["--claim", file, "--pod", "one", "--replicas", "2", "--claim", file, "--pod", "two"]
    assert main(["plan", CLUSTER, *words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(len(replica["placements"]) for replica in found["replicas"]) == [1, 1, 2]


def test_export_writes_the_named_pod(file, tmp_path):
    """The folder holds the claim of the pod that was named."""
    folder = tmp_path / "out"
    assert main(["export", CLUSTER, "--claim", file, "--pod", "two", "--dir", str(folder), "--allow-worse"]) == 0
    assert "count: 2" in "".join(path.read_text() for path in folder.rglob("*.yaml"))


def test_a_pod_of_a_file_without_pods_is_refused(tmp_path, capsys):
    """A claim alone has no pods to choose from."""
    path = tmp_path / "claim.yaml"
    path.write_text(PARTS[0])
    assert main(["plan", CLUSTER, "--claim", str(path), "--pod", "one"]) == 2
    assert "holds no pod" in capsys.readouterr().err
