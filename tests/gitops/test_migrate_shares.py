"""Shares of devices: they become shares of a DRA driver, or the workload stays as it is."""

from dataclasses import replace

import pytest
import yaml
from gitops.manifests_written import write
from msgspec.structs import replace as changed

from dra_lab.drivers.device_plugins import plugin_resources
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.keep_names import keep_names
from dra_lab.gitops.migration import NOT_MIGRATED, migrate
from dra_lab.gitops.review import Fit
from dra_lab.model.release import KubernetesRelease
from dra_lab.sources import load_cluster

RELEASE = KubernetesRelease("1.36")
HAMI, WITHOUT = load_cluster("sample:shared-gpu"), load_cluster("sample:eks-p4d")
DRIVER = "hami-core-gpu.project-hami.io"
GPU = {"nvidia.com/gpu": 1}
SHARE = {**GPU, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 30}
SHARE_OF_ALL = {**GPU, "nvidia.com/gpumem-percentage": 100, "nvidia.com/gpucores": 30}


def _pod(limits, *, init=None, annotations=None, **spec):
    def container(name, amounts):
        return {"name": name, "image": "x", "resources": {"limits": amounts}}

    before = {"initContainers": [container("prep", init)]} if init else {}
    metadata = {"name": "p", **({"annotations": annotations} if annotations else {})}
    own = {**spec, **before, "containers": [container("main", limits)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own}


def _migrated(folder, value, cluster=HAMI, release=RELEASE, **options):
    manifests = read_manifests([write(folder, pod=yaml.safe_dump(value))])
    return migrate(manifests, cluster=cluster, release=release, **options)


def _claim(found):
    return yaml.safe_load(found.texts["p-devices.yaml"])["spec"]["spec"]["devices"]


def _left(found):
    """Return why the workload was left as it is; nothing was written."""
    assert not found.texts
    return " ".join(f.message for f in found.findings if f.rule == NOT_MIGRATED)


def test_an_amount_becomes_a_share_of_the_driver(tmp_path):
    """MiB and cores become the driver's capacities, and all of HAMi's resources leave the container."""
    found = _migrated(tmp_path, _pod({**SHARE, "cpu": 2}))
    (request,) = _claim(found)["requests"]
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1}
    assert request["exactly"] == {**exactly, "capacity": {"requests": {"memory": "3000Mi", "cores": "30"}}}
    (main,) = yaml.safe_load(found.texts["pod.yaml"])["spec"]["containers"]
    assert main["resources"] == {"limits": {"cpu": 2}, "claims": [{"name": "devices", "request": "gpu"}]}


def test_what_was_migrated_fits_and_leaves_room_for_others(tmp_path):
    """Two pods of 3000 MiB without cores run on one GPU, as with HAMi's device plugin."""
    texts = _migrated(tmp_path, _pod({**GPU, "nvidia.com/gpumem": 3000})).texts
    folder = write(tmp_path / "out", **{name.removesuffix(".yaml"): text for name, text in texts.items()})
    (answer,) = check_manifests(HAMI, read_manifests([folder]), release=RELEASE).reviewed
    gpus = sum(len(s.spec.devices or ()) for s in HAMI.slices if s.spec.driver == DRIVER)
    assert answer.fit is Fit.FITS
    assert answer.times > gpus


def test_several_shares_of_a_container_are_of_different_devices(tmp_path):
    """A device plugin gives out different devices; a shareable device could be allocated twice."""
    devices = _claim(_migrated(tmp_path, _pod({**SHARE, "nvidia.com/gpu": 2})))
    assert devices["constraints"] == [{"requests": ["gpu"], "distinctAttribute": f"{DRIVER}/uuid"}]
    assert devices["requests"][0]["exactly"]["count"] == 2


def test_more_than_two_shares_are_requests_of_their_own(tmp_path):
    """kube-scheduler 1.36 compares a device with the last one of a request only (docs/semantics.md 3.9.18)."""
    devices = _claim(_migrated(tmp_path, _pod({**SHARE, "nvidia.com/gpu": 3})))
    assert [request["exactly"]["count"] for request in devices["requests"]] == [1, 1, 1]
    assert devices["constraints"][0]["requests"] == [request["name"] for request in devices["requests"]]


def test_an_amount_without_a_count_is_of_one_device(tmp_path):
    """HAMi adds the count by itself (defaultGPUNum 1)."""
    (request,) = _claim(_migrated(tmp_path, _pod({"nvidia.com/gpumem": 3000})))["requests"]
    assert request["exactly"]["count"] == 1


@pytest.mark.parametrize(("amount", "memory"), [("1k", "1000Mi"), ("2000", "2000Mi")])
def test_an_amount_is_a_quantity(tmp_path, amount, memory):
    """The API server reads extended resources as quantities."""
    (request,) = _claim(_migrated(tmp_path, _pod({**SHARE, "nvidia.com/gpumem": amount})))["requests"]
    assert request["exactly"]["capacity"]["requests"]["memory"] == memory


