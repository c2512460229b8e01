"""`dra-lab plan --claim FILE` of a file that asks for a gang: what it says is planned, and options come first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dra_lab.cli import main
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.topology.hierarchies import hierarchies

POD = "sample:h100-pod"
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: eight}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}]}}}
---
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team-a}}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: topology.example.com/leaf}}
    spec:
      restartPolicy: Never
      resourceClaims: [{name: gpus, resourceClaimTemplateName: eight}]
      containers: [{name: main, image: train, resources: {requests: {cpu: CPUS}, claims: [{name: gpus}]}}]
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    """Return a file with a Job of Kueue whose pods request 128 CPUs and eight GPUs."""
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "'128'"))
    return str(file)


def answer(capsys: pytest.CaptureFixture[str], *options: str):
    """Return the JSON of the command on the sample."""
    main(["plan", POD, "--claim", *options, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_files_of_an_export_are_planned_as_the_gang(scheduler, tmp_path, capsys):
    """dra-lab reads what it writes for a scheduler as it was."""
    cluster = load_cluster(POD)
    tree = hierarchies(cluster)[0]
    worker = Workload("worker", read_sketch(f"{POD}/eight-pairs"), replicas=3)
    gang = Gang("train", [GangGroup(worker)], "leaf switch", hierarchy=tree.name)
    for name, text in gang_files(gang, scheduler, tree, cluster=cluster, queue="team-a").documents.items():
        (tmp_path / name).write_text(text)
    status = main(["plan", POD, "--claim", str(tmp_path), "-q"])
    assert (status, capsys.readouterr().out.splitlines()[0]) == (
        0,
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.",
    )


def test_size_level_and_queue_are_those_of_the_file(job, capsys):
    """A label key becomes the name of the level."""
    [gang] = answer(capsys, job)["gangs"]
    assert (gang["name"], gang["size"], gang["level"], gang["queue"]) == ("train", 3, "leaf switch", "team-a")


def test_options_come_before_the_file(job, capsys):
    """Size, level, queue and the number of gangs."""
    options = ["--gang", "2", "--level", "spine", "--queue", "team-b", "--replicas", "2"]
    [gang] = answer(capsys, job, *options)["gangs"]
    assert [gang[key] for key in ("size", "level", "queue", "replicas")] == [2, "spine", "team-b", 2]


def test_kueue_counts_the_cpus_of_the_pods(job, capsys):
    """A node has 224 CPUs, so that each node gets one pod, and leaf-1 has two idle servers of three."""
    kueue = answer(capsys, job)["gangs"][0]["schedulers"][1]
    assert [row["wanted"] for row in kueue["domains"]] == [1, 1, 1]


def test_a_job_without_a_word_of_gangs_is_none(tmp_path, capsys):
    """Its pods start one by one, as before."""
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    assert answer(capsys, str(file))["kind"] == "Plan"


def test_it_is_a_gang_with_the_option(tmp_path, capsys):
    """--gang says so."""
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    [gang] = answer(capsys, str(file), "--gang", "4")["gangs"]
    assert (gang["name"], gang["size"], gang["level"]) == ("train", 4, "")


def test_findings_of_the_file_are_shown(tmp_path, capsys):
    """A soft topology of Volcano is planned without a level, which a person must know."""
    file = tmp_path / "job.yaml"
    text = JOB.replace("CPUS", "1").partition("  template:")
    tasks = (
        "  minAvailable: 2\n  networkTopology: {mode: soft}\n  tasks:\n  - name: worker\n    replicas: 3\n    template:"
    )
    pod = text[2].replace("\n  ", "\n    ")
    start = text[0].replace("batch/v1", "batch.volcano.sh/v1alpha1").replace("  parallelism: 3\n  completions: 3\n", "")
    file.write_text(CLAIM + start + tasks + pod)
    main(["plan", POD, "--claim", str(file)])
    assert "networkTopology is soft" in capsys.readouterr().err


def test_a_size_for_several_groups_is_refused(tmp_path, capsys):
    """It is not known which group has the size."""
    file = tmp_path / "jobset.yaml"
    pod = JOB.replace("CPUS", "1").partition("  template:\n")[2].replace("\n    ", "\n            ").rstrip()
    template = f"        template:\n            {pod.lstrip()}"
    jobs = "\n".join(f"  - name: {name}\n    template:\n      spec:\n{template}" for name in ("a", "b"))
    head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n  replicatedJobs:\n"
    file.write_text(CLAIM + head + jobs)
    assert main(["plan", POD, "--claim", str(file), "--gang", "2"]) == 2
    assert "is for one group of pods" in capsys.readouterr().err
