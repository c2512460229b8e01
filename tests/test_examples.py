"""The examples: CI jobs run, manifests have the form of their kind, container files and Binder name what exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from dra_lab.cli import main

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
CONTAINERS = sorted(EXAMPLES.rglob("Containerfile"))


def read(name: str):
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


def checks(job: list[str]) -> list[list[str]]:
    """Return the `dra-lab` commands of a job, without what the shell adds."""
    lines = [re.split(r" > | \|\| ", line)[0] for line in job if line.startswith("dra-lab")]
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a capture of a cluster and exported manifests."""
    monkeypatch.chdir(tmp_path)
    claim = ["--claim", "sample:eks-p4d/gpu-nic-pairs"]
    assert main(["capture", "sample:eks-p4d", "cluster/"]) == 0
    assert main(["export", "sample:eks-p4d", *claim, "--dir", "manifests/", "--pin"]) == 0
    return tmp_path


def test_the_github_job_passes_on_good_manifests(repository):
    """Each command of the workflow ends with 0."""
    steps = read("github-actions.yml")["jobs"]["check"]["steps"]
    commands = checks([step["run"] for step in steps if "run" in step])
    assert [main(command) for command in commands] == [0]


def test_the_gitlab_job_passes_on_good_manifests(repository):
    """Each command of the job ends with 0."""
    commands = checks(read("gitlab-ci.yml")["dra-lab-check"]["script"])
    assert [main(command) for command in commands] == [0, 0]


def test_the_github_workflow_names_fixed_versions_of_actions():
    """An action without a version would change under the workflow."""
    steps = read("github-actions.yml")["jobs"]["check"]["steps"]
    assert [step["uses"] for step in steps if "uses" in step and not re.search(r"@v\d", step["uses"])] == []


def test_the_github_workflow_has_the_least_rights():
    """Nothing is allowed for the workflow; the job may read the repository and report findings."""
    workflow = read("github-actions.yml")
    rights = {"contents": "read", "security-events": "write"}
    assert (workflow["permissions"], workflow["jobs"]["check"]["permissions"]) == ({}, rights)


def test_the_checkout_keeps_no_token():
    """Later steps of the job cannot write to the repository."""
    steps = read("github-actions.yml")["jobs"]["check"]["steps"]
    (checkout,) = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False


def test_argo_cd_and_flux_apply_the_folder_that_export_writes(repository):
    """The path of both is the folder, and it has a kustomization that lists every manifest."""
    assert read("argocd/application.yaml")["spec"]["source"]["path"] == "manifests"
    assert read("flux/kustomization.yaml")["spec"]["path"] == "./manifests"
    listed = yaml.safe_load((repository / "manifests" / "kustomization.yaml").read_text(encoding="utf-8"))
    assert [name for name in listed["resources"] if not (repository / "manifests" / name).is_file()] == []


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_a_container_serves_without_root(path: Path):
    lines = [line.split(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines() if " " in line]
    assert dict(lines)["USER"] != "root"


@pytest.mark.parametrize("path", [*CONTAINERS, EXAMPLES / "binder" / "postBuild"], ids=lambda path: path.name)
def test_what_is_installed_is_an_extra_of_dra_lab(path: Path):
    """`dra-lab[EXTRA]` names an extra that there is."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"dra-lab\[(\w+)\]", path.read_text(encoding="utf-8"))
    assert named
    assert set(named) <= set(extras)
