"""Rules that a release changed: each row has the answer of the release before and that of the release after.

Rules of 1.38 are documented, and nothing of 1.38 was recorded (docs/semantics.md 5.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import yaml
from planner.running_fleets import Running, objects_of
from small_documents import changed, device, shared

from dra_lab import check, explain, load_cluster
from dra_lab.cli import main

DRIVER, V1 = "gpu.example.com", "resource.k8s.io/v1"
CLASS = {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
FREE, SHARED = {"name": "d"}, {"name": "d", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "8"}}}
TERM = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
FITS, REFUSED = 0, 1
Objects = list[dict[str, Any]]


def an_object(kind: str, name: str, api: str = V1, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": "default"} if kind == "ResourceClaim" else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def a_slice(
    name: str, *devices: dict[str, Any], node: str = "n1", count: int = 1, driver: str = DRIVER, pool: str = ""
):
    pools = {"name": pool or node, "generation": 1, "resourceSliceCount": count}
    spec = {"driver": driver, "pool": pools, "nodeName": node, "devices": [*devices]}
    return an_object("ResourceSlice", name, spec=spec)


def a_claim(name: str = "c", **request: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", **request}
    return an_object("ResourceClaim", name, spec={"devices": {"requests": [{"name": "r", "exactly": exactly}]}})


def holding(**result: Any) -> dict[str, Any]:
    """A claim that has the device d of n1."""
    found = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "d", **result}
    return a_claim("held") | {"status": {"allocation": {"devices": {"results": [found]}}}}


def status(folder, release: str, command: str, objects: Objects, manifest: dict[str, Any], *more: str) -> int:
    """Return the exit status of a command about a manifest in a cluster of objects with nodes n1 and n2."""
    nodes = [an_object("Node", name, "v1") for name in ("n1", "n2")]
    every = [*nodes, an_object("DeviceClass", "gpu", spec=CLASS), *objects]
    for name, documents in (("cluster", every), ("manifest", [manifest])):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    files = [str(folder / "cluster.yaml"), *(["--claim"] if command == "plan" else []), str(folder / "manifest.yaml")]
    return main([command, *files, "--release", release, *more])


SHARES = {"shareID": "6e8f1b9a-0000-4000-8000-000000000001", "consumedCapacity": {"memory": "2"}}
SMALL, QUALIFIED = {"requests": {"memory": "2"}}, {"requests": {f"{DRIVER}/memory": "2"}}
PUBLISHED_FULL = changed(a_slice("s", SHARED), ("spec.devices.0.capacity", {f"{DRIVER}/memory": {"value": "8"}}))
BROKEN = a_slice("broken", FREE, driver="other.example.com", count=2)
ONE_POOL = [a_slice(f"s{node}", FREE, node=node, pool="p") for node in ("n1", "n2")]
DISAGREEING = [a_slice("s1", FREE, pool="p"), a_slice("s2", node="n2", count=2, pool="p")]
TWO_TERMS = [("spec.devices.0.nodeSelector", {"nodeSelectorTerms": [TERM, TERM]}), ("spec.nodeName", None)]
OF_DEVICES = [("spec.perDeviceNodeSelection", True)]
TWICE = {"default": "1", "validValues": ["1", "1.0", "2"]}
ALL, ONE, ADMIN = a_claim(allocationMode="All"), a_claim(), a_claim(adminAccess=True)
PUBLISHED, LIVE_SHARE = [a_slice("s", SHARED)], [a_slice("s", FREE), holding(**SHARES)]
POD = an_object("Pod", "p", "v1") | {
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}]}
}


class Row(NamedTuple):
    """What is asked about which objects, and the answers: exit statuses of the release before and of the one after."""

    command: str
    objects: Objects
    manifest: dict[str, Any]
    before: int
    after: int
    releases: tuple[str, str] = ("1.37", "1.38")


ROWS = {
    "All beside an incomplete pool": Row("plan", [a_slice("s", FREE, node="n2"), BROKEN], ALL, REFUSED, FITS),
    "one pool name on two nodes": Row("plan", ONE_POOL, ONE, FITS, REFUSED),
    "slices disagree on their number": Row("plan", DISAGREEING, ONE, FITS, REFUSED),
    "a device with a live share": Row("plan", LIVE_SHARE, ONE, FITS, REFUSED),
    "admin access beside a share": Row("plan", LIVE_SHARE, ADMIN, FITS, FITS),
    "driver/memory for memory": Row("plan", PUBLISHED, a_claim(capacity=QUALIFIED), REFUSED, FITS),
    "memory for driver/memory": Row("plan", [PUBLISHED_FULL], a_claim(capacity=SMALL), REFUSED, FITS),
    "attribute a/b/c": Row("check", [], device(attributes={"a/b/c": {"int": 1}}), FITS, REFUSED),
    "a device's node selector": Row("check", [], changed(device(), *TWO_TERMS, *OF_DEVICES), FITS, REFUSED),
    "validValues 1 and 1.0": Row("check", [], shared(TWICE), REFUSED, FITS, ("1.36", "1.37")),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_release_changes_a_rule(tmp_path, name):
    row = ROWS[name]
    found = [status(tmp_path, release, row.command, row.objects, row.manifest) for release in row.releases]
    assert found == [row.before, row.after]


@pytest.mark.parametrize("slices", [ONE_POOL, DISAGREEING], ids=["more than declared", "disagreeing"])
def test_a_pool_whose_slices_contradict_each_other_is_reported_with_the_reason(tmp_path, slices):
    """It is no finding about a cluster of 1.37."""

    def invalid(version: str) -> list[str]:
        runs = {"nodeInfo": {"kubeletVersion": version}}
        nodes = [an_object("Node", name, "v1", status=runs) for name in ("n1", "n2")]
        (tmp_path / "c.yaml").write_text(yaml.safe_dump_all([*nodes, *slices]))
        return [one.message for one in check(load_cluster(tmp_path / "c.yaml")) if one.rule == "pool-invalid"]

    [now] = invalid("v1.38.0-alpha.2")
    assert invalid("v1.37.1") == []
    assert "resourceSliceCount" in now


@pytest.mark.parametrize("field", ["matchAttribute", "distinctAttribute"])
def test_a_constraint_on_a_name_with_two_slashes_is_refused_from_1_38(tmp_path, capsys, field):
    """To 1.37 the API server stores it, although no device can have the attribute."""
    claim = changed(ONE, ("spec.devices.constraints", [{field: "a/b/c"}]))
    refused = []
    for release in ("1.37", "1.38"):
        status(tmp_path, release, "check", [a_slice("s", FREE)], claim)
        refused.append("[dra-lab help api-refused]" in capsys.readouterr().out)
    assert refused == [False, True]


def test_stored_names_with_two_slashes_are_tolerated(tmp_path):
    """1.38 refuses them in new slices, and kube-scheduler still allocates devices of old ones."""
    old = a_slice("s", {"name": "d", "attributes": {"a/b/c": {"int": 1}}})
    assert status(tmp_path, "1.38", "plan", [old], ONE) == FITS


@pytest.mark.parametrize(("release", "evicted"), [("1.37", False), ("1.38", True)])
def test_no_execute_evicts_pods_with_extended_resources_from_1_38(tmp_path, release, evicted):
    objects = objects_of({"a1": 2, "b1": 2}, [Running("p1", "a1", (0,))])
    pod = next(one for one in objects if one["kind"] == "Pod")
    pod["spec"]["resourceClaims"] = []
    pod["status"] = {"phase": "Running", "extendedResourceClaimStatus": {"resourceClaimName": "p1-gpus"}}
    spec = {"deviceSelector": {"pool": "a1"}, "taint": {"key": "k", "effect": "NoExecute"}}
    for name, documents in (("c", objects), ("rule", [an_object("DeviceTaintRule", "fault", spec=spec)])):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    found = explain(load_cluster(tmp_path / "c.yaml"), rule=tmp_path / "rule.yaml", release=release)
    assert [(move.pod, move.node_to) for move in found.moves] == ([("team/p1", "b1")] if evicted else [])


@pytest.mark.parametrize(("release", "noted"), [("1.37", True), ("1.38", False)])
def test_to_1_37_an_old_class_may_serve_an_extended_resource(tmp_path, capsys, release, noted):
    spec = {**CLASS, "extendedResourceName": "example.com/gpu"}
    classes = [an_object("DeviceClass", name, spec=spec) for name in ("old", "new")]
    status(tmp_path, release, "check", [a_slice("s", FREE), *classes], POD, "-v")
    assert ("class-stale" in capsys.readouterr().out) == noted
