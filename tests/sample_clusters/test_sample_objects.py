"""The sample clusters are what their generator writes and what an API server accepts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml
from strict_schemas import validate_strictly

from dra_lab import KubernetesRelease, check, load_cluster, samples
from dra_lab.checks.document_checks import check_text
from dra_lab.findings import Severity
from dra_lab.words.frames import audit_frame

FOLDER = Path(__file__).parents[2] / "sample_clusters"
NAMES = sorted(sample.name for sample in samples())
FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".yaml", ".yml", ".json"))
SCHEMAS = ("deviceclasses.yaml", "nodes.yaml", "resourceclaims.yaml", "resourceslices.yaml")
by_name = pytest.mark.parametrize("name", NAMES)


def read(name: str, file: str) -> list[dict[str, Any]]:
    """Read the objects of one file of a sample."""
    return yaml.load((FOLDER / name / file).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["items"]


@pytest.mark.long
def test_folders_are_what_the_generator_writes() -> None:
    """Every YAML file is, byte for byte, what generate.py writes; examples are written by hand."""
    spec = importlib.util.spec_from_file_location("sample_generator", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    written = {
        f"{sample.name}/{name}": content.encode()
        for sample in (module.sample() for module in generator.MODULES)
        for name, content in generator.files(sample).items()
    }
    there = {
        f"{name}/{path.name}": path.read_bytes() for name in NAMES for path in sorted((FOLDER / name).glob("*.yaml"))
    }
    assert sorted(there) == sorted(written)
    assert [name for name in written if there[name] != written[name]] == []


@by_name
def test_every_object_has_the_form_of_its_kind(name: str) -> None:
    """Every object satisfies the strict schema of Kubernetes 1.36: no unknown field, no wrong type."""
    for file in SCHEMAS:
        for item in read(name, file):
            validate_strictly(item, "1.36")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_api_server_of_1_37_accepts_every_object(path: Path) -> None:
    """No object is refused, no key stands twice, and no field is dropped by a gate that is off by default."""
    findings = check_text(path.read_text(encoding="utf-8"), path.name, KubernetesRelease("1.37"))
    assert [str(f) for f in findings if f.severity is Severity.ERROR or f.rule == "gate-off"] == []


@by_name
def test_names_and_uids_are_unique(name: str) -> None:
    """No two objects of a kind share a name, and no two objects share a UID."""
    items = [item for file in SCHEMAS for item in read(name, file)]
    names = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items]
    assert len(set(names)) == len({item["metadata"]["uid"] for item in items}) == len(items)


@by_name
def test_a_sample_is_read_without_a_complaint(name: str) -> None:
    """A shipped cluster has nodes, slices and classes, and its claims hold what they would be granted again."""
    cluster = load_cluster(f"sample:{name}")
    assert all((cluster.nodes, cluster.slices, cluster.classes))
    assert cluster.findings == ()
    assert list(audit_frame(cluster)["rule"]) == (["device-vanished"] if name == "trouble" else [])
    assert name == "trouble" or [str(f) for f in check(cluster) if f.severity is Severity.ERROR] == []


@by_name
def test_the_nodes_of_a_sample_decide_its_release(name: str) -> None:
    """The target release follows from the kubelets."""
    assert load_cluster(f"sample:{name}").default_release.startswith("1.36")
