"""The sample clusters are what their generator writes and what an API server accepts."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from strict_schemas import validate_strictly

FOLDER = Path(__file__).parents[2] / "sample_clusters"
NAMES = (
    "dgx-h100",
    "eks-p4d",
    "gb200-nvl72",
    "h100-pod",
    "inference-l40s",
    "mi300x",
    "mig",
    "nvlink-over-spines",
    "oke-gb200",
    "shared-gpu",
    "trouble",
    "two-sockets",
)
KINDS = {
    "deviceclasses.yaml": "DeviceClass",
    "nodes.yaml": "Node",
    "resourceclaims.yaml": "ResourceClaim",
    "resourceslices.yaml": "ResourceSlice",
}
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
IDENTIFIER = re.compile(r"([a-z0-9.-]{1,63}/)?[A-Za-z_][A-Za-z0-9_]{0,31}")
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")

Object = dict[str, Any]


@cache
def read(name: str, file: str) -> list[Object]:
    """Read the objects of one file of a sample."""
    loaded: Object = yaml.load((FOLDER / name / file).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    items: list[Object] = loaded["items"]
    return items


def devices(name: str) -> list[tuple[Object, Object]]:
    """Return (slice spec, device) of every device of a sample."""
    specs = [item["spec"] for item in read(name, "resourceslices.yaml")]
    return [(spec, device) for spec in specs for device in spec.get("devices", ())]


@pytest.fixture(scope="module")
def generator() -> Any:
    """Load generate.py, which is a script and no module of the package."""
    spec = importlib.util.spec_from_file_location("sample_generator", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_samples() -> None:
    """The folders are the samples that the README of the project names."""
    found = {path.name for path in FOLDER.iterdir() if (path / "resourceslices.yaml").is_file()}

    assert found == set(NAMES)


@pytest.mark.long
def test_folders_are_what_the_generator_writes(generator: Any) -> None:
    """Every YAML file is, byte for byte, what generate.py writes; examples are written by hand."""
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


@pytest.mark.long
def test_generator_writes_nothing_half(generator: Any, tmp_path: Path) -> None:
    """After writing there are complete files only."""
    generator.write(tmp_path)

    assert sorted(path.name for path in (tmp_path / "mig").iterdir()) == sorted(KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_strict_schema(name: str) -> None:
    """Every object satisfies the strict schema of Kubernetes 1.36: no unknown field, no wrong type."""
    for file, kind in KINDS.items():
        for item in read(name, file):
            assert item["kind"] == kind
            validate_strictly(item, "1.36")


@pytest.mark.parametrize("name", NAMES)
def test_slice_limits(name: str) -> None:
    """Slices keep the API server's limits on devices, counter sets and node selection (docs/semantics.md 2.1)."""
    for item in read(name, "resourceslices.yaml"):
        spec = item["spec"]
        found = spec.get("devices", ())
        small = any(device.get("taints") or device.get("consumesCounters") for device in found)

        assert len(found) <= (64 if small else 128)
        assert len({device["name"] for device in found}) == len(found)
        assert ("devices" in spec) != ("sharedCounters" in spec)
        assert len(spec.get("sharedCounters", ())) <= 8
        assert len(spec["driver"]) <= 63


@pytest.mark.parametrize("name", NAMES)
def test_device_limits(name: str) -> None:
    """Devices keep the API server's limits on names, attributes, capacities, counters and taints."""
    for _, device in devices(name):
        keys = [*device.get("attributes", {}), *device.get("capacity", {})]

        assert LABEL.fullmatch(device["name"])
        assert len(keys) <= 32
        assert [key for key in keys if not IDENTIFIER.fullmatch(key)] == []
        assert len(device.get("taints", ())) <= 16
        assert len(device.get("consumesCounters", ())) <= 2
        assert all(len(entry["counters"]) <= 32 for entry in device.get("consumesCounters", ()))