def test_a_percentage_is_of_the_memory_that_all_devices_publish(tmp_path):
    """Half of 23028 MiB is 11514 MiB; 100 percent is the driver's default, all of it."""
    (half,) = _claim(_migrated(tmp_path, _pod({**GPU, "nvidia.com/gpumem-percentage": 50})))["requests"]
    (whole,) = _claim(_migrated(tmp_path, _pod(SHARE_OF_ALL)))["requests"]
    assert half["exactly"]["capacity"]["requests"] == {"memory": "11514Mi", "cores": "0"}
    assert whole["exactly"]["capacity"]["requests"] == {"cores": "30"}


def test_a_percentage_of_devices_of_several_sizes_is_left(tmp_path):
    """No amount says the same of each device."""
    first, *rest = (s for s in HAMI.slices if s.spec.driver == DRIVER)
    device, *others = first.spec.devices
    small = changed(device, capacity={**device.capacity, "memory": changed(device.capacity["memory"], value="8Gi")})
    other = changed(first, spec=changed(first.spec, devices=(small, *others)))
    cluster = replace(HAMI, slices=(other, *rest))
    found = _migrated(tmp_path, _pod({**GPU, "nvidia.com/gpumem-percentage": 50}), cluster)
    assert "do not publish how much they have" in _left(found)


