"""What is printed is text: nothing in a cluster or file moves the cursor, changes colours or turns a line around."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout

import pytest

from dra_lab.cli import main
from dra_lab.cli.plain_output import plain_output

EVIL = "n\x1b[31m\x1b]0;title\x07\r\x9b2J\u202eabc"
CLAIM = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture
def cluster(tmp_path):
    """A cluster in which every name holds what a terminal obeys."""
    device = {"name": EVIL, "attributes": {"type": {"string": "gpu"}, "productName": {"string": EVIL}}}
    pool = {"name": EVIL, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "pool": pool, "nodeName": EVIL, EVIL: 1, "devices": [device]}
    api = "resource.k8s.io/v1"
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": EVIL}},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": EVIL}, "spec": spec},
        {"apiVersion": api, "kind": EVIL, "metadata": {"name": EVIL}},
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "CLUSTER", "--claim", CLAIM],
        ["plan", "CLUSTER", "--claim", CLAIM, "-o", "json"],
        ["check", "CLUSTER", "CLUSTER"],
        ["check", "CLUSTER", "CLUSTER", "-o", "markdown"],
        ["plan", f"/nowhere/{EVIL.replace(chr(0), '')}", "--claim", CLAIM],
        ["plan", "CLUSTER", "--claim", EVIL],
    ],
    ids=["plan", "json", "check", "markdown", "no cluster", "no claim"],
)
def test_escapes_in_names_are_shown_and_not_obeyed(cluster, capsys, words):
    """Results and errors alike."""
    main([cluster if word == "CLUSTER" else word for word in words])
    out, err = capsys.readouterr()
    assert out + err
    assert not [sign for sign in out + err if not sign.isprintable() and sign not in "\n\t"]


def test_what_is_printed_as_json_stays_the_same_json(capsys):
    """Every escape is one that JSON reads."""
    with plain_output():
        print(json.dumps(EVIL, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == EVIL


def test_a_bar_may_go_back_to_the_beginning_of_its_line(monkeypatch):
    """Only with the first character of what it writes."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with plain_output():
        print("\r10 %\rx", end="", file=sys.stderr)
    assert sys.stderr.getvalue() == "\r10 %\\u000dx"


def test_characters_that_an_encoding_lacks_are_written_as_escapes():
    """A terminal without Unicode shows the answer, and JSON stays the same JSON."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "ascii")
    with redirect_stdout(stream), plain_output():
        print(json.dumps({"pods": "2 × gpu 😀"}, ensure_ascii=False), flush=True)
    assert json.loads(written.getvalue()) == {"pods": "2 × gpu 😀"}
