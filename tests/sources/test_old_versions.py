"""Clusters and claims in v1beta1 and v1beta2 are read as v1."""

import json

import pytest
from small_documents import CLAIM, CLASS, SLICE

from dra_lab.errors import ManifestError
from dra_lab.manifests.versions import downgrade
from dra_lab.sources import load_cluster
from dra_lab.sources.drawing_files import read_claim


def written(path, documents):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}), encoding="utf-8")
    return load_cluster(path)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_dump_of_an_old_version_is_the_same_cluster(tmp_path, version):
    """Slices, classes and claims of an older version give the values of v1."""
    new = written(tmp_path / "new.json", [SLICE, CLASS, CLAIM])
    old = written(tmp_path / "old.json", [downgrade(document, version) for document in (SLICE, CLASS, CLAIM)])
    assert (old.slices, old.classes, old.claims) == (new.slices, new.classes, new.claims)
    assert len(old.slices) == len(old.classes) == len(old.claims) == 1
    assert [f.rule for f in old.findings] == [f.rule for f in new.findings]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_claim_of_an_old_version_is_read(tmp_path, version):
    """A claim's file may be of any version that Kubernetes reads; an unknown one is refused by name."""
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(downgrade(CLAIM, version)), encoding="utf-8")
    spec, name = read_claim(path, lambda spec, name: (spec, name))
    assert (spec.devices.requests[0].exactly.device_class_name, name) == ("gpu", "c")
    path.write_text(json.dumps(CLAIM | {"apiVersion": "resource.k8s.io/v1alpha1"}), encoding="utf-8")
    with pytest.raises(ManifestError, match="v1alpha1"):
        read_claim(path, lambda spec, name: (spec, name))
