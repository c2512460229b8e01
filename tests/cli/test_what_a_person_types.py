"""The command line against wrong words, full disks and closed pipes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_manifests import claim, request

import dra_lab
from dra_lab import __version__
from dra_lab.cli import main
from dra_lab.sources.samples import sample_path

EKS = "sample:eks-p4d"
PAIRS = f"{EKS}/gpu-nic-pairs"
CLAIM = claim("one", request("gpu", "gpu.nvidia.com", "count: 1"))
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: prod}
spec: {template: {spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
"""


@pytest.mark.parametrize("command", [["plan", EKS, "--claim", PAIRS], ["check", EKS, "."]])
@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_is_a_number_above_zero(command, limit, capsys):
    """Anything else is refused with status 2, before the cluster is read."""
    with pytest.raises(SystemExit) as ended:
        main([*command, "--time-limit", limit])
    assert (ended.value.code, limit in capsys.readouterr().err) == (2, True)


def test_help_of_lab_makes_no_notebook(tmp_path, monkeypatch, capsys):
    """Asking what a command does changes nothing."""
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--help"]) == 0
    assert ("plan.ipynb" in capsys.readouterr().out, list(tmp_path.iterdir())) == (True, [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_one_line():
    with Path("/dev/full").open("w") as full:
        code = "import sys; from dra_lab.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", code, "samples"]
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    "command", [["plan", "{}", "--claim", PAIRS], ["plan", EKS, "--claim", "{}"], ["check", EKS, "{}"]]
)
def test_what_is_too_long_for_a_name_is_reported_as_such(command, capsys):
    assert main([word.format("x" * 5000) for word in command]) == 2
    text = capsys.readouterr().err
    assert "cannot be read: File name too long" in text
    assert len(text) < 200


@pytest.mark.parametrize(
    "command", [["plan"], ["draw", "--file", "{}/a.svg"], ["export", "--dir", "{}/git"]], ids=lambda c: c[0]
)
def test_a_cluster_is_read_once(command, tmp_path, monkeypatch, capsys):
    """Standard input is there only once, whatever a command asks of it."""
    files = [sample_path(EKS) / f"{kind}.yaml" for kind in ("nodes", "deviceclasses", "resourceslices")]
    text = b"\n---\n".join(file.read_bytes() for file in files)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    (tmp_path / "claim.yaml").write_text(CLAIM)
    name, *more = [word.format(tmp_path) for word in command]
    assert main([name, "-", "--claim", str(tmp_path / "claim.yaml"), *more]) == 0, capsys.readouterr().err


def test_claims_that_come_again_get_numbers(capsys):
    claims = [PAIRS, f"{EKS}/five-pairs", PAIRS, PAIRS]
    main(["plan", EKS, *(word for claim in claims for word in ("--claim", claim)), "-o", "json"])
    names = [workload["name"] for workload in json.loads(capsys.readouterr().out)["workloads"]]
    assert names == ["gpu-nic-pairs", "five-pairs", "gpu-nic-pairs-2", "gpu-nic-pairs-3"]


def test_a_claim_goes_where_the_pods_of_its_workload_are(tmp_path, capsys):
    """A claim in another namespace than the workload's could never be used; nothing is written."""
    (tmp_path / "dep.yaml").write_text(DEPLOYMENT)
    out = ["--dir", str(tmp_path / "out"), "--workload", str(tmp_path / "dep.yaml")]
    assert main(["export", EKS, "--claim", PAIRS, *out, "--namespace", "other"]) == 2
    assert ("'prod'" in capsys.readouterr().err, (tmp_path / "out").exists()) == (True, False)


def test_a_namespace_is_a_name_that_the_api_takes(tmp_path, capsys):
    """The rule is that of the API server, and nothing is written."""
    assert main(["export", EKS, "--claim", PAIRS, "--dir", str(tmp_path / "out"), "--namespace", "Bad_NS"]) == 2
    assert ("'Bad_NS'" in capsys.readouterr().err, (tmp_path / "out").exists()) == (True, False)


def test_nothing_is_captured_when_who_is_who_cannot_be_written(tmp_path, capsys):
    """An anonymous snapshot without its mapping would have lost the names."""
    (tmp_path / "file").touch()
    mapping = ["--anonymise", "--mapping", str(tmp_path / "file" / "who.json")]
    assert main(["capture", EKS, str(tmp_path / "out"), *mapping]) == 2
    assert ("--mapping" in capsys.readouterr().err, (tmp_path / "out").exists()) == (True, False)


