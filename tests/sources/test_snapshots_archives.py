"""Archives from strangers: what leads out, what is no file, what unpacks to too much; each told with the member."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from dra_lab.errors import SourceError
from dra_lab.sources import load_cluster, load_texts

NODE = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}).encode()


def packed(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def member(name: str, content: bytes = NODE, **fields) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content


def test_the_files_of_an_archive_are_read_like_a_folders(tmp_path):
    """Whatever folder they lie in; hidden files and other kinds of files are passed over."""
    path = packed(
        tmp_path / "c.tar.gz", member("out/nodes.json"), member("out/._nodes.json", b"\xff"), member("README", b"hi")
    )
    assert load_cluster(path).node_names == ("n1",)
    assert load_texts({"c.tgz": path.read_bytes()}).node_names == ("n1",)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (member("../etc/nodes.json"), "leads out"),
        (member("a/../../nodes.json"), "leads out"),
        (member("/etc/nodes.json"), "absolute"),
        (member("C:/nodes.json"), "absolute"),
        (member("..\\nodes.json"), "absolute"),
        (member("nodes.json", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "link"),
        (member("nodes.json", b"", type=tarfile.LNKTYPE, linkname="other.json"), "link"),
        (member("nodes.json", b"", type=tarfile.CHRTYPE), "neither a file nor a folder"),
        (member("nodes.json", b"", type=tarfile.FIFOTYPE), "neither a file nor a folder"),
    ],
    ids=["up", "up from inside", "absolute", "drive", "backslash", "symlink", "hard link", "device", "pipe"],
)
def test_members_that_are_no_plain_files_inside_are_refused(tmp_path, bad, why):
    path = packed(tmp_path / "c.tar.gz", member("good.json"), bad)
    with pytest.raises(SourceError, match=f"member.*{why}.*tar czf"):
        load_cluster(path)


@pytest.mark.parametrize("name", ["nodes.json", "./nodes.json", ".//nodes.json"])
def test_a_member_that_is_there_twice_is_refused(tmp_path, name):
    """However its path is written: which of them counts would be a guess."""
    path = packed(tmp_path / "c.tar.gz", member("nodes.json"), member(name))
    with pytest.raises(SourceError, match="twice"):
        load_cluster(path)


@pytest.mark.long
def test_a_bomb_is_refused_at_the_stated_limit(tmp_path):
    """A small archive that unpacks to more than the limit is given up on the way."""
    path = packed(tmp_path / "c.tar.gz", member("nodes.json", bytes(2**30 + 1)))
    assert path.stat().st_size < 2**21
    with pytest.raises(SourceError, match="unpacks to more than 1,073,741,824 bytes"):
        load_cluster(path)


@pytest.mark.long
def test_more_members_than_the_limit_are_refused(tmp_path):
    """Empty files cost nothing in an archive."""
    path = packed(tmp_path / "c.tar.gz", *(member(f"{index}.json", b"") for index in range(10_001)))
    with pytest.raises(SourceError, match="more than 10,000 members"):
        load_cluster(path)


def test_an_archive_without_any_manifest_says_so(tmp_path):
    with pytest.raises(SourceError, match=r"contains no \.json"):
        load_cluster(packed(tmp_path / "c.tar.gz", member("README", b"hi")))


def cut_off(path, at):
    packed(path, member("nodes.json", NODE + b" " * 5000))
    path.write_bytes(path.read_bytes()[:at])


LONG_HEADER = member("x", bytes(3 * 2**20), type=tarfile.XHDTYPE)
NO_ARCHIVES = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"text"),
    "only gzip": lambda path: path.write_bytes(gzip.compress(b"no tar")),
    "a header of megabytes": lambda path: packed(path, LONG_HEADER, member("nodes.json")),
    **{f"cut off at {at}": lambda path, at=at: cut_off(path, at) for at in (1, 20, 60, -10)},
}


@pytest.mark.parametrize("name", NO_ARCHIVES)
def test_what_is_no_whole_archive_is_reported(tmp_path, name):
    """Wherever it ends, nothing is read as if it were whole."""
    NO_ARCHIVES[name](tmp_path / "c.tgz")
    with pytest.raises(SourceError, match=r"c\.tgz.*cannot read it as an archive"):
        load_cluster(tmp_path / "c.tgz")
