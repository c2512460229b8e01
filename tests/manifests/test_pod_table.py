"""Which fields of which kind are pod templates, and how many pods they run."""

import random

import pytest

from dra_lab.manifests.device_asks import asks_outside, requested_devices
from dra_lab.manifests.pod_templates import pod_fields
from dra_lab.manifests.yaml_text import value_at

POD = {"containers": [{"name": "main"}]}


def _template(**others):
    return {**others, "template": {"spec": POD}}


def _leader_workers(leader, **group):
    inside = {"workerTemplate": {"spec": POD}, **({"leaderTemplate": {"spec": POD}} if leader else {})}
    return {**group, "leaderWorkerTemplate": {**inside, **({"size": group["size"]} if "size" in group else {})}}


def _ray(*groups):
    return {"headGroupSpec": _template(), "workerGroupSpecs": [_template(**group) for group in groups]}


def _step(name, **job):
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": name} if name else {}
    return {"name": job.pop("called", name), "template": {"metadata": {"labels": label}, "spec": _template(**job)}}


def _runtime(policy, *jobs):
    return {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}


CLIQUES = {
    "replicas": 2,
    "template": {
        "cliques": [
            {"name": "router", "spec": {"replicas": 1, "podSpec": POD}},
            {"name": "decode", "spec": {"replicas": 4, "podSpec": POD}},
        ],
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["decode"], "replicas": 3}],
    },
}
MPI = {"mpiReplicaSpecs": {"Launcher": _template(replicas=1), "Worker": _template(replicas=3)}}
NODE_AND_LAUNCHER = (_step("", called="node"), _step("trainer", called="launcher"))
KINDS = {
    "MPIJob": (MPI, {"spec.mpiReplicaSpecs.Launcher": ("launcher", 1), "spec.mpiReplicaSpecs.Worker": ("", 3)}),
    "PyTorchJob": (
        {"pytorchReplicaSpecs": {"Master": _template(), "Worker": _template(replicas=7)}},
        {"spec.pytorchReplicaSpecs.Master": ("", 1), "spec.pytorchReplicaSpecs.Worker": ("", 7)},
    ),
    "RayCluster": (
        _ray({"replicas": 2, "numOfHosts": 4}, {"minReplicas": 3}, {"replicas": 9, "maxReplicas": 5}),
        {
            "spec.headGroupSpec": ("head", 1),
            "spec.workerGroupSpecs[0]": ("", 8),
            "spec.workerGroupSpecs[1]": ("", 3),
            "spec.workerGroupSpecs[2]": ("", 5),
        },
    ),
    "RayJob": (
        {"rayClusterSpec": _ray({"replicas": 2}), "submitterPodTemplate": {"spec": POD}},
        {
            "spec.rayClusterSpec.headGroupSpec": ("head", 1),
            "spec.rayClusterSpec.workerGroupSpecs[0]": ("", 2),
            "spec.submitterPod": ("submitter", 1),
        },
    ),
    "RayService": (
        {"rayClusterConfig": _ray({"replicas": 2})},
        {"spec.rayClusterConfig.headGroupSpec": ("head", 1), "spec.rayClusterConfig.workerGroupSpecs[0]": ("", 2)},
    ),
    "LeaderWorkerSet": (
        _leader_workers(leader=True, replicas=2, size=4),
        {"spec.leaderWorkerTemplate.leader": ("", 2), "spec.leaderWorkerTemplate.worker": ("", 6)},
    ),
    "DisaggregatedSet": (
        {"slices": 2, "roles": [{"spec": _leader_workers(leader=False, replicas=3, size=4)}]},
        {"spec.roles[0].spec.leaderWorkerTemplate.worker": ("", 24)},
    ),
    "JobSet": (
        {"replicatedJobs": [{"replicas": 2, "template": {"spec": _template(parallelism=4, completions=3)}}]},
        {"spec.replicatedJobs[0].template.spec": ("", 6)},
    ),
    "Job": (
        {"tasks": [_template(replicas=1), _template(replicas=8)]},
        {"spec.tasks[0]": ("", 1), "spec.tasks[1]": ("", 8)},
    ),
    "PodCliqueSet": (
        CLIQUES,
        {"spec.template.cliques[0].spec.podSpec": ("", 2), "spec.template.cliques[1].spec.podSpec": ("", 24)},
    ),
    "ClusterTrainingRuntime": (
        _runtime({"numNodes": 5}, _step("model-initializer"), _step("trainer")),
        {
            "spec.template.spec.replicatedJobs[0].template.spec": ("model-initializer", 1),
            "spec.template.spec.replicatedJobs[1].template.spec": ("", 5),
        },
    ),
    "TrainingRuntime": (
        _runtime({"numNodes": 5, "mpi": {}}, *NODE_AND_LAUNCHER),
        {
            "spec.template.spec.replicatedJobs[0].template.spec": ("", 5),
            "spec.template.spec.replicatedJobs[1].template.spec": ("launcher", 1),
        },
    ),
    "Workload": ({"podSets": [_template(count=6)]}, {"spec.podSets[0]": ("", 6)}),
    "InferenceService": ({"predictor": {**POD, "minReplicas": 2}}, {"spec.predictor": ("", 2)}),
    "AppWrapper": (
        {"components": [{"template": {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "spec": MPI}}]},
        {
            "spec.components[0].template.spec.mpiReplicaSpecs.Launcher": ("launcher", 1),
            "spec.components[0].template.spec.mpiReplicaSpecs.Worker": ("", 3),
        },
    ),
    "Unknown": ({"roles": [{"replicas": 3, "podSpec": POD}]}, {"spec.roles[0].podSpec": ("", 3)}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_templates_of_a_kind_have_their_pods(kind):
    """A kind's own arithmetic says how many pods a template runs, and which templates only help the others."""
    spec, expected = KINDS[kind]
    fields = pod_fields({"kind": kind, "spec": spec})
    short = [field.template.removesuffix(".template").removesuffix("Template") for field in fields]
    found = {name: (field.helper, field.pods) for name, field in zip(short, fields, strict=True)}
    assert found == expected


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        # an MPIJob's launcher is one of the workers
        ("MPIJob", {**MPI, "runLauncherAsWorker": True}, [("", 1), ("", 3)]),
        # the launcher is one of the `numNodes`
        ("TrainingRuntime", _runtime({"numNodes": 5, "mpi": {"runLauncherAsNode": True}}, *NODE_AND_LAUNCHER),
         [("", 4), ("", 1)]),
        # `size` counts the leader, so that a group of one runs no worker
        ("LeaderWorkerSet", _leader_workers(leader=True, replicas=2, size=1), [("", 2), ("", 0)]),
    ],
)  # fmt: skip
def test_a_launcher_or_leader_may_work_itself(kind, spec, expected):
    fields = pod_fields({"kind": kind, "spec": spec})
    assert [(field.helper, field.pods) for field in fields] == expected


@pytest.mark.parametrize("broken", [None, [], "text", 7, {"cliques": 3}, {"cliques": [None, {"spec": []}]}])
def test_what_is_broken_has_no_templates(broken):
    """A field of a wrong type is left to the API's validation."""
    assert not pod_fields({"kind": "PodCliqueSet", "spec": {"template": broken}})


def _broken(value, draw):
    if draw.random() < 0.08:
        return draw.choice([None, [], {}, "text", -1, 2.5, True, [None], {"a": None}, [[{}]]])
    if isinstance(value, dict):
        return {key: _broken(child, draw) for key, child in value.items()}
    return [_broken(child, draw) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS)
def test_broken_fields_do_no_harm(kind):
    """A path that is returned leads to its spec, and counts are whole numbers, whatever stands in other fields."""
    for seed in range(60):
        value = {"kind": kind, "spec": _broken(KINDS[kind][0], random.Random(seed))}
        for field in pod_fields(value):
            assert value_at(value, field.path) is field.spec
            assert isinstance(field.pods, int)
            assert field.pods >= 0
            requested_devices(field.spec)
        assert list(asks_outside(value)) == []
