"""ProvisioningRequests for gangs that need new nodes: valid, the same bytes every time, with what they cannot say."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
import yaml
from crd_schemas import problems

from dra_lab import ClaimSketch, NewDomains, NodeType, PodGroup, Workload, load_cluster, nodes_to_add
from dra_lab.errors import InputError
from dra_lab.exports.gangs.provisioning_request import provisioning_request
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest


def pods(name: str, count: int, gpus: int) -> Workload:
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=gpus))
    return PodGroup(name, (ClaimSketch(name="gpus", requests=(request,)),), count)


@pytest.fixture(scope="module")
def added():
    """Return the nodes for two large gangs of a leader and workers behind new switches, beside a small gang."""
    cluster = load_cluster("sample:h100-pod")
    groups = [
        replace(pods("leader", 1, 1), leader=True),
        pods("worker", 6, 8),
    ]
    large = Workload("train", groups, level="leaf switch", replicas=2, priority=5)
    small = Workload("small", [pods("worker", 2, 1)], level="leaf switch")
    like = NodeType.like("h100-09", places=0, new_domains=NewDomains(nodes=18))
    return nodes_to_add(cluster, [large, small], types=[like])


def documents(files, kind=""):
    """Return the objects of an export, or those of one kind."""
    every = [one for text in files.documents.values() for one in yaml.safe_load_all(text)]
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
    assert "autoscaling.x-k8s.io/v1" in files.documents["provisioningrequest-train.yaml"].splitlines()[0]


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
