"""Files that a person gives to `plan` and `export`."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
import yaml
from small_manifests import claim, request, workload

from dra_lab.cli import main
from dra_lab.errors import ManifestError, SourceError
from dra_lab.manifests.file_text import read_bytes, utf8_text
from dra_lab.sources import load_cluster

REPRO = Path(__file__).parents[1] / "repro"
EMPTY = REPRO / "null-requests" / "empty.yaml"
WORKLOADS = REPRO / "plan-file-workloads" / "two-claims.dralab.yaml"
ADMIN = REPRO / "admin-namespace.yaml"


def run(capsys, *words):
    status = main([*map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("claim", ["one-gpu.yaml", "trouble-gpu.dralab.yaml"])
@pytest.mark.parametrize("more", [(), ("--replicas", "3")])
def test_partitioned_devices_do_not_fit_without_their_gate(capsys, claim, more):
    """To 1.35 counters are off, so the claim fits on the nodes with whole GPUs."""
    path = REPRO / "keyerror-134" / claim
    assert run(capsys, "plan", "sample:trouble", "--claim", path, *more, "--release", "1.34")[0] == 0


@pytest.mark.parametrize("command", ["check", "plan"])
def test_requests_that_are_null_are_an_empty_list(capsys, command):
    """The API server returns an empty claim that way."""
    claim = [EMPTY] if command == "check" else ["--claim", EMPTY]
    _, out, err = run(capsys, command, "sample:two-sockets", *claim)
    assert "Nothing is drawn yet" in out + err
    assert "error" not in err


@pytest.mark.parametrize("more", [(), ("--replicas", "2")])
def test_no_empty_claim_is_written(capsys, tmp_path, more):
    words = ("export", "sample:two-sockets", "--claim", EMPTY, *more, "--allow-worse", "--dir", tmp_path / "out")
    status, _, err = run(capsys, *words)
    assert (status, "requests no device" in err, (tmp_path / "out").exists()) == (2, True, False)


def test_a_plan_file_with_workloads_alone_is_planned(capsys):
    _, out, _ = run(capsys, "plan", "sample:h100-pod", "--claim", WORKLOADS, "-o", "json")
    (train,) = json.loads(out)["workloads"]
    assert (train["name"], train["replicas"], train["placed"]) == ("train", 5, 5)


def test_a_plan_file_with_workloads_alone_is_exported(capsys, tmp_path):
    words = ("export", "sample:h100-pod", "--claim", WORKLOADS, "--allow-worse", "--dir", tmp_path)
    assert run(capsys, *words)[0] == 0
    kinds = sorted(yaml.safe_load(path.read_text(encoding="utf-8"))["kind"] for path in tmp_path.glob("*.yaml"))
    assert kinds == ["Deployment", "Kustomization", "ResourceClaimTemplate", "ResourceClaimTemplate"]


@pytest.mark.parametrize("more", [(), ("--replicas", "2"), ("--namespace", "own")])
def test_an_export_has_the_namespace_of_the_claim(capsys, tmp_path, more):
    words = ("export", "sample:h100-pod", "--claim", ADMIN, *more, "--allow-worse", "--dir", tmp_path)
    run(capsys, *words)
    objects = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.yaml")]
    spaces = {one["metadata"]["namespace"] for one in objects if one["kind"] != "Kustomization"}
    assert spaces == {"own" if "own" in more else "admin-ns"}


def test_claims_of_two_namespaces_are_not_exported_as_one(capsys, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(ADMIN.read_text(encoding="utf-8").replace("admin-ns", "team-a"), encoding="utf-8")
    words = ("export", "sample:h100-pod", "--claim", ADMIN, "--claim", other, "--dir", tmp_path / "out")
    status, _, err = run(capsys, *words)
    assert (status, "admin-ns, team-a" in err) == (2, True)


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
DEEP = {"lists": b"[" * 200_000, "maps": b'{"a":' * 100_000 + b"1" + b"}" * 100_000}
UNUSABLE = {**DEEP, "not UTF-8": LATIN, "no end": "/dev/zero", "nobody's home": "~nouser/x"}


def ends(command, file, tmp_path, capsys) -> str:
    """Run a command on a file; returns what it says, once the exit status is 2."""
    words = [word.replace("FILE", str(file)).replace("OUT", str(tmp_path / "out")) for word in COMMANDS[command]]
    assert main(words) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", UNUSABLE)
def test_a_file_that_cannot_be_used_is_refused(command, what, tmp_path, capsys):
    """Thousands of levels, another encoding, a device without an end, and a folder that is not there."""
    file = UNUSABLE[what]
    if isinstance(file, bytes):
        (tmp_path / "given.json").write_bytes(file)
        file = tmp_path / "given.json"
    if file == "/dev/zero" and not Path(file).exists():
        pytest.skip(f"there is no {file} here")
    text = ends(command, file, tmp_path, capsys)
    assert (text.startswith("error: "), "defect of dra-lab" in text) == (True, False)
    assert what != "not UTF-8" or command == "topology" or "given.json" in text


def test_the_place_of_a_wrong_byte_is_its_line_and_column():
    with pytest.raises(ManifestError, match=r"^file:2: .*byte 0xe9 at column 54 \(byte 70 of the file\)"):
        utf8_text(LATIN, "file")


@pytest.mark.parametrize("source", ["", "   ", "\n"])
def test_an_empty_cluster_is_refused_with_what_may_stand_there(source):
    with pytest.raises(SourceError, match="CLUSTER is empty; give a file, a folder, context:NAME, or sample:NAME"):
        load_cluster(source)


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    text = b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}'
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    writer.start()
    assert load_cluster(tmp_path / "pipe").node_names == ("n",)
    writer.join()


def test_a_pipe_of_more_than_the_limit_is_refused(tmp_path):
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
    assert "folder" in ends(command, tmp_path, tmp_path, capsys).lower()


@pytest.fixture
def files(tmp_path):
    """Return a function that writes the workload with a count and the claim, and returns their paths."""

    def written(count):
        paths = tmp_path / "w.yaml", tmp_path / "c.yaml"
        paths[0].write_text(workload("w", fields=[f"replicas: {count}"], limits="nvidia.com/gpu: 1"))
        paths[1].write_text(claim("c", request("g", "gpu.nvidia.com")))
        return tuple(map(str, paths))

    return written


def test_more_replicas_than_are_planned_are_refused(files, tmp_path, capsys):
    """`export` names the number and the option that plans fewer."""
    workload, claim = files("2147483647")
    words = ["export", "sample:eks-p4d", "--claim", claim, "--workload", workload, "--dir", str(tmp_path / "out")]
    assert main(words) == 2
    assert "wants 2,147,483,647 replicas; at most 1,000,000 are planned" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["2147483648", "9" * 400])
def test_more_replicas_than_the_api_accepts_are_an_error(files, capsys, count):
    """`check` says that the API server refuses the count, in a short message."""
    workload, _ = files(count)
    assert main(["check", "sample:eks-p4d", workload]) == 1
    printed = capsys.readouterr()
    assert "is not a whole number from 0 to 2147483647" in printed.out + printed.err


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["topology", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_a_cluster_that_says_nothing(capsys, tmp_path):
    file = tmp_path / "nodes.yaml"
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    assert "says where its nodes are" in shown(capsys, str(file))[1]


def test_a_folder_of_topology_files_is_not_called_a_cluster(tmp_path, capsys):
    (tmp_path / "topo.txt").write_text("GPU0 X")
    assert main(["topology", str(tmp_path)]) == 2
    assert "name its file about one server" in capsys.readouterr().err
