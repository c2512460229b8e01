"""Empty and refused documents count where documents are numbered, so that the right one is changed."""

from __future__ import annotations

import pytest

from dra_lab.cli import main
from dra_lab.manifests.yaml_text import load_yaml

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""
DEEP = f"a: {'[' * 100}{']' * 100}\n"


@pytest.mark.parametrize(
    ("before", "status"), [("---\n---\n", 0), ("a: 1\n---\n# nothing\n---\nnull\n---\n", 0), (f"{DEEP}---\n", 1)]
)
def test_migrate_changes_the_pod_after_them(tmp_path, before, status):
    """The documents before the pod are empty or cannot be read; the pod is migrated."""
    (tmp_path / "a.yaml").write_text(before + POD)
    assert main(["migrate", "sample:eks-p4d", str(tmp_path / "a.yaml"), "--dir", str(tmp_path / "out")]) == status
    assert "resourceClaimTemplateName: p-devices" in (tmp_path / "out" / "a.yaml").read_text()


def test_export_patches_the_workload_after_them(tmp_path):
    """`export --workload` changes the pod, and not the document in its place without the empty ones."""
    (tmp_path / "a.yaml").write_text(f"a: 1\n---\n---\n{POD}")
    (tmp_path / "c.yaml").write_text(CLAIM)
    words = [
        "--claim",
        str(tmp_path / "c.yaml"),
        "--workload",
        str(tmp_path / "a.yaml"),
        "--dir",
        str(tmp_path / "out"),
    ]
    assert main(["export", "sample:eks-p4d", *words]) == 0
    assert "resourceClaimTemplateName" in (tmp_path / "out" / "a.yaml").read_text()


def test_a_refused_document_counts():
    """The document after one that is nested too deeply has its own number."""
    found = load_yaml(f"x: 1\n---\n{DEEP}---\ny: 2\n", broken=lambda _: None)
    assert [(document.number, document.value) for document in found] == [(1, {"x": 1}), (3, {"y": 2})]