@pytest.mark.parametrize("name", ["cluster.zip", "cluster.tar", "cluster.json"])
def test_a_snapshot_is_no_folder_of_an_archives_name(tmp_path, name):
    assert main(["capture", EKS, str(tmp_path / name)]) == 2
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("indent", [None, 4])
def test_a_migrated_json_file_is_json(tmp_path, indent):
    """A text that begins with a brace is read as JSON by kubectl, so that YAML in it would be refused."""
    containers = [{"name": "a", "image": "b", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    (tmp_path / "pod.json").write_text(json.dumps(pod, indent=indent))
    assert main(["migrate", EKS, str(tmp_path / "pod.json"), "--dir", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "pod.json").read_text()
    found = json.loads(text)["spec"]["resourceClaims"]
    assert (found[0]["resourceClaimTemplateName"], text.startswith('{\n    "')) == ("p-devices", indent == 4)


def test_all_or_none_does_not_contradict_itself(capsys):
    """Where every claim alone fits, no reason is given why one replica would not."""
    claims = ["--claim", PAIRS, "--replicas", "3", "--claim", f"{EKS}/any-nic-pairs", "--replicas", "2"]
    assert main(["plan", EKS, *claims, "--objective", "nodes"]) == 1
    assert "Why one replica does not fit" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [["plan", EKS, "--claim", PAIRS], ["check", EKS, "."], ["migrate", EKS, "."]])
def test_namespaces_are_for_running_clusters(command, capsys):
    output = ["--dir", "never"] if command[0] == "migrate" else []
    assert main([*command, *output, "--read-namespace", "team-a"]) == 2
    assert "--read-namespace is for context:NAME" in capsys.readouterr().err


def test_the_version_is_reported(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"dra-lab {__version__}\n")


def refused(capsys, *arguments: str) -> str:
    try:
        status = main(list(arguments))
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_command_is_refused_with_the_nearest_one(capsys):
    assert refused(capsys, "pln", EKS).endswith("unknown command 'pln'; did you mean plan?")


@pytest.mark.parametrize(
    ("word", "meant"), [("--clam", "--claim"), ("--replica=3", "--replicas"), ("--relaese", "--release")]
)
def test_an_unknown_option_is_refused_with_the_nearest_one(word, meant, capsys):
    assert refused(capsys, "plan", EKS, word, "x").endswith(f"did you mean {meant}?")


def test_an_option_like_no_other_points_to_the_help(capsys):
    assert refused(capsys, "samples", "--xyzzy").endswith("unknown option '--xyzzy'; --help lists all")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", EKS], "error: the following arguments are required: PATH; dra-lab check --help lists the options"),
        (["plan", EKS, "--time-limit", "0"], "'0' is not a number of seconds above 0"),
        (["plan", EKS, "-o", "xml"], "invalid choice: 'xml'"),
    ],
    ids=["missing", "value", "choice"],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments, words, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert (said.count("\n"), words in said) == (1, True)


@pytest.mark.parametrize(
    "command", [["plan"], ["explain"], ["export", "--dir", "out"]], ids=["plan", "explain", "export"]
)
def test_a_missing_claim_is_reported_with_the_examples_of_the_sample(command, capsys):
    assert f"--claim {EKS}/gpu-nic-pairs" in refused(capsys, *command, EKS)


def test_a_missing_claim_for_a_file_says_what_can_be_given(capsys):
    assert "give the file of a drawing" in refused(capsys, "plan", "cluster.json")


def test_an_unexpected_exception_is_one_sentence_and_status_2(tmp_path):
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "kubernetes" / "__init__.py").write_text("raise RuntimeError('half installed')\n")
    (tmp_path / "config").write_text(
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n"
    )
    paths = os.pathsep.join((str(tmp_path), str(Path(dra_lab.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths, "KUBECONFIG": str(tmp_path / "config")}
    code = "import sys; from dra_lab.cli import main; sys.exit(main(['plan', 'context:a', '--claim', 'a.yaml']))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "RuntimeError: half installed" in done.stderr


COMPLETED = {
    "dra-lab pl": {"plan"},
    "dra-lab plan sample:tw": {"sample:two-sockets"},
    "dra-lab plan con": {"context:"},
    "dra-lab plan sample:eks-p4d --claim sample:eks-p4d/f": {"sample:eks-p4d/five-pairs", "sample:eks-p4d/four-pairs"},
    "dra-lab plan sample:eks-p4d --rele": {"--release"},
    "dra-lab check cluster/ manifests/ -o s": {"sarif"},
    "dra-lab help selector-matches-n": {"selector-matches-nothing"},
    "dra-lab frobnicate ": set(),
}


@pytest.mark.parametrize(("line", "found"), COMPLETED.items(), ids=COMPLETED)
def test_a_line_is_completed_with_what_the_parser_knows(line, found, tmp_path):
    answer = tmp_path / "answer"
    shell = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_COMP_WORDBREAKS": " ", "COMP_LINE": line}
    shell |= {"COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    code = "import sys; from dra_lab.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code], env=os.environ | shell, cwd=tmp_path, check=False, timeout=60)
    words = answer.read_text().split() if answer.exists() else []
    assert {word for word in words if not word.startswith("-") or "--" in line} == found