@pytest.mark.parametrize("name", NAMES)
def test_attribute_values(name: str) -> None:
    """An attribute has exactly one value; texts are at most 64 bytes, versions are semantic versions."""
    for _, device in devices(name):
        for value in device["attributes"].values():
            assert len(value) == 1
            assert len(str(value.get("string", "")).encode()) <= 64
            assert "version" not in value or SEMVER.fullmatch(value["version"])


@pytest.mark.parametrize("name", NAMES)
def test_request_policies_need_shareable_devices(name: str) -> None:
    """A request policy is only allowed on a device that several claims may share."""
    for _, device in devices(name):
        policies = [amount for amount in device.get("capacity", {}).values() if "requestPolicy" in amount]

        assert not policies or device.get("allowMultipleAllocations") is True


@pytest.mark.parametrize("name", NAMES)
def test_references_hold(name: str) -> None:
    """Slices are for nodes that exist; claims ask for classes that exist and are bound to the node of their devices."""
    nodes = {item["metadata"]["name"] for item in read(name, "nodes.yaml")}
    classes = {item["metadata"]["name"] for item in read(name, "deviceclasses.yaml")}

    assert {item["spec"]["nodeName"] for item in read(name, "resourceslices.yaml")} == nodes
    for item in read(name, "resourceclaims.yaml"):
        requests = item["spec"]["devices"]["requests"]
        allocation = item["status"]["allocation"]
        here = allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        assert {request["exactly"]["deviceClassName"] for request in requests} <= classes
        assert {result["pool"] for result in allocation["devices"]["results"]} == set(here)


@pytest.mark.parametrize("name", NAMES)
def test_claims_hold_what_they_ask_for(name: str) -> None:
    """Every request of a claim holds as many devices as it asks for, and at most 32 in all."""
    for item in read(name, "resourceclaims.yaml"):
        results = item["status"]["allocation"]["devices"]["results"]
        held = {
            request["name"]: sum(result["request"] == request["name"] for result in results)
            for request in item["spec"]["devices"]["requests"]
        }

        assert len(results) <= 32
        assert held == {request["name"]: request["exactly"]["count"] for request in item["spec"]["devices"]["requests"]}
        assert item["status"]["reservedFor"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "trouble"])
def test_held_devices_exist_and_are_held_once(name: str) -> None:
    """A claim holds published devices; only shareable ones are held twice, each share with its own shareID."""
    published = {(spec["driver"], spec["pool"]["name"], device["name"]): device for spec, device in devices(name)}
    seen = set()
    for item in read(name, "resourceclaims.yaml"):
        for result in item["status"]["allocation"]["devices"]["results"]:
            key = (result["driver"], result["pool"], result["device"])
            share = (*key, result.get("shareID"))
            device = published[key]
            assert share not in seen
            assert ("shareID" in result) == device.get("allowMultipleAllocations", False)
            if "shareID" in result:
                assert set(result["consumedCapacity"]) == set(device["capacity"])
            seen.add(share)


@pytest.mark.parametrize("name", NAMES)
def test_names_and_uids_are_unique(name: str) -> None:
    """No two objects of a kind share a name, and no two objects share a UID."""
    items = [item for file in KINDS for item in read(name, file)]
    names = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items]
    uids = [item["metadata"]["uid"] for item in items]

    assert len(set(names)) == len(names)
    assert len(set(uids)) == len(uids)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_look_real(name: str) -> None:
    """Nodes tell their kubelet (the target release follows from it), hostname, zone and type."""
    for item in read(name, "nodes.yaml"):
        labels = item["metadata"]["labels"]

        assert item["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.36.")
        assert labels["kubernetes.io/hostname"] == item["metadata"]["name"]
        assert {"topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"} <= set(labels)


@pytest.mark.parametrize("name", NAMES)
def test_readme_says_where_values_come_from(name: str) -> None:
    """The README teaches one thing in one line and tells measured, derived and invented apart."""
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")

    assert text.startswith("# ")
    assert len(re.findall(r"^Teaches: .+\.$", text, re.MULTILINE)) == 1
    assert re.search(r"\| measured \|", text)
    assert re.search(r"\| invented \|", text)
