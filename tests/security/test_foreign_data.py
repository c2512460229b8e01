"""`dra-lab lab` in a folder that a stranger prepared: nothing in it runs, and nothing outside it is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dra_lab.cli import main


def start(folder):
    """Start `dra-lab lab` in a folder up to the moment in which JupyterLab has read its options."""
    command = [Path(sys.executable).parent / "dra-lab", "lab", "--version"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with a package `dra_lab` and with links where a notebook was written once; it has been started in."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab")
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "dra_lab").mkdir()
    (folder / "dra_lab" / "__init__.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    (folder / "victim").write_text("mine")
    (folder / "plan.ipynb.new").symlink_to(folder / "victim")
    (folder / "plan.ipynb").symlink_to(folder / "made")
    start(folder)
    return folder


@pytest.mark.long
def test_a_start_imports_nothing_from_the_current_folder(prepared):
    assert not (prepared / "ran").exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ["victim", "made"])
def test_a_notebook_is_never_written_through_a_link(prepared, name):
    """A link with the notebook's name, or with that of an unfinished one, is not followed."""
    path = prepared / name
    assert (path.read_text() if path.exists() else None) == {"victim": "mine", "made": None}[name]


@pytest.mark.long
def test_a_notebook_takes_the_next_free_name(prepared):
    assert (prepared / "plan-2.ipynb").is_file()


@pytest.mark.long
def test_no_two_starts_create_the_same_notebook(tmp_path):
    """The content of a new notebook cannot be written in advance."""
    pytest.importorskip("jupyterlab", reason="needs JupyterLab")
    marks = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        start(tmp_path / name)
        marks.add(json.dumps(json.loads((tmp_path / name / "plan.ipynb").read_text())["metadata"]))
    assert len(marks) == 2


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


FORGED = "\n::error::forged\n"


def slices(name):
    """Return a cluster with one slice whose device has a field that does not exist."""
    device = {"name": "d0", "attributes": {}, name: 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"s{name}"}}
    return json.dumps({**head, "spec": {**spec, "devices": [device]}})


@pytest.mark.parametrize("sign", ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_a_name_forges_no_line_on_standard_error(sign, tmp_path, capsys):
    """A line end in a name is shown as an escape, so that one finding is one line."""
    file = tmp_path / "cluster.json"
    file.write_text(slices(f"{sign}::error::forged{sign}"))
    main(["plan", str(file), "--claim", "sample:two-sockets/lesson"])
    said = capsys.readouterr().err
    assert "forged" in said
    assert not [line for line in said.splitlines() if line.startswith("::")]


def test_an_error_is_one_line(tmp_path, capsys):
    """The error that ends a command cannot forge a line either."""
    file = tmp_path / "claim.yaml"
    kind = json.dumps(f"ResourceClaim{FORGED}")
    file.write_text(
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a}}\nspec: {{{kind}: 1}}\n"
    )
    assert main(["plan", "sample:two-sockets", "--claim", str(file)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", ["@org/team", "https://evil.example/x", "www.evil.example", "me@evil.example"])
def test_a_name_in_markdown_mentions_no_person_and_links_nowhere(name, tmp_path, capsys):
    """The comment of a pull request shows the name as text."""
    file = tmp_path / "claim.yaml"
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {}}
    file.write_text(json.dumps(document))
    main(["check", "sample:two-sockets", str(file), "-o", "markdown"])
    said = capsys.readouterr().out
    assert "evil" in said or "team" in said
    assert name not in said
