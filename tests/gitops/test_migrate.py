"""Workloads that asked device plugins, with claims instead."""

import random

import pytest
import yaml
from gitops.manifests_written import write

from dra_lab.cel.selector import compile_selector
from dra_lab.checks.document_checks import check_text
from dra_lab.drivers.device_plugins import plugin_resource, plugin_resources
from dra_lab.findings import Severity
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.keep_names import keep_names
from dra_lab.gitops.migration import migrate
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.gitops.plugin_requests import plugin_requests
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.manifests.device_asks import containers
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.release import KubernetesRelease
from dra_lab.sources import load_cluster

RELEASE = KubernetesRelease("1.36")
JOB = """\
# trains the model
apiVersion: batch/v1
kind: Job
metadata:
  name: train   # its name
spec:
  template:
    spec:
      initContainers:
        - name: prep
          image: "x"
          resources: {limits: {nvidia.com/gpu: 1}}
      containers:
        - name: main
          image: 'y'   # pinned
          resources:
            limits:
              cpu: 4
              nvidia.com/gpu: 4
            requests:
              nvidia.com/gpu: 4
      restartPolicy: Never
---
apiVersion: v1
kind: ConfigMap
metadata: {name: untouched}
"""


def _job(tmp_path, text=JOB, **options):
    return migrate(read_manifests([write(tmp_path, job=text)]), **options)


def _sound(texts):
    found = [f for text in texts.values() for f in check_text(text, "", RELEASE)]
    assert not [f for f in found if f.severity is Severity.ERROR]


def test_a_workload_asks_by_claim(tmp_path):
    """The container's amount becomes a request of a template, and the resource is gone from limits and requests."""
    found = _job(tmp_path)
    template = yaml.safe_load(found.texts["train-devices.yaml"])
    exactly = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4}
    (main,) = next(yaml.safe_load_all(found.texts["job.yaml"]))["spec"]["template"]["spec"]["containers"]
    assert main["resources"] == {"limits": {"cpu": 4}, "claims": [{"name": "devices", "request": "gpu"}]}
    _sound(found.texts)


def test_nothing_else_of_the_file_changes(tmp_path):
    """Comments, quotes, order and other documents stay: only lines of resources and claims differ."""
    after = _job(tmp_path).texts["job.yaml"].splitlines()
    gone = [line for line in JOB.splitlines() if line not in after]
    assert all("nvidia.com/gpu" in line or line.strip() == "requests:" for line in gone)
    new = [line.strip() for line in after if line not in JOB.splitlines()]
    assert all("claim" in line.lower() or "devices" in line or "request" in line for line in new)


def test_an_init_container_uses_the_devices_of_the_containers_after_it(tmp_path):
    """It needs no request of its own, and a finding says that it sees more than it requested."""
    found = _job(tmp_path)
    (prep,) = next(yaml.safe_load_all(found.texts["job.yaml"]))["spec"]["template"]["spec"]["initContainers"]
    assert prep["resources"] == {"claims": [{"name": "devices", "request": "gpu"}]}
    assert "migrate-init-container" in {f.rule for f in found.findings}


def test_an_unknown_resource_stays_and_is_reported(tmp_path):
    """The line stays as it is, and the message says how to name a class for it."""
    text = JOB.replace("nvidia.com/gpu", "example.com/thing")
    found = _job(tmp_path, text)
    assert not found.texts
    assert {f.rule for f in found.findings} == {"resource-not-migrated"}
    assert "--map example.com/thing=DEVICECLASS" in found.findings[0].advice
    mapped = _job(tmp_path, text, device_classes={"example.com/thing": "things"})
    assert "deviceClassName: things" in mapped.texts["train-devices.yaml"]


def test_a_migrated_workload_has_nothing_left_to_migrate(tmp_path):
    """A second run finds nothing."""
    again = migrate(read_manifests([write(tmp_path / "again", job=_job(tmp_path).texts["job.yaml"])]))
    assert not again.texts


def test_more_devices_than_a_claim_holds_are_several_claims(tmp_path):
    """A claim holds 32 devices, and a server of 8 GPUs and 32 interfaces has more; every container keeps its own."""
    limits = "{nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}"
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    pod = f"{head}spec:\n  containers:\n  - name: m\n    resources:\n      limits: {limits}\n"
    found = migrate(read_manifests([write(tmp_path, pod=pod)]))
    _sound(found.texts)
    names = ["p-devices.yaml", "p-devices-1.yaml"]
    (gpu,), (efa,) = (yaml.safe_load(found.texts[n])["spec"]["spec"]["devices"]["requests"] for n in names)
    assert (gpu["exactly"]["count"], efa["exactly"]["count"]) == (8, 32)
    spec = yaml.safe_load(found.texts["pod.yaml"])["spec"]
    assert [entry["resourceClaimTemplateName"] for entry in spec["resourceClaims"]] == ["p-devices", "p-devices-1"]
    claims = spec["containers"][0]["resources"]["claims"]
    assert claims == [{"name": "devices", "request": "gpu"}, {"name": "devices-1", "request": "efa"}]
    assert [f.rule for f in found.findings if f.severity is not Severity.NOTE] == ["claims-split"]


