"""Files that a person gives to `plan` and `export`."""

import json
from pathlib import Path

import pytest
import yaml

from dra_lab.cli import main

REPRO = Path(__file__).parents[1] / "repro"
EMPTY = REPRO / "null-requests" / "empty.yaml"
WORKLOADS = REPRO / "plan-file-workloads" / "two-claims.dralab.yaml"
ADMIN = REPRO / "admin-namespace.yaml"


def run(capsys, *words):
    """Return the exit status, the output and the errors of a command."""
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
    """Not even if the person accepts a worse allocation."""
    words = ("export", "sample:two-sockets", "--claim", EMPTY, *more, "--allow-worse", "--dir", tmp_path / "out")
    status, _, err = run(capsys, *words)
    assert (status, "requests no device" in err, (tmp_path / "out").exists()) == (2, True, False)


def test_a_plan_file_with_workloads_alone_is_planned(capsys):
    """Its five pods of two claims are placed."""
    _, out, _ = run(capsys, "plan", "sample:h100-pod", "--claim", WORKLOADS, "-o", "json")
    (train,) = json.loads(out)["workloads"]
    assert (train["name"], train["replicas"], train["placed"]) == ("train", 5, 5)


def test_a_plan_file_with_workloads_alone_is_exported(capsys, tmp_path):
    """Each claim of the pod has its template."""
    words = ("export", "sample:h100-pod", "--claim", WORKLOADS, "--allow-worse", "--dir", tmp_path)
    assert run(capsys, *words)[0] == 0
    kinds = sorted(yaml.safe_load(path.read_text(encoding="utf-8"))["kind"] for path in tmp_path.glob("*.yaml"))
    assert kinds == ["Deployment", "Kustomization", "ResourceClaimTemplate", "ResourceClaimTemplate"]


@pytest.mark.parametrize("more", [(), ("--replicas", "2"), ("--namespace", "own")])
def test_an_export_has_the_namespace_of_the_claim(capsys, tmp_path, more):
    """Admin access is refused in another namespace; the option comes first."""
    words = ("export", "sample:h100-pod", "--claim", ADMIN, *more, "--allow-worse", "--dir", tmp_path)
    run(capsys, *words)
    objects = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.yaml")]
    spaces = {one["metadata"]["namespace"] for one in objects if one["kind"] != "Kustomization"}
    assert spaces == {"own" if "own" in more else "admin-ns"}


def test_claims_of_two_namespaces_are_not_exported_as_one(capsys, tmp_path):
    """A person says which namespace the files are for."""
    other = tmp_path / "other.yaml"
    other.write_text(ADMIN.read_text(encoding="utf-8").replace("admin-ns", "team-a"), encoding="utf-8")
    words = ("export", "sample:h100-pod", "--claim", ADMIN, "--claim", other, "--dir", tmp_path / "out")
    status, _, err = run(capsys, *words)
    assert (status, "admin-ns, team-a" in err) == (2, True)
