"""Workloads that asked device plugins, with claims instead."""

import random
from dataclasses import replace

import pytest
import yaml
from gitops.manifests_written import write
from msgspec.structs import replace as changed

from dra_lab import KubernetesRelease, load_cluster, migrate
from dra_lab.checks.document_checks import check_text
from dra_lab.findings import Severity
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.migration import keep_names

RELEASE = KubernetesRelease("1.36")
EKS, HAMI = load_cluster("sample:eks-p4d"), load_cluster("sample:shared-gpu")
HAMI_DRIVER = "hami-core-gpu.project-hami.io"
GPU = {"nvidia.com/gpu": 1}
CLASSES = {
    "nvidia.com/gpu": "gpu.nvidia.com",
    "nvidia.com/mig-1g.5gb": "mig.nvidia.com",
    "vpc.amazonaws.com/efa": "efa.networking.k8s.aws",
}


def container(name, limits):
    return {"name": name, "image": "x", "resources": {"limits": limits}}


def pod(limits, *, annotations=None, **spec):
    metadata = {"name": "p", **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, "containers": [container("main", limits)]},
    }


def written(folder, *values):
    return read_manifests(
        [write(folder, **{f"pod{at or ''}": yaml.safe_dump(value) for at, value in enumerate(values)})]
    )


def migrated(folder, value, cluster=None, **options):
    return migrate(written(folder, value), cluster=cluster, **options)


def requests_of(found, name="p-devices.yaml"):
    return yaml.safe_load(found.texts[name])["spec"]["spec"]["devices"]["requests"]


def spec_of(found):
    return yaml.safe_load(found.texts["pod.yaml"])["spec"]


def left(found):
    """Return why the workload was left as it is; nothing was written."""
    assert not found.texts
    assert found.left
    return " ".join(f.message for f in found.findings if f.rule == "resource-not-migrated")


def sound(texts):
    found = [f for text in texts.values() for f in check_text(text, "", RELEASE)]
    assert not [f for f in found if f.severity is Severity.ERROR]


def test_an_unknown_resource_stays_until_a_class_is_named(tmp_path):
    value = pod({"example.com/thing": 1})
    found = migrated(tmp_path, value)
    assert "example.com/thing" in left(found)
    assert "--map example.com/thing=DEVICECLASS" in found.findings[0].advice
    (request,) = requests_of(migrated(tmp_path, value, device_classes={"example.com/thing": "things"}))
    assert request["exactly"]["deviceClassName"] == "things"


def test_a_migrated_workload_has_nothing_left_to_migrate(tmp_path):
    again = write(tmp_path / "again", job=migrated(tmp_path, pod(GPU)).texts["pod.yaml"])
    assert not migrate([again]).texts


