"""`--pod NAME` chooses one of several pods in the file of a claim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from small_manifests import pod, request, template

from dra_lab.cli import main

CLUSTER = "sample:eks-p4d"
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


def gpus(count: int) -> str:
    return template(f"gpus-{count}", request("gpu", "gpu.nvidia.com", f"count: {count}"))


PARTS = [*map(gpus, (1, 2, 3)), pod("one", "gpus-1"), pod("two", "gpus-2")]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pods.yaml"
    path.write_text("".join(PARTS))
    return str(path)


def devices(capsys, *words):
    assert main(["plan", CLUSTER, *words, "-o", "json"]) == 0
    return len(json.loads(capsys.readouterr().out)["devices"])


@pytest.mark.parametrize(("name", "count"), [("one", 1), ("two", 2), ("Pod/two", 2)])
def test_the_option_selects_the_pod(name, count, file, capsys):
    assert devices(capsys, "--claim", file, "--pod", name) == count


@pytest.mark.parametrize("command", ["plan", "export", "draw"])
@pytest.mark.parametrize("words", [[], ["--pod", "three"]], ids=["none", "unknown"])
def test_several_pods_are_listed_with_the_option(command, words, file, capsys, tmp_path):
    more = {"draw": ["--file", str(tmp_path / "out.svg")], "export": ["--dir", str(tmp_path)]}.get(command, [])
    assert main([command, CLUSTER, "--claim", file, *words, *more]) == 2
    said = capsys.readouterr().err
    assert [part for part in (file, "one", "two", "--pod NAME") if part not in said] == []


def test_one_name_of_two_kinds_needs_the_kind(file, capsys):
    path = Path(file)
    path.write_text(path.read_text() + "---\n" + JOB)
    assert main(["plan", CLUSTER, "--claim", file, "--pod", "one"]) == 2
    said = capsys.readouterr().err
    assert "--pod Pod/one" in said
    assert devices(capsys, "--claim", file, "--pod", "Job/one") == 3


def test_each_claim_has_its_own_pod(file, capsys):
    words = ["--claim", file, "--pod", "one", "--replicas", "2", "--claim", file, "--pod", "two"]
    assert main(["plan", CLUSTER, *words, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(len(pod["devices"]) for page in found["pods"]["pages"] for pod in page) == [1, 1, 2]


def test_export_writes_the_named_pod(file, tmp_path):
    folder = tmp_path / "out"
    assert main(["export", CLUSTER, "--claim", file, "--pod", "two", "--dir", str(folder), "--allow-worse"]) == 0
    assert "count: 2" in "".join(path.read_text() for path in folder.rglob("*.yaml"))


def test_a_pod_of_a_file_without_pods_is_refused(tmp_path, capsys):
    path = tmp_path / "claim.yaml"
    path.write_text(PARTS[0])
    assert main(["plan", CLUSTER, "--claim", str(path), "--pod", "one"]) == 2
    assert "contains no pod" in capsys.readouterr().err


GANG = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: gang}
spec: {leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: LEADER}, workerTemplate: {spec: WORKER}}}
"""


def test_templates_of_one_object_have_their_path(capsys, tmp_path):
    """`plan` offers, `--pod` takes and `check` prints the same names for the templates of one object."""
    specs = [yaml.safe_load(part)["spec"] for part in PARTS[3:]]
    leader, worker = map(json.dumps, specs)
    path = tmp_path / "gang.yaml"
    path.write_text("".join([*PARTS[:2], "---\n", GANG.replace("LEADER", leader).replace("WORKER", worker)]))
    assert main(["plan", CLUSTER, "--claim", str(path)]) == 2
    said = capsys.readouterr().err
    names = [f"LeaderWorkerSet/gang:spec.leaderWorkerTemplate.{part}Template" for part in ("leader", "worker")]
    assert f"({', '.join(names)})" in said
    assert [devices(capsys, "--claim", str(path), "--pod", name) for name in names] == [1, 2]
    assert main(["check", CLUSTER, str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [name for name in names if f"{name}: fits" not in lines] == []


def test_objects_of_two_namespaces_have_their_namespace(capsys, file):
    first = PARTS[3]
    other = first.replace("name: one", "name: one, namespace: b")
    in_namespace_b = PARTS[0].replace("name: gpus-1", "name: gpus-1, namespace: b")
    Path(file).write_text("".join([PARTS[0], in_namespace_b, first, other]))
    assert main(["plan", CLUSTER, "--claim", file]) == 2
    assert "Pod/default/one, Pod/b/one" in capsys.readouterr().err
    assert devices(capsys, "--claim", file, "--pod", "Pod/b/one") == 1


def test_the_class_beside_a_template_is_planned(capsys, tmp_path):
    own = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: ours}\n"
    own += "spec: {selectors: [{cel: {expression: \"device.driver == 'gpu.nvidia.com'\"}}]}\n"
    path = tmp_path / "both.yaml"
    path.write_text(f"{own}---\n{PARTS[1].replace('gpu.nvidia.com', 'ours')}")
    assert devices(capsys, "--claim", str(path)) == 2
