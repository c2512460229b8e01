"""The pod templates that get the claim in published workloads, read where they lie."""

from pathlib import Path

import pytest

from dra_lab.exports.workload_file import read_workload

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