def _random_pod(draw):
    names = ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "vpc.amazonaws.com/efa", "cpu", "memory"]
    spec = {"containers": [], "initContainers": []}
    for kind, most in (("containers", 3), ("initContainers", 2)):
        for number in range(draw.randint(0 if kind == "initContainers" else 1, most)):
            limits = {name: draw.randint(1, 4) for name in draw.sample(names, draw.randint(0, 3))}
            container = {"name": f"{kind[0]}{number}", "image": "x", "resources": {"limits": limits}}
            if kind == "initContainers" and draw.random() < 0.5:
                container["restartPolicy"] = "Always"
            spec[kind].append(container)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize("seed", range(40))
def test_every_container_keeps_at_least_what_it_asked_for(tmp_path, seed):
    """Containers and sidecars get exactly their count and do not share it; init containers get at least theirs."""
    pod = _random_pod(random.Random(seed))
    manifests = read_manifests([write(tmp_path, pod=yaml.safe_dump(pod))])
    (before,) = pod_templates(manifests.documents[0])
    asked = [request for request in plugin_requests(before) if plugin_resource(request.resource)]
    found = migrate(manifests)
    if not asked:
        assert not found.texts
        return
    _sound(found.texts)
    requests = yaml.safe_load(found.texts["p-devices.yaml"])["spec"]["spec"]["devices"]["requests"]
    counts = {r["name"]: (r["exactly"]["deviceClassName"], r["exactly"]["count"]) for r in requests}
    after = dict(containers(yaml.safe_load(found.texts["pod.yaml"])["spec"], "spec"))
    owners = []
    for request in asked:
        mine = [claim["request"] for claim in after[request.path]["resources"]["claims"]]
        device_class = plugin_resource(request.resource).device_class
        given = sum(count for name in mine for cls, count in [counts[name]] if cls == device_class)
        assert given >= request.count if request.once else given == request.count
        owners += [] if request.once else [name for name in mine if counts[name][0] == device_class]
    assert len(owners) == len(set(owners))


def test_a_class_can_serve_the_resource_name(tmp_path):
    """With the name kept, the workload stays and the class says which resource it serves."""
    manifests = read_manifests([write(tmp_path, job=JOB)])
    cluster = load_cluster("sample:eks-p4d")
    found = keep_names(manifests, cluster, RELEASE)
    served = {c.spec.extended_resource_name for c in with_documented_classes(cluster).classes}
    texts = {name: yaml.safe_load(text) for name, text in found.texts.items()}
    assert "nvidia.com/gpu" in served | {t["spec"]["extendedResourceName"] for t in texts.values()}
    _sound(found.texts)


def test_a_name_that_the_release_does_not_serve_is_an_error(tmp_path):
    """Before the gate is on, the API server drops the field: the workload would wait for ever."""
    manifests = read_manifests([write(tmp_path, job=JOB)])
    found = keep_names(manifests, load_cluster("sample:mig"), KubernetesRelease("1.34"))
    assert "migrate-release" in {f.rule for f in found.findings if f.severity is Severity.ERROR}


def test_a_profile_gets_a_class_of_its_own(tmp_path):
    """A MIG profile is narrower than the class of all partitions."""
    text = JOB.replace("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")
    found = keep_names(read_manifests([write(tmp_path, job=text)]), load_cluster("sample:mig"), RELEASE)
    (document,) = [yaml.safe_load(text) for text in found.texts.values()]
    assert document["metadata"]["name"] == "mig-1g-5gb.mig.nvidia.com"
    assert len(document["spec"]["selectors"]) == 2


@pytest.mark.parametrize("name", ["openshift.io/mlxnics", "intel.com/intel_sriov_dpdk", "mellanox.com/mlnx_sriov_rdma"])
def test_virtual_functions_are_asked_for_by_the_name_of_their_policy(name):
    """The SR-IOV driver publishes the resource name; with or without its prefix, and never failing where it is not."""
    (text,) = plugin_resource(name).selectors
    selector = compile_selector(text)
    driver = "sriovnetwork.k8snetworkplumbingwg.io"
    for value, matches in ((name, True), (name.partition("/")[2], True), ("other", False)):
        device = Device(name="vf", attributes={f"{driver}/resourceName": DeviceAttribute(string=value)})
        assert selector.matches(driver, device) is matches
    assert not selector.matches(driver, Device(name="vf"))


@pytest.mark.parametrize("kind", ["gpu", "gaudi"])
def test_the_extended_resources_of_intels_classes_are_known(kind):
    """Intel's drivers name their resources after the device, its plugins after the kernel driver."""
    assert plugin_resource(f"intel.com/{kind}").device_class == f"{kind}.intel.com"


def test_every_known_resource_has_its_source():
    """A row names where the fact stands, and either a class or what people do instead."""
    for known in plugin_resources():
        assert known.source
        assert bool(known.device_class) != bool(known.note)
