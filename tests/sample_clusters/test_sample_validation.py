"""The shipped samples are what an API server would have stored."""

from pathlib import Path

import pytest

from dra_lab.checks.document_checks import check_text
from dra_lab.findings import Severity
from dra_lab.model.release import KubernetesRelease

FILES = sorted(
    path
    for path in (Path(__file__).parents[2] / "sample_clusters").rglob("*")
    if path.suffix in (".yaml", ".yml", ".json")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_api_server_of_1_37_accepts_every_sample_object(path):
    """No object is refused, no key stands twice, and no field is dropped by a gate that is off by default."""
    findings = check_text(path.read_text(encoding="utf-8"), path.name, KubernetesRelease("1.37"))
    assert [str(f) for f in findings if f.severity is Severity.ERROR or f.rule == "gate-off"] == []


def test_there_are_samples():
    """The samples are found, so that the rule above says something."""
    assert len(FILES) > 9
