"""The JSON of every command with `-o json`: `kind`, `outcome`, `goals`, `findings`, and the fields of its kind."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from small_manifests import pod
from topology_texts import TOPO

from dra_lab.cli import main

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "plan-v3.schema.json"
EKS = "sample:eks-p4d"
PAIRS = f"{EKS}/gpu-nic-pairs"
HGX = "sample:dgx-h100"
COMMANDS = {
    "plan": (["plan", EKS, "--claim", PAIRS], "Plan", {"node", "devices"}),
    "misfit": (["plan", EKS, "--claim", f"{EKS}/five-pairs"], "Plan", {"node", "devices"}),
    "replicas": (["plan", HGX, "--claim", f"{HGX}/gpu-nic-cpu", "--replicas", "2"], "Plan", {"pods"}),
    "gang": (
        ["plan", HGX, "--claim", f"{HGX}/gpu-nic-cpu", "--gang", "2", "--level", "fabric:leaf switch"],
        "Plan",
        {"workloads", "pods"},
    ),
    "draw": (["draw", EKS, "--claim", PAIRS, "--file", "a.svg"], "Picture", {"node", "devices", "file"}),
    "draw a node": (["draw", EKS, "--file", "a.svg"], "Picture", {"file"}),
    "export": (["export", EKS, "--claim", PAIRS, "--dir", "out", "--pin"], "Export", {"node", "devices", "files"}),
    "export replicas": (
        ["export", HGX, "--claim", f"{HGX}/gpu-nic-cpu", "--replicas", "2", "--dir", "out", "--pin"],
        "Export",
        {"pods", "files"},
    ),
    "measure": (["export", EKS, "--claim", PAIRS, "--dir", "out", "--measure"], "Export", {"files"}),
    "check": (["check", EKS, "pod.yaml"], "Check", {"objects"}),
    "migrate": (["migrate", EKS, "pod.yaml", "--dir", "out"], "Migration", {"objects", "files"}),
    "migrate nothing": (["migrate", EKS, "other.yaml", "--dir", "out"], "Migration", {"objects", "files"}),
    "capture": (["capture", EKS, "out"], "Snapshot", {"path", "counts"}),
    "topology": (["topology", "topo.txt"], "Topology", {"devices"}),
    "samples": (["samples"], "Samples", {"samples"}),
}
STATUS = {"fits": 0, "does-not-fit": 1, "not-checked": 2, "stopped": 2}


def write_files(folder):
    (folder / "pod.yaml").write_text(pod("train", limits="nvidia.com/gpu: 1").removeprefix("---\n"))
    (folder / "other.yaml").write_text(pod("train", limits="example.com/npu: 1").removeprefix("---\n"))
    (folder / "topo.txt").write_text(TOPO)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


class Answer(NamedTuple):
    """What a command with `-o json` gave: its name, exit status, JSON and standard error."""

    name: str
    status: int
    value: dict[str, Any]
    err: str


@pytest.fixture(scope="module", params=COMMANDS)
def answer(request, tmp_path_factory):
    folder, out, err = tmp_path_factory.mktemp("contract"), io.StringIO(), io.StringIO()
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        status = main([*COMMANDS[request.param][0], "-o", "json"])
    return Answer(request.param, status, json.loads(out.getvalue()), err.getvalue())


def test_json_has_the_fields_of_its_kind(answer):
    """The first fields are the same in every answer, in this order."""
    _, kind, own = COMMANDS[answer.name]
    names = [name for name in answer.value if name not in ("sentence", "summary")]
    assert (names[:5], answer.value["kind"]) == (["apiVersion", "kind", "outcome", "goals", "findings"], kind)
    assert own - answer.value.keys() == set()


def test_a_plan_has_the_fields_of_its_schema(answer):
    if answer.value["kind"] == "Plan":
        jsonschema.validate(answer.value, json.loads(SCHEMA.read_text()))


def test_the_exit_status_is_that_of_the_outcome(answer):
    """0 fits or is valid, 1 does not, 2 is not decided or not checked."""
    assert answer.status == STATUS[answer.value["outcome"]]


def test_goals_and_findings_have_the_fields_of_the_contract(answer):
    goal = {"goal", "value", "bound", "proven"}
    finding = {"rule", "severity", "subject", "message", "advice", "origin"}
    assert [one for one in answer.value["goals"] if goal - one.keys()] == []
    assert [one for one in answer.value["findings"] if finding - one.keys()] == []


def test_the_findings_of_json_are_those_of_standard_error(answer):
    """JSON leaves out nothing that a person is told."""
    messages = [finding["message"] for finding in answer.value["findings"]]
    lines = [line for line in answer.err.splitlines() if line.startswith(("note: ", "warning: ", "error: "))]
    assert [line for line in lines if not any(message in line for message in messages)] == []


@pytest.mark.parametrize("more", [["--replicas", "1"], ["--gang", "1", "--level", "host"]], ids=["fleet", "gang"])
def test_one_pod_has_one_answer(more, folder, capsys):
    """As a claim, as a fleet of one and as a gang of one, in words and in JSON."""
    for output in ("text", "json"):
        main(["plan", EKS, "--claim", PAIRS, "-o", output])
        alone = capsys.readouterr()
        main(["plan", EKS, "--claim", PAIRS, *more, "-o", output])
        assert capsys.readouterr() == alone


@pytest.mark.parametrize("option", ["--format", "--output", "--quiet", "--verbose", "--namespace"])
def test_former_spellings_are_refused(option, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan", EKS, "--claim", PAIRS, option, "json"])
    assert (ended.value.code, f"unknown option '{option}'" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("command", [["export", EKS, "--claim", PAIRS, "--pin"], ["migrate", EKS, "pod.yaml"]])
def test_yaml_on_standard_output_is_what_a_folder_would_hold(command, folder, capsys):
    """`-o yaml` prints the manifests as one stream and writes no file."""
    main([*command, "--dir", "out"])
    capsys.readouterr()
    main([*command, "-o", "yaml"])
    printed = capsys.readouterr().out.split("---\n")
    files = [path.read_text() for path in (folder / "out").glob("*.yaml") if path.name != "kustomization.yaml"]
    assert sorted(printed) == sorted(files)


@pytest.mark.parametrize("words", [[], ["--dir", "out", "-o", "yaml"]], ids=["no folder", "folder and yaml"])
@pytest.mark.parametrize("command", [["export", EKS, "--claim", PAIRS], ["migrate", EKS, "pod.yaml"]])
def test_manifests_go_to_a_folder_or_to_standard_output(command, words, folder, capsys):
    assert main([*command, *words]) == 2
    text = capsys.readouterr().err
    assert ("--dir" in text, "-o yaml" in text) == (True, True)
