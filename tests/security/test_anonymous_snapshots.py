"""An anonymised snapshot says nothing that is not known to be harmless."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

SECRET = "Bigbank"
KNOWN, OTHER = "gpu.nvidia.com", "dev.example.com"
API = "resource.k8s.io/v1"


def world(*, driver=KNOWN, attributes=(), labels=(), expression="true", condition="", address="", message=""):
    """Return a cluster of one node, with each argument in the place that may tell whose cluster it is."""
    conditions = [condition] if condition else []
    device = {"name": "d0", "attributes": dict(attributes), "bindsToNode": True, "bindingConditions": conditions}
    device["bindingFailureConditions"] = conditions and ["other.example.com/failed"]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    request = {"name": "r", "exactly": {"deviceClassName": "one", "selectors": [{"cel": {"expression": expression}}]}}
    result = {"request": "r", "driver": driver, "pool": "n", "device": "d0", "bindingConditions": conditions}
    told = {"type": condition or "Ready", "status": "True", "reason": message or "Fine", "message": message}
    status = {"driver": driver, "pool": "n", "device": "d0", "conditions": [told]}
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": dict(labels)}},
        {
            "apiVersion": API,
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": driver, "pool": pool, "nodeName": "n", "devices": [device]},
        },
        {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "one"}, "spec": {}},
        {
            "apiVersion": API,
            "kind": "ResourceClaim",
            "metadata": {"name": f"c{address}", "namespace": "d"},
            "spec": {"devices": {"requests": [request]}},
            "status": {"allocation": {"devices": {"results": [result]}}, "devices": [status]},
        },
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def text(value):
    return {"attributes": {"model": {"string": value}}}


PLACES = {
    "a literal that matches nothing": {"expression": f'device.attributes["{KNOWN}"].model == "{SECRET} Edition"'},
    "a pattern that matches nothing": {"expression": f'device.driver.matches("^{SECRET}-.*")'},
    "a literal beyond ASCII": {"expression": f'device.driver == "Müller {SECRET}é"'},
    "the model of an unknown vendor": {"driver": OTHER, **text(f"{SECRET} Edition")},
    "the builder of a version": {"attributes": {"driverVersion": {"version": f"1.2.3-{SECRET}.4"}}},
    "the build of a version": {"attributes": {"driverVersion": {"version": f"1.2.3+{SECRET}"}}},
    "a version in a selector": {"expression": f'device.attributes["{KNOWN}"].v == semver("1.2.3-{SECRET}")'},
    "the type of a condition": {"condition": f"{SECRET}.example.com/Ready"},
    "the message of a condition": {"message": SECRET},
    "a label below a known domain": {"labels": {f"node.kubernetes.io/{SECRET}-hall": "1"}},
    "a subdomain of a known domain": {"labels": {f"{SECRET.lower()}.k8s.io/zone": "a"}},
    "a feature that people made up": {"labels": {f"feature.node.kubernetes.io/{SECRET}": "true"}},
    "a label of a known vendor": {"labels": {f"nvidia.com/gpu.{SECRET}": SECRET}},
}


def captured(tmp_path, cluster):
    """Return the anonymised snapshot of a cluster as one text."""
    (tmp_path / "cluster.json").write_text(cluster)
    assert main(["capture", str(tmp_path / "cluster.json"), str(tmp_path / "out"), "--anonymise"]) == 0
    return "\n".join(path.read_text() for path in sorted((tmp_path / "out").iterdir()))


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_known_to_be_harmless_is_replaced(place, tmp_path):
    """A word that names a customer is in no place of the snapshot."""
    assert SECRET.lower() not in captured(tmp_path, world(**PLACES[place])).lower()


def test_an_address_with_dashes_is_replaced(tmp_path):
    """An IP address in a name is one, though no value has it with dots."""
    labels = {"example.com/host": "ip-10-20-30-41.internal"}
    assert "10-20-30-41" not in captured(tmp_path, world(labels=labels, **text("X 10-20-30-41")))


KEPT = [
    ({"attributes": {"productName": {"string": "NVIDIA H100"}}}, "NVIDIA H100"),
    ({"attributes": {"driverVersion": {"version": "550.54.15"}}}, "550.54.15"),
    ({"attributes": {"driverVersion": {"version": "1.2.3-rc.1"}}}, "1.2.3-rc.1"),
    ({"labels": {"topology.kubernetes.io/zone": "a"}}, "topology.kubernetes.io/zone"),
    ({"labels": {"nvidia.com/gpu.product": "NVIDIA-H100"}}, "NVIDIA-H100"),
    ({"labels": {"feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true"}}, "cpu-cpuid.AVX512F"),
    ({"driver": OTHER, "attributes": {"type": {"string": "gpu"}}}, '"gpu"'),
    ({"expression": f'device.capacity["{KNOWN}"].memory.compareTo(quantity("80Gi")) >= 0'}, "80Gi"),
]


@pytest.mark.parametrize(("places", "kept"), KEPT)
def test_what_is_harmless_stays(places, kept, tmp_path):
    """Planning needs models, versions, quantities and the keys that many clusters have."""
    assert kept in captured(tmp_path, world(**places))
