"""`dra-lab plan --claim FILE` of a file that asks for a gang: what it says is planned, and options come first."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files
from dra_lab.model.workload import PodGroup, Workload
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


def answer(capsys: pytest.CaptureFixture[str], *options: str):
    """Return the JSON of the command on the sample."""
    main(["plan", POD, "--claim", *options, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_files_of_an_export_are_planned_as_the_gang(scheduler, tmp_path, capsys):
    """dra-lab reads what it writes for a scheduler as it was."""
    cluster = load_cluster(POD)
    tree = hierarchies(cluster)[0]
    worker = PodGroup("worker", read_sketch(f"{POD}/eight-pairs"), count=3)
    gang = Workload("train", [worker], level="leaf switch", hierarchy=tree.name)
    for name, text in gang_files(gang, scheduler, tree, cluster=cluster, queue="team-a").documents.items():
        (tmp_path / name).write_text(text)
    status = main(["plan", POD, "--claim", str(tmp_path), "-q"])
    assert (status, capsys.readouterr().out.splitlines()[0]) == (
        0,
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.",
    )


def test_a_job_without_a_word_of_gangs_is_none(tmp_path, capsys):
    """Its pods start one by one, as before."""
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    assert answer(capsys, str(file))["kind"] == "Plan"


def test_it_is_a_gang_with_the_option(tmp_path, capsys):
    """--gang says so."""
    file = tmp_path / "job.yaml"
    file.write_text(CLAIM + JOB.replace("CPUS", "1").replace("podset-required-topology", "other"))
    [gang] = answer(capsys, str(file), "--gang", "4")["workloads"]
    assert (gang["name"], gang["pods"][0]["count"], gang["level"]) == ("train", 4, "")


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
