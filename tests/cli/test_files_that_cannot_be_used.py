"""Files that no command can use end in an error with its place, exit status 2, no traceback and no waiting."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from dra_lab.cli import main
from dra_lab.errors import ManifestError, SourceError
from dra_lab.manifests.file_text import read_bytes, utf8_text
from dra_lab.sources import load_cluster

EKS = "sample:eks-p4d"
PAIRS = f"{EKS}/gpu-nic-pairs"
COMMANDS = {
    "cluster": ["plan", "FILE", "--claim", PAIRS],
    "claim": ["plan", EKS, "--claim", "FILE"],
    "topology": ["topology", "FILE"],
    "replay": ["replay", "FILE"],
    "draw": ["draw", EKS, "--claim", "FILE", "--file", "OUT"],
    "export": ["export", EKS, "--claim", PAIRS, "--workload", "FILE", "--dir", "OUT"],
    "capture": ["capture", "FILE", "OUT"],
}
LATIN = '{"kind": "List",\n "items": [{"kind": "Node", "metadata": {"name": "Jos\xe9"}}]}'.encode("latin-1")


def ends(command, file, tmp_path, capsys) -> str:
    """Run a command on a file; returns what it says, once the exit status is 2."""
    words = [word.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")) for word in COMMANDS[command]]
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000 + "1" + "}" * 100_000], ids=["lists", "maps"])
def test_deep_nesting_is_refused(command, text, tmp_path, capsys):
    """A text nested thousands of levels deep ends every command with one line."""
    (tmp_path / "deep.json").write_text(text)
    shown = ends(command, tmp_path / "deep.json", tmp_path, capsys)
    assert (shown.startswith("error: "), "failed unexpectedly" in shown) == (True, False)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_without_an_end_is_refused(command, tmp_path, capsys):
    """`/dev/zero` is no file, and is not read."""
    text = ends(command, "/dev/zero", tmp_path, capsys)
    assert (text.startswith("error: "), "failed unexpectedly" in text) == (True, False)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "topology"])
def test_a_byte_that_is_not_utf8_has_a_place(command, tmp_path, capsys):
    """The message names the file, the line and the byte."""
    (tmp_path / "latin.json").write_bytes(LATIN)
    text = ends(command, tmp_path / "latin.json", tmp_path, capsys)
    assert ("latin.json" in text, "failed unexpectedly" in text) == (True, False)


def test_the_place_of_a_wrong_byte_is_its_line_and_column():
    """Lines and columns count from 1, bytes from 0."""
    with pytest.raises(ManifestError, match=r"^file:2: .*byte 0xe9 at column 54 \(byte 70 of the file\)"):
        utf8_text(LATIN, "file")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_home_folder_of_nobody_is_refused(command, tmp_path, capsys):
    """`~nouser` has no folder."""
    text = ends(command, "~nouser/x", tmp_path, capsys)
    assert (text.startswith("error: "), "failed unexpectedly" in text) == (True, False)


@pytest.mark.parametrize("source", ["", "   ", "\n"])
def test_an_empty_cluster_is_refused_with_what_may_stand_there(source):
    """An unset variable of a shell gives "", which is not the folder of the moment."""
    with pytest.raises(SourceError, match="CLUSTER is empty; give a file, a folder, context:NAME, or sample:NAME"):
        load_cluster(source)


def test_a_pipe_is_read_to_its_end(tmp_path):
    """A pipe is read also if its program writes after it was opened."""
    os.mkfifo(tmp_path / "pipe")
    text = b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}'
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    writer.start()
    assert load_cluster(tmp_path / "pipe").node_names == ("n",)
    writer.join()


def test_a_pipe_of_more_than_the_limit_is_refused(tmp_path):
    """A pipe says nothing about its size before."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"x" * 100,))
    writer.start()
    with pytest.raises(SourceError, match="more than 10 bytes"):
        read_bytes(tmp_path / "pipe", 10, pipes=True)
    writer.join()


def test_a_packed_file_that_is_cut_is_refused(tmp_path, capsys):
    """A `.gz` that is cut short is refused."""
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"{}\n" * 10_000)[:-20])
    assert "cut.gz" in ends("replay", tmp_path / "cut.gz", tmp_path, capsys)


@pytest.mark.parametrize("command", ["topology", "replay", "draw", "export"])
def test_a_folder_where_a_file_is_needed_is_refused(command, tmp_path, capsys):
    """A folder is named as one."""
    assert "folder" in ends(command, tmp_path, tmp_path, capsys).lower()
