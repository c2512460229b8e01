"""A Git repository of a stranger is data: its settings, hooks and attributes start no program."""

from __future__ import annotations

import subprocess

import pytest

from dra_lab.cli import main

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}
"""


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    """A repository with every setting that makes a command of git run a program; and the file that this would leave."""
    folder, ran = tmp_path / "repository", tmp_path / "ran"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "claim.yaml").write_text(CLAIM)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a")
    (folder / ".gitattributes").write_text("* filter=x diff=x\n")
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {ran}\n")
        path.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.smudge",
        "filter.x.clean",
        "filter.x.process",
        "gpg.program",
        "alias.rev-parse",
    ):
        git(folder, "config", name, f"{'!' if name.startswith('alias') else ''}touch {ran}")
    return folder, ran


def test_the_settings_of_a_repository_run_nothing(repository, capsys):
    """`--baseline` reads the files of a commit, and nothing of the repository runs."""
    folder, ran = repository
    main(["check", "sample:two-sockets", str(folder), "--baseline", "HEAD"])
    assert "claim" in capsys.readouterr().out
    assert not ran.exists()


@pytest.mark.parametrize("revision", ["--output=x", "-h", "HEAD --exec=x", "--upload-pack=x"])
def test_a_revision_is_never_an_option(repository, revision, capsys):
    """A text that looks like an option of git is a revision that does not exist."""
    folder, _ = repository
    assert main(["check", "sample:two-sockets", str(folder), f"--baseline={revision}"]) == 2
    assert "there is no revision" in capsys.readouterr().err


@pytest.mark.long
def test_the_files_of_a_revision_are_counted_before_they_are_read(repository, capsys):
    """A few hundred bytes of a repository may unpack to any size."""
    folder, _ = repository
    with (folder / "zeros.yaml").open("wb") as file:
        file.truncate(300 * 2**20)
    git(
        folder,
        "-c",
        "core.attributesFile=/dev/null",
        "-c",
        "filter.x.clean=",
        "-c",
        "filter.x.process=",
        "add",
        "zeros.yaml",
    )
    git(folder, "commit", "-q", "-m", "b")
    (folder / "zeros.yaml").unlink()
    assert main(["check", "sample:two-sockets", str(folder), "--baseline", "HEAD"]) == 2
    assert "the limit is 268,435,456" in capsys.readouterr().err
