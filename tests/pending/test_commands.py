"""`dra-lab explain` of pods: of a dump, of a file beside a dump, and with `check` and `plan`."""

import json
from pathlib import Path

import pytest

from dra_lab.cli import main

REPRO = Path(__file__).parent / "repro"
DUMP = str(REPRO / "dump.yaml")
A100 = "NVIDIA A100-SXM4-40GB"
FIRST_LINES = [
    (("--pod", "training/typo-0"), f'productName is "{A100}" on all 32'),
    (("--pod", "training/eval-0"), "training/eval-0 is not pending: it runs on ip-192-168-149-201.ec2.internal"),
    (
        ("--claim", "sel.yaml", "--pod", "selpod"),
        "zone=mars-1a that its node selector asks for; its value is us-east-1d",
    ),
    (("--claim", "sel.yaml", "--pod", "gated"), "its scheduling gate foo/bar"),
    (("--claim", "sel.yaml", "--pod", "noref"), "Fits on 3 of 4 nodes now"),
    (
        ("--claim", "shared.yaml"),
        "llm-7b-0-devices-wslqm, which is allocated already for training/llm-7b-0, allows only",
    ),
    (("--claim", "shared2.yaml"), "training/second can start: its claim llm-7b-0-devices-wslqm is allocated"),
]


def _run(capsys, *words):
    words = [str(REPRO / word) if word.endswith(".yaml") else word for word in words]
    status = main([words[0], DUMP, *words[1:]])
    return status, capsys.readouterr().out


@pytest.mark.parametrize(("words", "expected"), FIRST_LINES, ids=[" ".join(words) for words, _ in FIRST_LINES])
def test_the_first_line(capsys, words, expected):
    """The first line of `explain` has the true reason, for pods of the dump and of a file."""
    _, out = _run(capsys, "explain", *words)
    assert expected in out.partition("\n")[0]


def test_every_pending_pod_of_a_dump(capsys):
    status, out = _run(capsys, "explain")
    assert (status, out.partition("\n")[0]) == (1, "5 pods are pending for devices.")
    assert sum(" is pending" in line for line in out.splitlines()) == 5


def test_the_answer_as_json(capsys):
    """JSON has the pod, the rule and the sentence."""
    _, out = _run(capsys, "explain", "--pod", "training/typo-0", "-o", "json")
    (pod,) = json.loads(out)["pods"]
    assert (pod["pod"], pod["rule"], pod["pending"]) == ("training/typo-0", "selector", True)


def test_a_pod_of_a_sample_finds_its_template_in_the_file(tmp_path, capsys):
    """A list of kubectl with the pod and its template is explained against another cluster."""
    main(["explain", "sample:eks-p4d", "--claim", str(REPRO / "both.yaml"), "--pod", "stuck"])
    assert capsys.readouterr().out.startswith("Does not fit. No PCIe root has all 3 devices.")


@pytest.mark.parametrize("command", ["plan", "check"])
def test_a_template_of_the_dump_counts(tmp_path, capsys, command):
    """`plan` and `check` find the template of a pod in the dump."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "again", "namespace": "training"},
        "spec": {
            "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "d"}]}}],
            "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "ok-0-devices"}],
        },
    }
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    words = ["--claim", str(tmp_path / "pod.json")] if command == "plan" else [str(tmp_path / "pod.json")]
    status = main([command, DUMP, *words])
    out = capsys.readouterr()
    assert (status, "not in the files" in out.out + out.err) == (0, False)


@pytest.mark.parametrize("more", [("--step",), ("--device", "gpu-3"), ("--node", "ip-192-168-140-52.ec2.internal")])
def test_a_pod_of_the_dump_is_traced(capsys, more):
    status, out = _run(capsys, "explain", "--pod", "training/ok-0", *more)
    assert (status, bool(out)) == (0, True)


def test_a_dump_without_pods_says_how_to_read_them(tmp_path, capsys):
    (tmp_path / "dump.json").write_text('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}')
    assert main(["explain", str(tmp_path / "dump.json")]) == 2
    assert "kubectl get pods,resourceclaims,resourceclaimtemplates" in capsys.readouterr().err