@pytest.mark.parametrize(
    ("value", "cluster", "release", "why"),
    [
        (_pod(SHARE), WITHOUT, RELEASE, f"no node of this cluster has the driver {DRIVER}"),
        (_pod(SHARE), None, RELEASE, "only a claim for the driver"),
        (_pod(SHARE), HAMI, KubernetesRelease("1.34"), "DRAConsumableCapacity is off"),
        (_pod(SHARE, annotations={"nvidia.com/vgpu-mode": "mig"}), HAMI, RELEASE, "vgpu-mode: mig"),
        (_pod({**SHARE, "nvidia.com/gpucores": 120}), HAMI, RELEASE, "more than the 100"),
        (_pod({**SHARE, "nvidia.com/gpumem": "much"}), HAMI, RELEASE, "only a whole number"),
        (_pod({**SHARE, "nvidia.com/gpu": "$GPUS"}), HAMI, RELEASE, "a variable"),
        (_pod({**SHARE, "nvidia.com/priority": 1}), HAMI, RELEASE, "HAMi's priority"),
        (_pod(SHARE, init={**SHARE, "nvidia.com/gpumem": 9000}), HAMI, RELEASE, "an init container requests a share"),
        (_pod({"nvidia.com/gpu.shared": 1}), HAMI, RELEASE, "a time slice"),
        (_pod({"nvidia.com/mig-1g.5gb.shared": 1}), HAMI, RELEASE, "a time slice of a MIG partition"),
        (_pod({"gpu.intel.com/i915": 1, "gpu.intel.com/millicores": 500}), HAMI, RELEASE, "a part of an Intel GPU"),
        (_pod({"amd.com/gpu": 1, "amd.com/gpumem": 8000}), HAMI, RELEASE, "HAMi"),
        (_pod({"aliyun.com/gpu-mem": 8}), HAMI, RELEASE, "gpushare"),
        (_pod({"tencent.com/vcuda-core": 50}), HAMI, RELEASE, "GPU manager"),
        (_pod({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}), HAMI, RELEASE, "Volcano"),
        (_pod({}, annotations={"gpu-fraction": "0.5"}), HAMI, RELEASE, "gpu-fraction: 0.5"),
        (
            _pod({"nvidia.com/gpu": 1}, nodeSelector={"nvidia.com/gpu.product": "T4-SHARED"}),
            HAMI,
            RELEASE,
            "not a whole GPU",
        ),
        (
            _pod({"nvidia.com/gpu": 1}, nodeSelector={"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}),
            HAMI,
            RELEASE,
            "not a whole GPU",
        ),
    ],
)
def test_a_share_never_becomes_a_whole_device(tmp_path, value, cluster, release, why):
    """Where no DRA share is known the workload is left alone, and the reason is told."""
    assert why in _left(_migrated(tmp_path, value, cluster, release))


def test_time_slices_are_reported_from_the_labels_of_the_nodes(tmp_path):
    """Without a name of their own, only the nodes say that several pods share a GPU."""
    first, *rest = WITHOUT.nodes
    labels = {**first.metadata.labels, "nvidia.com/gpu.replicas": "4"}
    shared = replace(WITHOUT, nodes=(changed(first, metadata=changed(first.metadata, labels=labels)), *rest))
    value = _pod(GPU)
    assert "nvidia.com/gpu.replicas=4" in _left(_migrated(tmp_path / "a", value, shared))
    assert _migrated(tmp_path / "b", value, shared, device_classes={"nvidia.com/gpu": "gpu.nvidia.com"}).texts
    assert _migrated(tmp_path / "c", value, WITHOUT).texts


def test_a_class_named_for_an_amount_is_not_taken(tmp_path):
    """An amount is no number of devices: 8 GiB would become 8 GPUs."""
    found = _migrated(
        tmp_path, _pod({"aliyun.com/gpu-mem": 8}), device_classes={"aliyun.com/gpu-mem": "gpu.nvidia.com"}
    )
    assert "gpushare" in _left(found)


def test_all_of_a_device_is_a_whole_device(tmp_path):
    """100 percent of the memory and 100 cores are no share, so that no driver for shares is needed."""
    value = _pod({**SHARE_OF_ALL, "nvidia.com/gpucores": 100})
    (request,) = _claim(_migrated(tmp_path, value, WITHOUT))["requests"]
    assert request["exactly"]["deviceClassName"] == "gpu.nvidia.com"
    assert "capacity" not in request["exactly"]


def test_annotations_that_chose_devices_are_reported(tmp_path):
    """A claim reads no annotation of HAMi's scheduler."""
    found = _migrated(tmp_path, _pod(SHARE, annotations={"nvidia.com/nouse-gputype": "2080"}))
    (finding,) = (f for f in found.findings if f.rule == "annotation-not-read")
    assert finding.severity is Severity.WARNING
    assert "nouse-gputype: 2080" in finding.message


def test_the_class_of_the_cluster_serves_where_the_known_one_is_not_there(tmp_path):
    """On nodes of HAMi's driver alone, a GPU comes from its class, which names the resource."""
    slices = tuple(s for s in HAMI.slices if s.spec.driver == DRIVER)
    classes = tuple(c for c in HAMI.classes if c.name == DRIVER)
    cluster = replace(HAMI, slices=slices, classes=classes)
    (request,) = _claim(_migrated(tmp_path, _pod(GPU), cluster))["requests"]
    assert request["exactly"]["deviceClassName"] == DRIVER


def test_a_kept_name_serves_no_share(tmp_path):
    """A resource name carries no amount, so that a class for it would give out whole GPUs."""
    manifests = read_manifests([write(tmp_path, pod=yaml.safe_dump(_pod(SHARE)))])
    found = keep_names(manifests, HAMI, RELEASE)
    assert "only a claim for the driver" in _left(found)


def test_what_is_asked_outside_a_pod_template_is_reported(tmp_path):
    """Nothing is lost silently: a TrainJob's resources are its runtime's."""
    trainer = {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"}}
    assert "spec.trainer.resourcesPerNode" in _left(_migrated(tmp_path, {**job, "spec": {"trainer": trainer}}))


def test_a_profile_with_media_engines_has_a_plus(tmp_path):
    """The device plugin writes the + of a MIG profile as a dot."""
    (request,) = _claim(_migrated(tmp_path, _pod({"nvidia.com/mig-1g.5gb.me": 1})))["requests"]
    assert '"1g.5gb+me"' in request["exactly"]["selectors"][0]["cel"]["expression"]


def test_every_known_part_names_what_it_is_a_part_of():
    """An amount of a known driver has its key, and the resource that counts the devices."""
    for known in plugin_resources():
        assert not known.capacity or (known.share and known.part_of and known.device_class), known.resource


def _group(**params):
    container = {"name": "ray", "resources": {"limits": GPU}}
    return {"rayStartParams": params, "template": {"spec": {"containers": [container]}}}


@pytest.mark.parametrize(("params", "expected"), [({}, True), ({"num-gpus": "1"}, False)])
def test_who_reads_the_limits_of_a_container_is_reported(tmp_path, params, expected):
    """KubeRay counts GPUs by the limits (controllers/ray/common/pod.go), unless the group says how many there are."""
    head = {"template": {"spec": {"containers": [{"name": "head"}]}}}
    spec = {"headGroupSpec": head, "workerGroupSpecs": [_group(**params)]}
    found = _migrated(tmp_path, {"kind": "RayCluster", "metadata": {"name": "p"}, "spec": spec})
    assert ("amount-not-read" in {f.rule for f in found.findings}) is expected


def test_networks_of_device_plugins_are_reported(tmp_path):
    """Multus finds a virtual function by the device plugin, so that a claim alone connects no network."""
    value = _pod({"intel.com/intel_sriov_x": 1}, annotations={"k8s.v1.cni.cncf.io/networks": "net"})
    assert "Multus" in " ".join(f.message for f in _migrated(tmp_path, value).findings)


def test_a_class_that_is_not_there_is_reported(tmp_path):
    """The driver is installed before the workload is applied."""
    found = _migrated(tmp_path, _pod({"amd.com/gpu": 1}), WITHOUT)
    assert "this cluster has no DeviceClass gpu.amd.com yet" in {f.message for f in found.findings}


def test_a_manifest_in_a_config_map_is_reported(tmp_path):
    """Text is not changed, and not passed over silently either."""
    data = {"job.yaml": yaml.safe_dump(_pod({"amd.com/gpu": 8})), "other": "amd.com/gpu: 8"}
    found = _migrated(tmp_path, {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
    assert "amd.com/gpu is not migrated, because data['job.yaml']" in _left(found)


def test_comments_above_the_first_document_stay(tmp_path):
    """A licence stands over the first `---`."""
    text = "# Copyright of us\n---\n" + yaml.safe_dump(_pod(GPU))
    found = migrate(read_manifests([write(tmp_path, pod=text)]))
    assert found.texts["pod.yaml"].startswith("# Copyright of us\n---\napiVersion: v1\n")
