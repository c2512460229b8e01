"""Files that let an autoscaler see nodes to add: what they describe, ProvisioningRequests, and what is not checked."""

from __future__ import annotations

import dataclasses
import json

import pytest
import yaml
from crd_schemas import problems
from msgspec.structs import replace

import dra_lab
from dra_lab import ClaimSketch, Link, NodeType, PodGroup, Workload, load_cluster, nodes_to_add, read_sketch
from dra_lab.cli import main
from dra_lab.errors import ExportError, InputError
from dra_lab.exports.gangs.provisioning_request import provisioning_request
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.nodes import NodeSpec

CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
ROOMS = {"places": 0, "new_domains": 8}


def gpus(count: int, **more) -> ClaimSketch:
    request = DeviceRequest(
        name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count, **more)
    )
    return ClaimSketch(name="gpus", requests=(request,))


def asked(claim, *types, cluster="sample:h100-pod", replicas=17, **workload):
    cluster = load_cluster(cluster) if isinstance(cluster, str) else cluster
    what = Workload("train", claim, replicas=replicas, **workload)
    return dra_lab.nodes_to_add(cluster, what, types or [NodeType.like("h100-09")])


@pytest.fixture
def written(tmp_path):
    """Return what writes the files of an answer, as text by name."""

    def write(added, **options):
        return {path.name: path.read_text() for path in dra_lab.export(added, tmp_path / "out", **options)}

    return write


def annotations(text: str) -> dict[str, str]:
    return yaml.safe_load(text)["metadata"]["annotations"]


@pytest.fixture(scope="module")
def pairs():
    claim = read_sketch("sample:h100-pod/eight-pairs")
    return asked(claim, NodeType.like("h100-09", **ROOMS), replicas=2, count=4, level="leaf switch")


def test_annotations_describe_the_node_as_cluster_autoscaler_reads_them(written):
    """CPU, memory, disk, pods and labels, and one driver with the number of its GPUs. The host is no label."""
    found = annotations(written(asked(gpus(8)))["machinedeployment-h100-09.yaml"])
    labels = dict(pair.split("=") for pair in found.pop(f"{CAPACITY}labels").split(","))
    assert found == {
        f"{SIZE}min-size": "0",
        f"{SIZE}max-size": str(asked(gpus(8)).count),
        f"{CAPACITY}cpu": "224",
        f"{CAPACITY}memory": "2015Gi",
        f"{CAPACITY}ephemeral-disk": "900Gi",
        f"{CAPACITY}maxPods": "110",
        f"{CAPACITY}dra-driver": "gpu.nvidia.com",
        f"{CAPACITY}gpu-count": "8",
    }
    assert labels["node.kubernetes.io/instance-type"] == "DGX-H100"
    assert "kubernetes.io/hostname" not in labels


def test_claims_that_pods_share_count_too(written):
    """Pods that share a NIC do not fit a node that shows GPUs only."""
    nic = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="dranet", count=1))
    shared = ClaimSketch(name="nic", requests=(nic,))
    files = written(asked(gpus(4), count=2, level="host", shared_claims=(shared,)))
    groups = [text for name, text in files.items() if name.startswith("machinedeployment")]
    assert {annotations(text)[f"{SIZE}min-size"] for text in groups} == {"1"}


def test_the_driver_of_the_gpus_is_named_before_others(written):
    """AMD's GPUs have another type, and the node has more NICs than GPUs."""
    claim = read_sketch("sample:mi300x/gpu-nic-pairs")
    added = asked(claim, NodeType.like("mi300x-1"), cluster="sample:mi300x", replicas=30)
    found = annotations(written(added)["machinedeployment-mi300x-1.yaml"])
    assert (found[f"{CAPACITY}dra-driver"], found[f"{CAPACITY}gpu-count"]) == ("gpu.amd.com", "8")


def test_taints_are_one_annotation(written):
    """With and without a value; nodes without taints have no such annotation."""
    cluster = load_cluster("sample:h100-pod")
    taints = (
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "batch", "effect": "NoExecute"},
    )
    nodes = [replace(node, spec=NodeSpec(taints=taints)) if node.name == "h100-09" else node for node in cluster.nodes]
    tainted = asked(gpus(8), cluster=cluster.with_objects(nodes=tuple(nodes)))
    found = annotations(written(tainted)["machinedeployment-h100-09.yaml"])
    assert found[f"{CAPACITY}taints"] == "gpu=yes:NoSchedule,batch:NoExecute"


