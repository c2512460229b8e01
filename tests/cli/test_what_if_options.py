"""`--add`, `--drain`, `--without` and `--idle`: planning on a cluster that is changed first."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.sources import load_cluster

EKS = "sample:eks-p4d"
PAIRS = ["--claim", f"{EKS}/gpu-nic-pairs"]
NODES = load_cluster(EKS).node_names


def answer(capsys, command: str, *words: str) -> dict[str, object]:
    """Return the JSON of a command about the pairs."""
    main([command, EKS, *PAIRS, *words, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "words", [["plan"], ["plan", "--replicas", "2"], ["export", "--dir", "out"]], ids=["plan", "fleet", "export"]
)
def test_json_lists_the_changes_in_their_order(words, tmp_path, monkeypatch, capsys):
    """Each is the option that makes it, with its words."""
    monkeypatch.chdir(tmp_path)
    command, *more = words
    layers = answer(capsys, command, *more, "--idle", "--drain", NODES[0])["layers"]
    assert [layer["option"] for layer in layers] == ["--idle", f"--drain {NODES[0]}"]


@pytest.mark.parametrize("detail", [[], ["-q"], ["-v"]])
def test_text_names_the_changes_after_the_answer(detail, capsys):
    """Also with -q: the sentence holds for the changed cluster only."""
    main(["plan", EKS, *PAIRS, "--idle", *detail])
    assert capsys.readouterr().out.splitlines()[2] == "What if: Nothing in use."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drain", NODES[0][:-1]], f"did you mean {NODES[0]!r}?"),
        (["--add", NODES[0]], "write N=NODE"),
        (["--without", "gpu-0"], "write driver/pool/device"),
    ],
)
def test_a_change_that_cannot_be_made_says_what_can(words, said, capsys):
    """An unknown name is refused before anything is planned."""
    assert (main(["plan", EKS, *PAIRS, *words]), said in capsys.readouterr().err) == (2, True)
