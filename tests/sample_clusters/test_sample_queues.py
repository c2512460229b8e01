"""The queues of the sample h100-pod: what Kueue's API server would accept, and a quota that stops a gang."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from crd_schemas import problems
from msgspec.structs import replace

from dra_lab import PodGroup, Workload, explain, load_cluster, read_sketch
from dra_lab.model.queues import ClusterQueue, Configuration
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.snapshots import make_snapshot

FOLDER = Path(__file__).parents[2] / "sample_clusters" / "h100-pod"
CLASSES = {"gpu.nvidia.com/devices": "gpu.nvidia.com", "dranet/devices": "dranet"}


def gang(pods):
    """A gang below one leaf switch; each pod has a GPU with its NIC."""
    drawn = read_sketch("sample:h100-pod/eight-pairs")
    requests = tuple(replace(one, exactly=replace(one.exactly, count=1)) for one in drawn.requests)
    worker = PodGroup("worker", replace(drawn, requests=requests), count=pods)
    return Workload("train", [worker], level="leaf switch")


@pytest.mark.parametrize(("pods", "quota"), [(8, "yes"), (16, "waits"), (48, "never")])
def test_a_gang_of_sixteen_is_stopped_by_quota_and_one_of_eight_is_not(pods, quota):
    """Below a leaf switch are devices for both."""
    found = explain(load_cluster("sample:h100-pod"), gang(pods), queue="train").verdicts
    assert (found.quota.row.says, found.devices.says) == (quota, "yes" if pods < 48 else "no")


def test_kueues_schemas_accept_the_objects():
    """The Configuration too, inside its ConfigMap."""
    items = yaml.safe_load((FOLDER / "queues.yaml").read_text())["items"]
    maps = [one["data"] for one in items if one["kind"] == "ConfigMap"]
    inside = [yaml.safe_load(one["controller_manager_config.yaml"]) for one in maps]
    found = {one["kind"]: problems(one) for one in (*items, *inside) if one["kind"] != "ConfigMap"}
    assert found == {"ClusterQueue": [], "Cohort": [], "LocalQueue": [], "Configuration": []}


def test_the_usage_is_that_of_the_claims():
    """The team holds every device that is in use."""
    cluster = load_cluster("sample:h100-pod")
    [queue] = [one for one in cluster.queues if isinstance(one, ClusterQueue) and one.name == "training"]
    held = {row.name: str(row.total) for row in queue.status.flavors_reservation[0].resources}
    drivers = [r.driver for c in cluster.claims if c.status.allocation for r in c.status.allocation.devices.results]
    counts = {"gpu.nvidia.com": drivers.count("gpu.nvidia.com"), "dranet": drivers.count("dra.net")}
    assert {CLASSES[name]: int(held[name]) for name in CLASSES} == counts


def test_pseudonyms_change_no_answer():
    """Names of teams are gone, and the quota stops the same gang."""
    cluster = load_cluster("sample:h100-pod")
    hidden = anonymise(cluster).cluster
    [config] = [one for one in hidden.queues if isinstance(one, Configuration)]
    text = b"".join(make_snapshot(hidden).files.values())
    assert not any(name in text for name in (b"research", b"inference"))
    assert {one.name for one in config.resources.device_class_mappings} == {*CLASSES}
    queues = [one for one in hidden.queues if isinstance(one, ClusterQueue)]
    [queue] = [one.name for one in queues if one.spec.resource_groups[0].flavors[0].resources[2].nominal_quota == "32"]
    # the level has another name under pseudonyms
    amounts = explain(hidden, Workload("train", gang(16).pods), queue=queue).verdicts.quota.amounts
    assert [(one.available, one.most) for one in amounts] == [(9, 40), (13, 48)]