PRODUCT = DeviceSelector(
    cel=CELDeviceSelector(expression="device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA')")
)
APART = Link("apart", ("gpu",), "resource.kubernetes.io/pcieRoot", "apart")


@pytest.mark.parametrize(
    "claim",
    [
        gpus(8, selectors=(PRODUCT,)),
        replace(gpus(8), links=(APART,)),
        read_sketch("sample:h100-pod/eight-pairs"),
    ],
    ids=["attribute", "distinctAttribute", "two drivers"],
)
def test_a_group_keeps_a_node_if_the_annotations_show_too_little(claim, written):
    """Devices made from annotations have type=gpu only, so such a group never scales from zero."""
    files = written(asked(claim))
    text = files["machinedeployment-h100-09.yaml"]
    assert annotations(text)[f"{SIZE}min-size"] == "1"
    assert "# Pods of train do not fit a node made from these annotations." in text
    assert "| no: train |" in files["README.md"]


def test_cpu_and_memory_that_nobody_knows_are_asked_for(written):
    """A node type that is described by its PCIe roots has neither; scaling from zero needs both."""
    described = NodeType.from_roots("h100", [{"gpu.nvidia.com": 8}], attributes={"gpu.nvidia.com": {"type": "gpu"}})
    files = written(asked(gpus(8), described))
    text = files["machinedeployment-h100.yaml"]
    assert f"{CAPACITY}cpu" not in annotations(text)
    assert f"# Add {CAPACITY}cpu and {CAPACITY}memory" in text
    assert not [name for name in files if name.startswith("nodeoverlay")]
    assert "No NodeOverlay is written" in files["README.md"]


def test_each_domain_is_a_node_group(written):
    """Nodes of one group have the same labels. Names of domains that do not exist yet are marked."""
    claim = read_sketch("sample:h100-pod/eight-pairs")
    like = NodeType.like("h100-09", new_domains=8)
    added = asked(claim, like, replicas=5, count=4, level="leaf switch")
    files = written(added)
    groups = {name: text for name, text in files.items() if name.startswith("machinedeployment")}
    assert [int(annotations(text)[f"{SIZE}max-size"]) for text in groups.values()] == [one.count for one in added.added]
    for one, text in zip(added.added, groups.values(), strict=True):
        assert f"topology.example.com/leaf={one.domain[-1]}" in annotations(text)[f"{CAPACITY}labels"]
        assert ("-new- stand for" in text) == one.new


def test_the_schema_of_karpenter_accepts_a_node_overlay(written):
    assert problems(yaml.safe_load(written(asked(gpus(8)))["nodeoverlay-h100-09.yaml"])) == []


def test_shared_and_partitioned_devices_are_in_no_node_overlay(written):
    """How often they can be allocated depends on what uses them."""
    claim = read_sketch("sample:dgx-h100/gpu-nic-cpu")
    added = asked(claim, NodeType.like("dgx-01"), cluster="sample:dgx-h100", replicas=30)
    found = yaml.safe_load(written(added)["nodeoverlay-dgx-01.yaml"])
    assert "deviceclass.resource.kubernetes.io/dra.cpu" not in found["spec"]["capacity"]


def test_karpenter_refuses_distinct_attribute(written):
    """Its file says so first if the plan has such a link."""
    text = written(asked(replace(gpus(8), links=(APART,))))["nodeoverlay-h100-09.yaml"]
    assert "# - distinctAttribute (used by this plan): Its allocator refuses every claim" in text


def test_an_edited_file_stays(pairs, written, tmp_path):
    written(pairs)
    file = tmp_path / "out" / "nodeoverlay-h100-09.yaml"
    file.write_text(file.read_text() + "# mine\n")
    with pytest.raises(ExportError, match="edited"):
        written(pairs)


def test_without_new_nodes_there_is_nothing_to_write(written):
    with pytest.raises(InputError, match=r"nothing is written\. No nodes have to be added"):
        written(asked(gpus(8), replicas=1))


@pytest.mark.parametrize("option", [{"pin": True}, {"scheduler": "kueue"}, {"queue": "train"}])
def test_options_of_a_plan_are_refused(option, pairs, written):
    """They belong to the manifests of a plan."""
    with pytest.raises(InputError, match=r"export added\.plan"):
        written(pairs, **option)


