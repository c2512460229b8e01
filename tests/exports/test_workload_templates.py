"""Which pod templates of a person's workload get the claim."""

from pathlib import Path

import pytest
import yaml
from test_manifest_text import ON, PAIRS, R136

from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.exports.manifests import manifest_files
from dra_lab.exports.workload import patch_copy
from dra_lab.exports.workload_file import read_workload
from dra_lab.sketch.claim_objects import Target

CLAIM = manifest_files(PAIRS, ON, Target(R136)).claims[0]
GPUS = {"limits": {"nvidia.com/gpu": 8}}
HEAD, SMALL, LARGE = "spec.headGroupSpec", "spec.workerGroupSpecs[0]", "spec.workerGroupSpecs[1]"


def _group(resources=None, **fields):
    container = {"name": "main", **({"resources": resources} if resources else {})}
    return {**fields, "template": {"spec": {"containers": [container]}}}


def _ray(head=None, small=None, large=None):
    groups = [_group(small, groupName="small", replicas=2), _group(large, groupName="large", replicas=3)]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "r"},
        "spec": {"headGroupSpec": _group(head), "workerGroupSpecs": groups},
    }


def _read(folder, *values, templates=()):
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump_all(values))
    return read_workload(path, templates)


def _chosen(workload):
    return [field.template.removesuffix(".template") for field in workload.templates]


def test_the_templates_that_ask_for_devices_today_get_the_claim(tmp_path):
    """Nothing is put into the head and the group without devices, and only the pods of the others are counted."""
    workload = _read(tmp_path, _ray(large=GPUS))
    assert (_chosen(workload), workload.pods) == ([LARGE], 3)
    spec = yaml.safe_load(patch_copy(workload, CLAIM).text)["spec"]
    with_claim = [
        part["template"]["spec"].get("resourceClaims") for part in (spec["headGroupSpec"], *spec["workerGroupSpecs"])
    ]
    assert [bool(claims) for claims in with_claim] == [False, False, True]


def test_a_claim_of_today_counts_as_well_as_a_resource(tmp_path):
    """A template that names a claim asks for devices."""
    value = _ray()
    pod = value["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    pod["resourceClaims"] = [{"name": "nic", "resourceClaimTemplateName": "one-nic"}]
    assert _chosen(_read(tmp_path, value)) == [SMALL]


def test_templates_that_ask_for_the_same_all_get_the_claim(tmp_path):
    workload = _read(tmp_path, _ray(small=GPUS, large=GPUS))
    assert (_chosen(workload), workload.pods) == ([SMALL, LARGE], 5)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (_ray(small=GPUS, large={"limits": {"nvidia.com/gpu": 1}}), "different devices"),
        (_ray(head={"limits": {"nvidia.com/gpu": 1}}, large=GPUS), "different devices"),
        (_ray(), "none of them requests"),
    ],
)
def test_what_is_not_clear_stops_with_the_templates(tmp_path, value, why):
    """The error lists every template with its pods and devices, and names the option that chooses."""
    with pytest.raises(InputError, match=why) as refusal:
        _read(tmp_path, value)
    assert "--template PATH" in str(refusal.value)
    assert f"{LARGE}.template (3 pods; asks for" in str(refusal.value)
    assert f"{HEAD}.template (head, 1 pod; asks for" in str(refusal.value)


@pytest.mark.parametrize("name", [f"{SMALL}.template", f"{SMALL}.template.spec", f".{SMALL}.template"])
def test_a_named_template_gets_the_claim_whatever_asks(tmp_path, name):
    """`--template` decides, by the path of the template or of the spec in it."""
    workload = _read(tmp_path, _ray(large=GPUS), templates=[name])
    assert (_chosen(workload), workload.pods) == ([SMALL], 2)


def test_an_unknown_template_is_refused_with_the_ones_there_are(tmp_path):
    with pytest.raises(InputError, match=r"has no pod template 'spec\.other'") as refusal:
        _read(tmp_path, _ray(large=GPUS), templates=["spec.other"])
    assert f"{LARGE}.template" in str(refusal.value)


def test_the_only_template_that_works_is_clear_without_devices(tmp_path):
    """An MPIJob's launcher starts the workers; these get the claim."""
    spec = {"mpiReplicaSpecs": {"Launcher": _group(replicas=1), "Worker": _group(replicas=4)}}
    workload = _read(tmp_path, {"kind": "MPIJob", "metadata": {"name": "m"}, "spec": spec})
    assert (_chosen(workload), workload.pods) == (["spec.mpiReplicaSpecs.Worker"], 4)


def test_the_object_that_asks_for_devices_is_the_workload(tmp_path):
    web = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": _group(replicas=9)}
    workload = _read(tmp_path, web, _ray(large=GPUS))
    assert (workload.title, workload.pods) == ("RayCluster/r", 3)
    first, second = yaml.safe_load_all(patch_copy(workload, CLAIM).text)
    assert first == web
    assert "resourceClaims" in second["spec"]["workerGroupSpecs"][1]["template"]["spec"]


