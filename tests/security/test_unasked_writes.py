"""What is written: never a file that is not ours, and nothing that others may read where that was not meant."""

from __future__ import annotations

import hashlib
import json
import os
import stat

import pytest

import dra_lab
from dra_lab.cli import main

ARGUMENTS = ["export", "sample:two-sockets", "--claim", "sample:two-sockets/lesson"]


@pytest.fixture
def folder(tmp_path):
    """A folder whose `plan.json` a stranger wrote: it claims the files beside it as those of an earlier export."""
    texts = {"main.py": "print()\n", "notes.txt": "mine\n", ".env.yaml": "mine\n", "values.yaml": "mine: 1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    (tmp_path / "plan.json").write_text(json.dumps({"apiVersion": "dra-lab/v1", "files": files}))
    return tmp_path


def test_a_foreign_record_removes_nothing_unasked(folder, capsys):
    """A file that would be removed is a refusal, which names the file and the option."""
    before = sorted(folder.iterdir())
    assert main([*ARGUMENTS, "--dir", str(folder)]) == 2
    assert sorted(folder.iterdir()) == before
    said = capsys.readouterr().err
    assert "values.yaml was written by an earlier export" in said
    assert "--overwrite" in said


def test_a_foreign_record_never_removes_what_no_export_can_have_made(folder):
    """Also with the option, only a file with the name of a manifest goes."""
    assert main([*ARGUMENTS, "--dir", str(folder), "--overwrite"]) == 0
    left = {path.name for path in folder.iterdir()}
    assert left >= {"main.py", "notes.txt", ".env.yaml"}
    assert "values.yaml" not in left


@pytest.fixture
def umask():
    """The umask of a person who shares nothing with other users of the machine."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def modes(folder):
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, *folder.rglob("*"))}


def test_the_umask_is_respected(tmp_path, umask):
    """Neither manifests nor the drawing are opened to other users."""
    assert main([*ARGUMENTS, "--dir", str(tmp_path / "manifests")]) == 0
    session = dra_lab.Session("sample:two-sockets", file=tmp_path / "plan.dralab.yaml")
    session.edit(dra_lab.read_sketch("sample:two-sockets/lesson"))
    session.close()
    assert modes(tmp_path) == {0}


@pytest.mark.parametrize("name", ["snapshot", "snapshot.tar.gz"])
def test_a_snapshot_is_private(tmp_path, name):
    """Whatever the umask is, only the owner reads a snapshot."""
    assert main(["capture", "sample:two-sockets", str(tmp_path / name)]) == 0
    assert modes(tmp_path / name) == {0}
