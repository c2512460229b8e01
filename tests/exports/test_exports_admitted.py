"""What is exported for the samples' examples is what the API server accepts, and nothing about it is odd."""

import pytest

from dra_lab import KubernetesRelease, load_cluster, read_sketch, samples
from dra_lab.checks.document_checks import check_text
from dra_lab.exports.manifests import manifest_yaml

EXAMPLES = [(sample.name, example) for sample in samples() for example in sample.examples]


@pytest.mark.parametrize(("sample", "example"), EXAMPLES, ids=[f"{s}/{e}" for s, e in EXAMPLES])
def test_an_exported_example_is_accepted(sample, example):
    """Kubernetes 1.36 accepts every object of the manifest, drops no field of it, and reads it as it is meant."""
    cluster, release = load_cluster(f"sample:{sample}"), KubernetesRelease("1.36")
    text = manifest_yaml(read_sketch(f"sample:{sample}/{example}"), cluster, release).text
    assert "ResourceClaimTemplate" in text
    assert [str(finding) for finding in check_text(text, example, release)] == []
