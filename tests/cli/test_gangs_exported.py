"""`dra-lab export --gang`: the folder for each scheduler, what it cannot express, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from crd_schemas import problems

from dra_lab.cli import main
from dra_lab.exports.gangs.gang_files import SCHEDULERS

POD = "sample:h100-pod"
POD_SPEC = """
      spec:
        resourceClaims: [{name: gpus, resourceClaimTemplateName: eight}]
        containers: [{name: main, image: serve, resources: {claims: [{name: gpus}]}}]"""
GANG = [POD, "--claim", f"{POD}/eight-pairs", "--gang", "3", "--level", "leaf switch", "--queue", "training/train"]


def exported(folder: Path, *options: str) -> int:
    """Write the gang to a folder; return the exit status."""
    return main(["export", *GANG, "--dir", str(folder), *options])


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_file_is_in_the_record_and_the_readme(scheduler, tmp_path):
    """plan.json has the digest of each file, README.md names them."""
    assert exported(tmp_path, "--scheduler", scheduler) == 0
    names = {path.name for path in tmp_path.iterdir()} - {"plan.json"}
    record, readme = json.loads((tmp_path / "plan.json").read_text()), (tmp_path / "README.md").read_text()
    assert (set(record["files"]), [name for name in names if f"`{name}`" not in readme]) == (names, [])


def test_same_is_refused_for_pods_that_keep_their_claims(tmp_path, capsys):
    """The files would not fix the values that the answer names."""
    file = str(Path(__file__).parents[1] / "golden" / "inputs" / "kueue-job.yaml")
    words = ["export", POD, "--claim", file, "--same", "resource.kubernetes.io/pcieRoot", "--queue", "training/train"]
    assert main([*words, "--scheduler", "kueue", "--workload", file, "--dir", str(tmp_path / "out")]) == 2
    assert "--same writes selectors into claims" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_configuration_is_not_applied(tmp_path, capsys):
    """kueue-configuration.yaml is a part of Kueue's own file, so that neither kustomize nor -o yaml has it."""
    exported(tmp_path, "--scheduler", "kueue")
    capsys.readouterr()
    main(["export", *GANG, "--scheduler", "kueue", "-o", "yaml"])
    applied = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"]
    assert ("kueue-configuration.yaml" in applied, "Configuration" in capsys.readouterr().out) == (False, False)


LEADERS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: eight}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}]}}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 3
    leaderTemplate:{0}
    workerTemplate:{0}
""".replace("{0}", POD_SPEC)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_leader_and_workers_of_a_file_become_a_gang_with_the_level_of_the_option(scheduler, tmp_path):
    """The file has the size. What is written is accepted by the schemas, and both templates have the pin in full."""
    (tmp_path / "serve.yaml").write_text(LEADERS)
    file = str(tmp_path / "serve.yaml")
    options = [POD, "--claim", file, "--level", "leaf switch", "--queue", "training/train", "--workload", file, "--pin"]
    assert main(["export", *options, "--scheduler", scheduler, "--dir", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "serve.yaml").read_text()
    files = [path for path in (tmp_path / "out").glob("*.yaml") if path.name != "kustomization.yaml"]
    documents = [one for path in files for one in yaml.safe_load_all(path.read_text())]
    assert [problem for one in documents for problem in problems(one)] == []
    assert (text.count("- leaf-"), "*id" in text) == (2, False)


def test_a_gang_without_a_place_is_written_only_if_a_person_accepts_it(tmp_path, capsys):
    """No leaf switch has four idle servers."""
    large = ["export", POD, "--claim", f"{POD}/eight-pairs", "--gang", "4", "--level", "leaf switch", "--queue", "q"]
    options = [*large, "--scheduler", "kai", "--dir", str(tmp_path / "new")]
    assert (main(options), (tmp_path / "new").exists()) == (1, False)
    assert (main([*options, "--allow-worse"]), (tmp_path / "new").exists()) == (1, True)


def test_files_that_the_scheduler_refuses_are_not_written(tmp_path, capsys):
    """Without a queue Kueue does not manage the Job."""
    status = main(["export", *GANG[:-2], "--scheduler", "kueue", "--dir", str(tmp_path / "new")])
    said = capsys.readouterr().err
    assert (status, (tmp_path / "new").exists(), "Correct the error above." in said) == (1, False, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([*GANG], "--scheduler is missing"),
        ([*GANG[:3], "--scheduler", "kai"], "--scheduler kai is for a gang"),
        ([*GANG, "--scheduler", "kai", "--example", "job"], "--example is not for the files of a gang"),
        ([*GANG, "--scheduler", "kai", "--report"], "--report is not for the files of a gang"),
        ([*GANG[:5], "--scheduler", "kai", "--pin", "--queue", "q"], "--pin holds a gang to its planned domain"),
        ([*GANG, "--scheduler", "kai", "--claim", f"{POD}/eight-pairs"], "one gang is exported at a time"),
        ([*GANG, "--scheduler", "kai", "--node", "h100-01"], "--node is for one claim"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, expected, tmp_path, capsys):
    """The message says what to do."""
    status = main(["export", *options, "--dir", str(tmp_path / "new")])
    assert (status, expected in capsys.readouterr().err, (tmp_path / "new").exists()) == (2, True, False)


def test_the_containers_of_a_file_are_not_in_the_export(tmp_path, capsys):
    """A person must copy them."""
    exported(tmp_path / "one", "--scheduler", "kai")
    main(["export", POD, "--claim", str(tmp_path / "one"), "--queue", "q", "--scheduler", "kueue", "-o", "yaml"])
    assert "the files have example pods" in capsys.readouterr().err