def test_more_devices_than_a_claim_holds_are_several_claims(tmp_path):
    """A claim holds 32 devices, and a server of 8 GPUs and 32 interfaces has more; every container keeps its own."""
    found = migrated(tmp_path, pod({"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}))
    sound(found.texts)
    names = ["p-devices", "p-devices-1"]
    assert [requests_of(found, f"{name}.yaml")[0]["exactly"]["count"] for name in names] == [8, 32]
    spec = spec_of(found)
    assert [entry["resourceClaimTemplateName"] for entry in spec["resourceClaims"]] == names
    claims = spec["containers"][0]["resources"]["claims"]
    assert claims == [{"name": "devices", "request": "gpu"}, {"name": "devices-1", "request": "efa"}]
    assert [f.rule for f in found.findings if f.severity is not Severity.NOTE] == ["claims-split"]


def random_pod(draw):
    names = [*CLASSES, "cpu", "memory"]
    spec = {"containers": [], "initContainers": []}
    for kind, most in (("containers", 3), ("initContainers", 2)):
        for number in range(draw.randint(0 if kind == "initContainers" else 1, most)):
            limits = {name: draw.randint(1, 4) for name in draw.sample(names, draw.randint(0, 3))}
            spec[kind].append(container(f"{kind[0]}{number}", limits))
            if kind == "initContainers" and draw.random() < 0.5:
                spec[kind][-1]["restartPolicy"] = "Always"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize("seed", range(40))
def test_every_container_keeps_at_least_what_it_asked_for(tmp_path, seed):
    """Containers and sidecars get exactly their count and do not share it; init containers get at least theirs."""
    value = random_pod(random.Random(seed))
    asked = [
        (kind, at, name, count)
        for kind, items in value["spec"].items()
        for at, item in enumerate(items)
        for name, count in item["resources"]["limits"].items()
        if name in CLASSES
    ]
    found = migrated(tmp_path, value)
    assert bool(found.texts) is bool(asked)
    if not asked:
        return
    sound(found.texts)
    counts = {r["name"]: (r["exactly"]["deviceClassName"], r["exactly"]["count"]) for r in requests_of(found)}
    owners = []
    for kind, at, name, count in asked:
        after = spec_of(found)[kind][at]
        mine = [
            claim["request"] for claim in after["resources"]["claims"] if counts[claim["request"]][0] == CLASSES[name]
        ]
        given = sum(counts[request][1] for request in mine)
        once = kind == "initContainers" and "restartPolicy" not in after
        assert given >= count if once else given == count
        owners += [] if once else mine
    assert len(owners) == len(set(owners))


@pytest.mark.parametrize(
    ("resource", "device_class", "text"),
    [
        ("nvidia.com/mig-1g.5gb", "mig.nvidia.com", '"1g.5gb"'),
        ("nvidia.com/mig-1g.5gb.me", "mig.nvidia.com", '"1g.5gb+me"'),
        ("amd.com/gpu", "gpu.amd.com", '"amdgpu"'),
        ("intel.com/gpu", "gpu.intel.com", ""),
        ("intel.com/gaudi", "gaudi.intel.com", ""),
        ("openshift.io/mlxnics", "sriovnetwork.k8snetworkplumbingwg.io", '["mlxnics", "openshift.io/mlxnics"]'),
        ("intel.com/intel_sriov_a", "sriovnetwork.k8snetworkplumbingwg.io", '"intel.com/intel_sriov_a"'),
    ],
)
def test_a_known_resource_becomes_its_class_and_selector(tmp_path, resource, device_class, text):
    (request,) = requests_of(migrated(tmp_path, pod({resource: 1})))
    assert request["exactly"]["deviceClassName"] == device_class
    selectors = [selector["cel"]["expression"] for selector in request["exactly"].get("selectors", ())]
    assert text in "".join(selectors)
    assert bool(selectors) is bool(text)


SHARE = {**GPU, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 30}
SHARES = [
    (pod(SHARE), "nvidia.com/gpucores, nvidia.com/gpumem: memory, cores"),
    (pod({**GPU, "nvidia.com/gpumem-percentage": 100, "nvidia.com/gpucores": 100}), "HAMi"),
    (pod({"nvidia.com/gpumem": 3000}), "HAMi"),
    (pod({**GPU, "nvidia.com/priority": 1}), "HAMi"),
    (pod({"amd.com/gpu": 1, "amd.com/gpumem": 8000}), "HAMi"),
    (pod({"huawei.com/Ascend910B": 1, "huawei.com/Ascend910B-memory": 8000}), "HAMi"),
    (pod(GPU, initContainers=[container("prep", SHARE)]), "HAMi"),
    (pod({"nvidia.com/gpu.shared": 1}), "a time slice"),
    (pod({"nvidia.com/mig-1g.5gb.shared": 1}), "a time slice of a MIG partition"),
    (pod({"gpu.intel.com/i915": 1, "gpu.intel.com/millicores": 500}), "a part of an Intel GPU"),
    (pod({"aliyun.com/gpu-mem": 8}), "gpushare"),
    (pod({"tencent.com/vcuda-core": 50}), "GPU manager"),
    (pod({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 3000}), "Volcano"),
    (pod({}, annotations={"gpu-fraction": "0.5"}), "gpu-fraction: 0.5"),
    (pod(GPU, annotations={"gpu-memory": "2000"}), "gpu-memory: 2000"),
    (pod(GPU, nodeSelector={"nvidia.com/gpu.product": "T4-SHARED"}), "not a whole GPU"),
    (pod(GPU, nodeSelector={"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}), "not a whole GPU"),
    (pod({**GPU, "nvidia.com/mig-1g.5gb": "much"}), "only a whole number"),
    (pod({"nvidia.com/gpu": "$GPUS"}), "a variable"),
]


@pytest.mark.parametrize(("value", "why"), SHARES)
def test_a_workload_with_a_share_is_left_alone(tmp_path, value, why):
    folder = tmp_path / "work"
    for found in (
        migrated(folder, value),
        migrated(folder, value, HAMI),
        keep_names(written(folder, value), HAMI, RELEASE),
    ):
        assert why in left(found)


def test_a_class_named_for_an_amount_is_not_taken(tmp_path):
    """An amount is no number of devices: 8 GiB would become 8 GPUs."""
    found = migrated(tmp_path, pod({"aliyun.com/gpu-mem": 8}), device_classes={"aliyun.com/gpu-mem": "gpu.nvidia.com"})
    assert "gpushare" in left(found)


def test_time_slices_are_reported_from_the_labels_of_the_nodes(tmp_path):
    """Without a name of their own, only the nodes say that several pods share a GPU."""
    first, *rest = EKS.nodes
    labels = {**first.metadata.labels, "nvidia.com/gpu.replicas": "4"}
    shared = replace(EKS, nodes=(changed(first, metadata=changed(first.metadata, labels=labels)), *rest))
    value = pod(GPU)
    assert "nvidia.com/gpu.replicas=4" in left(migrated(tmp_path / "a", value, shared))
    assert migrated(tmp_path / "b", value, shared, device_classes={"nvidia.com/gpu": "gpu.nvidia.com"}).texts
    assert migrated(tmp_path / "c", value, EKS).texts


def test_the_class_of_the_cluster_serves_where_the_known_one_is_not_there(tmp_path):
    """On nodes of another driver alone, a GPU comes from the class that names the resource."""
    slices = tuple(s for s in HAMI.slices if s.spec.driver == HAMI_DRIVER)
    classes = tuple(c for c in HAMI.classes if c.name == HAMI_DRIVER)
    (request,) = requests_of(migrated(tmp_path, pod(GPU), replace(HAMI, slices=slices, classes=classes)))
    assert request["exactly"]["deviceClassName"] == HAMI_DRIVER


def ray(**params):
    group = {"rayStartParams": params, "template": {"spec": {"containers": [container("ray", GPU)]}}}
    head = {"template": {"spec": {"containers": [{"name": "head"}]}}}
    return {
        "kind": "RayCluster",
        "metadata": {"name": "p"},
        "spec": {"headGroupSpec": head, "workerGroupSpecs": [group]},
    }


@pytest.mark.parametrize(
    ("value", "rule", "text"),
    [
        (pod(GPU, annotations={"nvidia.com/nouse-gputype": "2080"}), "annotation-not-read", "nouse-gputype: 2080"),
        (pod(GPU, annotations={"k8s.v1.cni.cncf.io/networks": "n"}), "annotation-not-read", "Multus"),
        (ray(), "amount-not-read", "KubeRay"),
        (pod({"amd.com/gpu": 1}), "class-not-there", "gpu.amd.com"),
    ],
)
def test_what_reads_no_claim_is_reported(tmp_path, value, rule, text):
    """Annotations choose no device of a claim, controllers count limits only, and a class must be there."""
    (finding,) = (f for f in migrated(tmp_path, value, EKS).findings if f.rule == rule)
    assert text in finding.message


def test_a_count_that_ray_is_given_is_read(tmp_path):
    """KubeRay counts GPUs by the limits (controllers/ray/common/pod.go), unless the group says how many there are."""
    found = migrated(tmp_path, ray(**{"num-gpus": "1"}))
    assert "amount-not-read" not in {f.rule for f in found.findings}


TRAINER = {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}
DATA = {"job.yaml": yaml.safe_dump(pod({"amd.com/gpu": 8})), "other": "amd.com/gpu: 8"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"kind": "TrainJob", "spec": {"trainer": TRAINER}}, "spec.trainer.resourcesPerNode"),
        ({"kind": "ConfigMap", "data": DATA}, "amd.com/gpu is not migrated, because data['job.yaml']"),
    ],
)
def test_what_is_asked_outside_a_pod_template_is_reported(tmp_path, value, text):
    assert text in left(migrated(tmp_path, {"apiVersion": "v1", "metadata": {"name": "t"}, **value}))


def kept(folder, *limits, cluster=EKS, release="1.36", **options):
    return keep_names(written(folder, *map(pod, limits)), cluster, KubernetesRelease(release), **options)


def specs(found):
    sound(found.texts)
    made = map(yaml.safe_load, found.texts.values())
    return {item["metadata"]["name"]: item["spec"]["extendedResourceName"] for item in made}


@pytest.mark.parametrize(
    ("cluster", "resources", "expected"),
    [
        ("eks-p4d", ["nvidia.com/gpu"], {}),
        ("mig", ["nvidia.com/mig-1g.5gb"], {"mig-1g-5gb.mig.nvidia.com": "nvidia.com/mig-1g.5gb"}),
        ("eks-p4d", ["google.com/tpu"], {"tpu.google.com": "google.com/tpu"}),
        ("eks-p4d", ["intel.com/gpu"], {"gpu.intel.com": "intel.com/gpu"}),
        (
            "eks-p4d",
            ["gpu.intel.com/i915", "gpu.intel.com/xe"],
            {"gpu.intel.com": "gpu.intel.com/i915", "xe.gpu.intel.com": "gpu.intel.com/xe"},
        ),
    ],
)
def test_a_class_serves_each_resource_name(tmp_path, cluster, resources, expected):
    found = kept(tmp_path, *({name: 1} for name in resources), cluster=load_cluster(f"sample:{cluster}"))
    assert specs(found) == expected
    assert found.workloads
    assert not found.left


def test_two_names_of_one_class_without_a_name_are_two_classes(tmp_path):
    """The second name leaves the first class as it is."""
    names = {"a.example.com/x": "gpu.nvidia.com", "b.example.com/y": "gpu.nvidia.com"}
    free = replace(EKS, classes=tuple(changed(c, spec=changed(c.spec, extended_resource_name="")) for c in EKS.classes))
    found = kept(tmp_path, *({name: 1} for name in names), cluster=free, device_classes=names)
    assert sorted(specs(found).values()) == sorted(names)
    assert [f.subject for f in found.findings if f.rule == "class-changed"] == ["gpu.nvidia.com"]


def test_a_named_class_that_is_not_there_serves_no_name(tmp_path):
    found = kept(tmp_path, {"example.com/thing": 1}, device_classes={"example.com/thing": "things"})
    assert "no DeviceClass things" in left(found)


def test_a_name_that_the_release_does_not_serve_is_an_error(tmp_path):
    """Before the gate is on, the API server drops the field: the workload would wait for ever."""
    errors = {f.rule for f in kept(tmp_path, GPU, release="1.34").findings if f.severity is Severity.ERROR}
    assert errors == {"migrate-release"}
