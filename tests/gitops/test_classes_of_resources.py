"""A resource of a container that names its DeviceClass: DRA serves it, also by a documented class (KEP-5004)."""

from __future__ import annotations

import pytest
from gitops.manifests_written import write
from small_nodes import a_slice, gpu
from small_nodes import cluster as small

from dra_lab import KubernetesRelease, migrate, read_manifests
from dra_lab.cli import main
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.claims_of_file import read_pod

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i, resources: {limits: {RESOURCE: 1}}}]}
"""
NAMED = "deviceclass.resource.kubernetes.io/CLASS"
NODES = small(a_slice("gpu.example.com", gpu(0), gpu(1)))


def checked(folder, resource, release="1.36"):
    path = write(folder, pod=POD.replace("RESOURCE", resource))
    review = check_manifests(NODES, read_manifests([path]), release=KubernetesRelease(release))
    (item,) = review.objects
    return review, item


def test_a_documented_class_serves_the_resource_that_names_it(tmp_path):
    """The cluster lacks the class, its driver documents it: the pod is planned, and a Finding says so."""
    review, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.example.com"))
    assert item.outcome.value == "fits"
    assert [f.rule for f in review.findings if f.subject == "gpu.example.com"] == ["class-not-in-cluster"]


def test_an_unknown_class_is_what_is_not_checked(tmp_path):
    """An unknown class is the reason, and no device plugin is blamed."""
    _, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.nowhere.example"))
    assert item.outcome.value == "not-checked"
    assert "the cluster has no class gpu.nowhere.example" in item.reason
    assert "device plugin" not in item.reason


def test_without_the_gate_no_class_serves_a_resource(tmp_path):
    """In 1.34 the gate is off: the answer names the gate and how to turn it on."""
    _, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.example.com"), "1.34")
    assert item.outcome.value == "not-checked"
    assert "--feature-gates DRAExtendedResource=true" in item.reason


@pytest.mark.parametrize("amount", ["0", "'0'", "0k", "null"])
def test_an_amount_of_zero_asks_for_nothing(tmp_path, amount):
    """Zero in any form is no resource that something has to serve."""
    path = write(tmp_path, pod=POD.replace("RESOURCE: 1", f"example.com/npu: {amount}"))
    assert check_manifests(NODES, read_manifests([path])).objects == ()


def test_a_resource_that_names_its_class_needs_no_migration(tmp_path):
    """DRA serves it already, so `migrate` leaves the pod alone without a warning."""
    path = write(tmp_path, pod=POD.replace("RESOURCE", NAMED.replace("CLASS", "gpu.example.com")))
    done = migrate(read_manifests([path]), cluster=NODES)
    assert (done.texts, done.findings) == ({}, ())


def test_a_plan_says_what_it_leaves_out(tmp_path, capsys):
    """A pod's claim is planned; the resource that a device plugin serves is left out, and a Finding says so."""
    both = POD.replace("RESOURCE: 1", f"{NAMED.replace('CLASS', 'gpu.nvidia.com')}: 1, example.com/npu: 2")
    path = write(tmp_path, pod=both) / "pod.yaml"
    pod = read_pod(path, NODES, KubernetesRelease("1.36"))
    assert [f.rule for f in pod.findings] == ["resource-not-planned"]
    assert main(["plan", "sample:eks-p4d", "--claim", str(path)]) == 0
    assert "the plan leaves out example.com/npu: 2" in capsys.readouterr().err