def test_two_types_with_one_name_are_refused(written):
    """Their files would have the same name."""
    types = [NodeType.like("h100-09", name="A b", places=1), NodeType.like("h100-09", name="a-b", places=1)]
    added = dataclasses.replace(asked(gpus(8)), types=tuple(types))
    one = added.added[0]
    twice = (replace(one, type="A b", domain=()), replace(one, type="a-b", domain=()))
    with pytest.raises(InputError, match="other names"):
        written(dataclasses.replace(added, added=twice))


@pytest.mark.parametrize(("replicas", "status", "files"), [(20, 1, 4), (2, 0, 0)])
def test_the_command_writes_files_only_for_nodes_that_are_missing(replicas, status, files, tmp_path, capsys):
    """The JSON names the files; if everything has a place, there is no folder."""
    claim, folder = "sample:h100-pod/eight-pairs", tmp_path / "nodes"
    words = f"plan sample:h100-pod --claim {claim} --replicas {replicas} -o json --export-autoscaler {folder}"
    assert main(words.split()) == status
    found = json.loads(capsys.readouterr().out)["files"]
    assert len(found) == files == len([*folder.glob("*")])


def pods(name: str, count: int, gpus: int) -> Workload:
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=gpus))
    return PodGroup(name, (ClaimSketch(name="gpus", requests=(request,)),), count)


@pytest.fixture(scope="module")
def added():
    """Return the nodes for two large gangs of a leader and workers behind new switches, beside a small gang."""
    cluster = load_cluster("sample:h100-pod")
    groups = [
        dataclasses.replace(pods("leader", 1, 1), leader=True),
        pods("worker", 6, 8),
    ]
    large = Workload("train", groups, level="leaf switch", replicas=2, priority=5)
    small = Workload("small", [pods("worker", 2, 1)], level="leaf switch")
    like = NodeType.like("h100-09", places=0, new_domains=18)
    return nodes_to_add(cluster, [large, small], types=[like])


def documents(files, kind=""):
    """Return the objects of an export, or those of one kind."""
    every = [one for text in files.texts.values() for one in yaml.safe_load_all(text)]
    return [one for one in every if kind in ("", one["kind"])]


@pytest.mark.parametrize("mode", ["best-effort-atomic-scale-up", "check-capacity", "queued-provisioning.gke.io"])
def test_every_object_is_valid(mode, added):
    """The schemas of Kubernetes and of Cluster Autoscaler accept every object with its fields."""
    files = provisioning_request(added, mode=mode)
    assert [problem for one in documents(files) for problem in problems(one)] == []


def test_each_gang_has_a_request(added):
    found = documents(provisioning_request(added), "ProvisioningRequest")
    sets = [[(one["podTemplateRef"]["name"], one["count"]) for one in item["spec"]["podSets"]] for item in found]
    train = [[(f"train-{copy}-leader", 1), (f"train-{copy}-worker", 6)] for copy in range(2)]
    assert sets == [*train, [("small-worker", 2)]]


def test_every_template_that_is_named_is_written(added):
    """PodTemplates for the pod sets, and ResourceClaimTemplates for the claims of their pods."""
    files = provisioning_request(added)
    named = {one["podTemplateRef"]["name"] for item in documents(files, "ProvisioningRequest")
             for one in item["spec"]["podSets"]}  # fmt: skip
    claims = {claim["resourceClaimTemplateName"] for item in documents(files, "PodTemplate")
              for claim in item["template"]["spec"]["resourceClaims"]}  # fmt: skip
    made = [{one["metadata"]["name"] for one in documents(files, k)} for k in ("PodTemplate", "ResourceClaimTemplate")]
    assert [named, claims] == made


def test_every_file_names_its_versions(added):
    """In its first line, and each object in apiVersion."""
    files = provisioning_request(added)
    assert "autoscaling.x-k8s.io/v1" in files.texts["provisioningrequest-train.yaml"].splitlines()[0]


def test_what_is_not_proven_is_reported(added):
    """Claims in a ProvisioningRequest are not known to count, and it knows no rack."""
    files = provisioning_request(added)
    found = (files.findings[0].rule, len([one for one in files.not_expressed if "rack" in one]))
    assert found == ("provisioning-request-claims", 2)


def test_nothing_to_add_is_nothing_to_request(added):
    with pytest.raises(InputError, match="nothing"):
        provisioning_request(dataclasses.replace(added, added=()))


def test_another_class_is_refused(added):
    with pytest.raises(InputError, match="check-capacity"):
        provisioning_request(added, mode="check-capacities")
