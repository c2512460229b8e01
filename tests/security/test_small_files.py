"""A small file never fills the memory: each of these is refused, or read, within a few hundred megabytes."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux, to ask for peak memory")

LIMIT = 700
"""Megabytes; an empty interpreter with `dra_lab` has about 100."""

READ = """
import pathlib, re, sys
import dra_lab
try:
    dra_lab.load_cluster(sys.argv[1])
except dra_lab.DraLabError as error:
    print(error)
print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""

DROP = """
import pathlib, re, sys
from widget_messages import say
import dra_lab
file = pathlib.Path(sys.argv[1])
bar = dra_lab.ClusterBar(dra_lab.Session("sample:two-sockets"))
say(bar, type="upload", number=1, files=[{"name": file.name, "size": file.stat().st_size}])
say(bar, type="piece", number=1, buffers=[file.read_bytes()])
bar.loading.wait()
print(bar.refused)
print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def reading(path, data, code=READ):
    """Return what a process says of a file, and its peak memory in megabytes."""
    path.write_bytes(data)
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-c", code, path]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(tests)}
    )
    *said, peak = done.stdout.splitlines()
    return "\n".join(said), int(peak) // 1024


def many(value, count, between=b","):
    return between.join([value] * count)


def slices(count):
    head = b'{"kind":"List","items":[{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},'
    return head + b'"spec":{"driver":"d","pool":{"name":"p"},"devices":[' + many(b"{}", count) + b"]}}]}"


def archive(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def page(value):
    text = json.dumps({"kind": "PlanPage", **value})
    return f'<script type="application/json" id="dra-lab-plan">{text}</script>'.encode()


ALIASES = b"a0: &a0 [{}]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, many(b"*a%d" % (n - 1), 10)) for n in range(1, 7))

FILES = {
    "objects.json": lambda: b"[" + many(b"{}", 3_000_000) + b"]",
    "devices.json": lambda: slices(3_000_000),
    "lines.json": lambda: many(b"{}", 2_000_000, b"\n"),
    "lists.yaml": lambda: b"a: [" + many(b"[]", 3_000_000) + b"]",
    "documents.yaml": lambda: many(b"--- [[],[],[]]\n", 800_000, b""),
    "aliases.yaml": lambda: ALIASES,
    "attributes.xml": lambda: b"<topology %s/>" % b" ".join(b'a%d=""' % n for n in range(1_200_000)),
    "empty.xml": lambda: b"<topology>" + b"<a/>" * 1_000_000 + b"</topology>",
}


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_too_many_values_are_refused(name, tmp_path):
    """The number of values counts, not the number of bytes."""
    said, peak = reading(tmp_path / name, FILES[name]())
    assert "which is the limit" in said
    assert peak < LIMIT


@pytest.mark.long
@pytest.mark.parametrize("packed", [{"a.json": slices(480_000)}, {"a.json": slices(480_000), "b.yaml": b"[[]]\n" * 9}])
def test_the_files_of_an_archive_count_together(packed, tmp_path):
    """Many files that are small enough are too many."""
    files = {f"{number}-{name}": data for number in range(30) for name, data in packed.items()}
    said, peak = reading(tmp_path / "small.tar.gz", archive(files))
    assert "values, which is the limit; unpack it" in said
    assert peak < LIMIT


@pytest.mark.long
def test_a_page_with_a_packed_cluster_counts(tmp_path):
    """A dropped page carries an archive, which has the limit of archives."""
    pytest.importorskip("anywidget", reason="needs the widgets")
    drawing = "apiVersion: dra-lab/v2\nkind: Drawing\ncluster: another\n"
    snapshot = base64.b64encode(archive({"a.json": slices(3_000_000)})).decode()
    said, peak = reading(tmp_path / "plan.html", page({"drawing": drawing, "snapshot": snapshot}), DROP)
    assert said
    assert peak < LIMIT


@pytest.mark.long
def test_a_page_with_many_values_counts(tmp_path):
    """The data of a dropped page has the limit of a document."""
    pytest.importorskip("anywidget", reason="needs the widgets")
    _, peak = reading(tmp_path / "plan.html", page({"drawing": "", "x": [[]] * 3_000_000}), DROP)
    assert peak < LIMIT


@pytest.mark.long
def test_a_list_of_useless_objects_gets_few_findings(tmp_path):
    """The first useless objects are named, and the others are counted."""
    nodes = many(b'{"apiVersion":"v1","kind":"Node","metadata":{"name":1}}', 300_000)
    _, peak = reading(tmp_path / "nodes.json", b'{"kind":"List","items":[' + nodes + b"]}")
    assert peak < LIMIT


@pytest.mark.long
def test_a_real_cluster_of_5000_nodes_is_read(tmp_path):
    """90,000 devices, also packed, are below every limit."""
    code = "import sys; from tests.benchmarks.big_cluster import documents; sys.stdout.write(documents(5000))"
    root = Path(__file__).parents[2]
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=root).stdout
    assert reading(tmp_path / "big.json", text)[0] == ""
    assert reading(tmp_path / "big.tar.gz", archive({"big.json": text}))[0] == ""