def test_the_container_that_asks_for_devices_gets_them(tmp_path):
    """A daemon beside it, though first in the list, gets none."""
    value = {"kind": "Pod", "metadata": {"name": "p"}}
    value["spec"] = {"containers": [{"name": "daemon"}, {"name": "train", "resources": GPUS}]}
    containers = yaml.safe_load(patch_copy(_read(tmp_path, value), CLAIM).text)["spec"]["containers"]
    assert ["claims" in container.get("resources", {}) for container in containers] == [False, True]


def test_a_train_job_says_whose_pods_it_runs(tmp_path):
    """It has no pod template, so that the claim belongs into its runtime."""
    job = {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}}}
    with pytest.raises(InputError, match="ClusterTrainingRuntime/torch"):
        _read(tmp_path, job)


def test_a_runtime_runs_the_nodes_of_its_train_job(tmp_path):
    """Where the file has both, the TrainJob says how many nodes its runtime gets."""
    step = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": _group(GPUS)}
    runtime = {"kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}}
    jobs = {"spec": {"replicatedJobs": [{"name": "node", "template": step}]}}
    runtime["spec"] = {"mlPolicy": {"numNodes": 1}, "template": jobs}
    job = {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 6}}}
    assert _read(tmp_path, runtime).pods == 1
    assert _read(tmp_path, job, runtime).pods == 6
    assert _read(tmp_path, {**job, "spec": {"trainer": {"numNodes": 6}}}, runtime).pods == 1


def test_a_model_server_of_kserve_gets_the_claim(tmp_path):
    """Its container is the field `model`, and the pod's claims are fields of the predictor."""
    value = {"kind": "InferenceService", "metadata": {"name": "i"}}
    value["spec"] = {"predictor": {"minReplicas": 2, "model": {"modelFormat": {"name": "x"}, "resources": GPUS}}}
    workload = _read(tmp_path, value)
    predictor = yaml.safe_load(patch_copy(workload, CLAIM).text)["spec"]["predictor"]
    assert workload.pods == 2
    assert predictor["model"]["resources"]["claims"] == [{"name": "devices"}]
    assert predictor["resourceClaims"][0]["resourceClaimTemplateName"] == "pairs"


def test_the_command_plans_the_pods_of_the_named_template(tmp_path, capsys):
    """`--template` says which pods there are to plan for; without `--workload` it names nothing."""
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(_ray(small=GPUS, large={"limits": {"nvidia.com/gpu": 1}})))
    command = ["export", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", "--dir", str(tmp_path / "out")]
    assert main([*command, "--workload", str(path)]) == 2
    assert f" {SMALL}.template (2 pods; asks for nvidia.com/gpu: 8)" in capsys.readouterr().err
    main([*command, "--workload", str(path), "--template", f"{LARGE}.template"])
    assert "note: 3 replicas are planned" in capsys.readouterr().err
    assert main([*command, "--template", f"{LARGE}.template"]) == 2


FOLDER = Path(__file__).parents[2].parent / "shared" / "real-files"
RAY = "device-plugin/ray-project+kuberay/ray-operator/config/samples"
FILES = {
    "device-plugin/kubeflow+trainer/manifests/base/runtimes/torchtune/llama3_2/llama3_2_1B.yaml": (
        ["spec.template.spec.replicatedJobs[2].template.spec.template"],
        1,
    ),
    "device-plugin/kubernetes-sigs+lws/docs/examples/vllm/TPU/lws.yaml": (
        ["spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"],
        8,
    ),
    "device-plugin/kubernetes-sigs+kueue/site/static/examples/serving-workloads/sample-leaderworkerset-tas.yaml": (
        ["spec.leaderWorkerTemplate.workerTemplate"],
        4,
    ),
    f"{RAY}/ray-job.tpu-v6e-16-multihost.yaml": (["spec.rayClusterSpec.workerGroupSpecs[0].template"], 4),
    f"{RAY}/ray-service.deepseek.yaml": (["spec.rayClusterConfig.workerGroupSpecs[0].template"], 2),
    f"{RAY}/ray-cluster.tpu-v4-singlehost.yaml": (["spec.workerGroupSpecs[0].template"], 1),
    "device-plugin/oracle-quickstart+oci-hpc-oke/manifests/nccl-tests/kueue/BM.GPU.GB200.4.yaml": (
        ["spec.mpiReplicaSpecs.Worker.template"],
        2,
    ),
    "manifests/kubernetes-sigs+dranet/examples/mpi_operator/nccl-test-job.yaml": (
        ["spec.mpiReplicaSpecs.Worker.template"],
        2,
    ),
    "manifests/kubernetes-sigs+jobset/site/static/examples/workload-aware-scheduling/dra/jobset.yaml": (
        ["spec.replicatedJobs[0].template.spec.template"],
        6,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_launchers_heads_and_initializers_of_published_workloads_get_no_claim(name):
    """The claim goes to the pods that ask for devices today, and these are counted as their kind counts them."""
    if not (FOLDER / name).is_file():
        pytest.skip(f"{FOLDER / name} is not there")
    workload = read_workload(FOLDER / name)
    assert ([field.template for field in workload.templates], workload.pods) == FILES[name]
