"""The files that dra-lab writes for a gang are read as the same gang, as far as the scheduler can express it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from gangs_to_export import BLOCK, RACK, gang, group, random_gang, tree
from small_nodes import a_slice, cluster, gpu

from dra_lab import Cluster, KubernetesRelease, Workload, read_workloads
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.findings import Severity
from dra_lab.gitops.workloads_of_file import ReadWorkload
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.topology.presets import HOSTNAME

NAMES = {BLOCK: "block", RACK: "rack", HOSTNAME: "host"}
R136 = KubernetesRelease("1.36")


@pytest.fixture(scope="module")
def on() -> Cluster:
    """Two blocks of two racks of two nodes with four GPUs."""
    nodes = [
        Node(ObjectMeta(name=name, labels={BLOCK: rack.path[0], RACK: rack.path[1], HOSTNAME: name}))
        for rack in tree().at("rack")
        for name in rack.nodes
    ]
    devices = [gpu(at, f"r{at}") for at in range(4)]
    return cluster(*(a_slice("gpu.nvidia.com", *devices, node=node.name) for node in nodes), nodes=tuple(nodes))


def level(name: str) -> str:
    return NAMES.get(name, name)


def shape(one: Workload) -> tuple[object, ...]:
    """Return size, minimum and levels of each group, in one form for all that mean the same.

    A level is nothing for a single pod, and a single group has that of its gang.
    """
    alone = len(one.pods) == 1
    groups = []
    for each in one.pods:
        pods = each.count
        slices = [(size, level(name)) for size, name in each.slices if size > 1]
        required = level(each.level or (one.level if alone else ""))
        if slices and slices[0][0] == pods:
            required, slices = slices[0][1], slices[1:]
        required = "" if pods == 1 or (not alone and required == level(one.level)) else required
        preferred = level(each.prefer_level or (one.prefer_level if alone else "")) if pods > 1 else ""
        groups.append((pods, each.least, required, preferred, tuple(slices)))
    return "" if alone else level(one.level), "" if alone else level(one.prefer_level), sorted(groups)


def read_back(one: Workload, scheduler: str, on: Cluster, folder: Path) -> tuple[ReadWorkload, ...] | None:
    """Return what is read of the files of a gang, None if the scheduler cannot express all of it."""
    files = gang_files(one, scheduler, tree(), cluster=on, queue="q")
    wrong = any(finding.severity is Severity.ERROR for finding in files.findings)
    if files.not_expressed or wrong or one.shared_claims:
        return None
    for name, text in files.texts.items():
        (folder / name).write_text(text)
    return read_workloads(folder, on, R136)


@pytest.mark.parametrize("seed", range(60))
def test_a_gang_of_kai_is_read_as_it_was_written(seed, on, tmp_path):
    one = random_gang(random.Random(seed))
    found = read_back(one, "kai", on, tmp_path)
    assert found is None or [shape(read.workload) for read in found] == [shape(one)] * one.replicas


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("required", ["block", "rack", "host"])
def test_one_group_is_read_as_it_was_written(scheduler, required, on, tmp_path):
    one = gang(group(pods=8), level=required, replicas=2)
    found = read_back(one, scheduler, on, tmp_path)
    assert [shape(read.workload) for read in found] == [shape(one)] * 2


def test_a_subgroup_that_starts_without_pods_has_the_minimum_none(on, tmp_path):
    one = gang(group("a", 2), group("b", 4, least=0), level="rack")
    found = read_back(one, "kai", on, tmp_path)
    assert [each.least for each in found[0].workload.pods] == [2, 0]


def test_nested_subgroups_that_differ_keep_their_own_levels(on, tmp_path):
    """Their common level is planned for each part alone, which a person must know."""
    one = gang(group(pods=8, slices=((4, "rack"),), level="block"), level="")
    files = gang_files(one, "kai", tree(), cluster=on, queue="q").texts
    for name, text in files.items():
        (tmp_path / name).write_text(text.replace("parallelism: 4", "parallelism: 2", 1))
    [read] = read_workloads(tmp_path, on, R136)
    sizes = [(each.count, each.level) for each in read.workload.pods]
    assert (sizes, [finding.rule for finding in read.findings]) == ([(2, RACK), (4, RACK)], ["gang-subgroup-level"])


POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  labels: {kueue.x-k8s.io/queue-name: team-a, kueue.x-k8s.io/pod-group-name: train}
  annotations:
    kueue.x-k8s.io/pod-group-total-count: "TOTAL"
    kueue.x-k8s.io/podset-required-topology: example.com/rack
spec:
  containers: [{name: c, image: x, resources: {claims: [{name: gpus}]}}]
  resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]
"""
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
"""


@pytest.mark.parametrize(("total", "rules"), [(2, []), (4, ["gang-pods-missing"])])
def test_plain_pods_of_kueue_are_one_gang(total, rules, on, tmp_path):
    pods = "".join(POD.replace("NAME", name).replace("TOTAL", str(total)) for name in ("a", "b"))
    (tmp_path / "pods.yaml").write_text(TEMPLATE + pods)
    [read] = read_workloads(tmp_path, on, R136)
    found = (read.workload.name, read.workload.size, read.workload.level, read.queue)
    assert (found, [finding.rule for finding in read.findings]) == (("train", total, RACK, "team-a"), rules)
