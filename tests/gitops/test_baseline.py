"""`dra-lab check --baseline REF`: what is new since a git revision, and the summary of a pull request."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from small_manifests import request, template, workload

from dra_lab.cli import main

EKS = "sample:eks-p4d"


def manifest(name: str, count: int) -> str:
    many = f"count: {count}"
    pairs = template(name, request("gpu", "gpu.nvidia.com", many), request("nic", "dranet", many))
    return pairs + workload(name, name, fields=["replicas: 1"])


def git(*words: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository with a workload that fits and one that does not, committed on the branch `main`."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "train.yaml").write_text(manifest("train", 2))
    (folder / "large.yaml").write_text(manifest("large", 9))
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    return folder


def checked(capsys, *words: str, ref: str = "main") -> tuple[int, str]:
    """Return the exit status and the output of a check against a revision."""
    status = main(["check", EKS, "manifests", "--baseline", ref, *words])
    return status, capsys.readouterr().out


def changes(capsys) -> dict[str, str]:
    """Return what became of each claim."""
    value = json.loads(checked(capsys, "-o", "json")[1])
    return {change["object"]: change["change"] for change in value["baseline"]["changes"]}


def test_what_failed_before_is_not_new(repository, capsys):
    (repository / "other.yaml").write_text(manifest("other", 1))
    status, found = checked(capsys)
    assert (status, found.startswith("No new failure since main (")) == (0, True)


def test_a_claim_that_no_longer_fits_fails_the_check(repository, capsys):
    (repository / "train.yaml").write_text(manifest("train", 9))
    status, found = checked(capsys)
    assert (status, "Deployment/train: does not fit" in found, "Deployment/large: does" in found) == (1, True, False)


def test_every_change_has_its_word(repository, capsys):
    (repository / "new.yaml").write_text(manifest("new", 1))
    (repository / "large.yaml").unlink()
    (repository / "train.yaml").write_text(manifest("train", 4))
    assert changes(capsys) == {"Deployment/new": "new", "Deployment/train": "changed", "Deployment/large": "removed"}


def test_a_claim_that_fits_now_is_better(repository, capsys):
    (repository / "large.yaml").write_text(manifest("large", 2))
    value = json.loads(checked(capsys, "-o", "json")[1])
    words = {change["object"]: change["change"] for change in value["baseline"]["changes"]}
    assert words == {"Deployment/large": "better", "Deployment/train": ""}
    assert "does-not-fit" in [finding["rule"] for finding in value["baseline"]["gone"]]


def test_a_renamed_file_changes_nothing(repository, capsys):
    (repository / "train.yaml").rename(repository / "moved.yaml")
    value = json.loads(checked(capsys, "-o", "json")[1])
    assert [change["change"] for change in value["baseline"]["changes"]] == ["", ""]
    assert (value["outcome"], value["findings"], value["baseline"]["gone"]) == ("fits", [], [])


def test_reports_for_machines_have_what_is_new_only(repository, capsys):
    """SARIF has no result that the revision has."""
    (repository / "train.yaml").write_text(manifest("train", 9))
    (run,) = json.loads(checked(capsys, "-o", "sarif")[1])["runs"]
    places = [result["locations"][0] for result in run["results"] if "locations" in result]
    files = {place["physicalLocation"]["artifactLocation"]["uri"] for place in places}
    assert files == {"manifests/train.yaml"}


def test_the_summary_has_a_row_for_each_change_and_its_pictures_beside_it(repository, capsys):
    (repository / "train.yaml").write_text(manifest("train", 4))
    _, printed = checked(capsys, "-o", "markdown", "--dir", "summary")
    written = (repository.parent / "summary" / "summary.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", written)
    assert links == ["Deployment-train-before.svg", "Deployment-train-after.svg"]
    assert all((repository.parent / "summary" / link).read_text().startswith("<svg") for link in links)
    assert written.startswith(printed)


def test_the_markdown_has_both_values_of_what_changed(repository, capsys):
    (repository / "train.yaml").write_text(manifest("train", 4))
    (row,) = [line for line in checked(capsys, "-o", "markdown")[1].splitlines() if "| Deployment/train |" in line]
    _, subject, change, fits, node, paired, goals, _ = (cell.strip() for cell in row.split("|"))
    assert (subject, change, paired) == ("Deployment/train", "changed", "2 of 2 → 4 of 4")
    assert ("→" in fits, "→" in node, "→" in goals) == (True, False, True)


REFUSED = {
    "no such revision": (["--baseline", "no-such"], "there is no revision 'no-such'"),
    "an option": (["--baseline=--output=x"], "there is no revision"),
    "a folder alone": (["--dir", "out"], "--dir needs --baseline REF and -o markdown"),
    "a folder for text": (["--baseline", "main", "--dir", "out"], "--dir needs --baseline REF and -o markdown"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compared_is_refused(words, said, repository, capsys):
    assert main(["check", EKS, "manifests", *words]) == 2
    assert said in capsys.readouterr().err


def test_files_outside_a_repository_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "a.yaml").write_text(manifest("a", 1))
    assert main(["check", EKS, str(tmp_path / "a.yaml"), "--baseline", "main"]) == 2
    assert "--baseline needs a git repository around" in capsys.readouterr().err


def test_a_path_that_the_revision_lacks_is_new(repository, capsys):
    """A folder that a change adds has nothing to be compared with."""
    (repository.parent / "more").mkdir()
    (repository.parent / "more" / "a.yaml").write_text(manifest("a", 1))
    assert main(["check", EKS, "more", "--baseline", "main", "-o", "json"]) == 0
    assert [one["change"] for one in json.loads(capsys.readouterr().out)["baseline"]["changes"]] == ["new"]


@pytest.mark.parametrize("now", [False, True])
def test_a_picture_shows_devices_in_use_only_if_they_count(repository, capsys, now):
    (repository / "train.yaml").write_text(manifest("train", 1), encoding="utf-8")
    text = checked(capsys, "-o", "markdown", "--dir", "summary", *(["--now"] if now else []))[1]
    picture = (repository.parent / "summary" / "Deployment-train-after.svg").read_text(encoding="utf-8")
    assert ("in use by" in picture, "nothing in use" in text) == (now, not now)
