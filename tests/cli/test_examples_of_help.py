"""`dra-lab COMMAND --help`: three examples, each of which runs as it is written."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import shutil
import subprocess
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest
from small_manifests import pod, request, template, workload
from topology_texts import SERVER, TOPO

from dra_lab.cli import main
from dra_lab.cli.parser import COMMANDS
from dra_lab.session import Session, read_sketch

EXAMPLES = {name: import_module(f"dra_lab.cli.{name}_command").EXAMPLES for name in COMMANDS}
POD = pod("old", limits="nvidia.com/gpu: 2")
DEPLOYMENT = workload("train", fields=["replicas: 2"])
CLAIM = template("one-gpu", request("gpu", "gpu.nvidia.com"))
DUMP = """\
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-7", "namespace": "team-a"},
   "spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}]}
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with the files that the examples name: a cluster, a claim, manifests, topology files, cases."""
    made = tmp_path_factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("HOME", str(made))
        assert main(["capture", "sample:eks-p4d", "cluster"]) == 0
        case = json.dumps({"expression": "device.driver == 'a'", "device": {"driver": "a"}}).encode() + b"\n"
        files = {
            "claim.yaml": CLAIM,
            "manifests/claim.yaml": CLAIM,
            "old.yaml": POD,
            "deployment.yaml": DEPLOYMENT,
            "dump.json": DUMP,
            "topo.txt": TOPO,
        }
        for name, text in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        plan = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]
        with redirect_stdout(io.StringIO()) as answer:
            assert main(["plan", *plan, "-o", "json"]) == 0
        Path("before.json").write_text(answer.getvalue())
        Path("after.json").write_text(answer.getvalue())
        for name in ("training", "training-pinned"):
            assert main(["export", *plan, "--pin", "--dir", f"manifests/{name}"]) == 0
        session = Session("sample:eks-p4d", sketch=read_sketch(plan[-1]), file="plan.dralab.yaml")
        for name in ("one", "two"):
            session.comparing.keep(session.plan(), name)
        session.close()
        Path("lstopo.xml").write_bytes(SERVER)
        Path("cases.ndjson").write_bytes(case)
        Path("cases.ndjson.gz").write_bytes(gzip.compress(case))
        for words in (["init", "-q", "-b", "main"], ["add", "manifests"], ["commit", "-q", "-m", "first"]):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True)
    return made


@pytest.fixture
def folder(repository, tmp_path, monkeypatch, capsys):
    shutil.copytree(repository, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_three_examples(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert text.endswith("\n".join(["examples:", *(f"  {example}" for example in EXAMPLES[command])]) + "\n")
    assert len(EXAMPLES[command]) == 3


@pytest.mark.parametrize("example", [example for examples in EXAMPLES.values() for example in examples])
def test_an_example_runs(example, folder, capsys):
    words, _, file = example.partition(" > ")
    if not file:
        assert main(shlex.split(words)[1:]) == 0, capsys.readouterr()
        return
    path = Path(file).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as out, redirect_stdout(out):
        status = main(shlex.split(words)[1:])
    assert (status, path.stat().st_size > 0) == (0, True), capsys.readouterr()


def test_help_clusters_names_every_form_of_a_cluster(capsys):
    status, text = main(["help", "clusters"]), capsys.readouterr().out
    forms = (
        "sample:NAME",
        "context:NAME",
        "FOLDER",
        "  - ",
        "--topology FILE --nodes 8 --driver D",
        "-A -o json",
    )
    assert (status, [form for form in forms if form not in text]) == (0, [])


@pytest.mark.parametrize("command", ["plan", "draw", "export", "check", "capture", "migrate"])
def test_the_help_of_a_command_points_to_the_topic(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ("dra-lab help clusters" in text, "lstopo" in text) == (True, False)
