"""Names from a cluster or a file are text: on standard error, in a CI log, in a comment of a pull request."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

FORGED = "\n::error::forged\n"


def slices(name):
    """Return a cluster with one slice whose device has a field that does not exist."""
    device = {"name": "d0", "attributes": {}, name: 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"s{name}"}}
    return json.dumps({**head, "spec": {**spec, "devices": [device]}})


@pytest.mark.parametrize("sign", ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_a_name_forges_no_line_on_standard_error(sign, tmp_path, capsys):
    """A line end in a name is shown as an escape, so that one finding is one line."""
    file = tmp_path / "cluster.json"
    file.write_text(slices(f"{sign}::error::forged{sign}"))
    main(["plan", str(file), "--claim", "sample:two-sockets/lesson"])
    said = capsys.readouterr().err
    assert "forged" in said
    assert not [line for line in said.splitlines() if line.startswith("::")]


def test_an_error_is_one_line(tmp_path, capsys):
    """The error that ends a command cannot forge a line either."""
    file = tmp_path / "claim.yaml"
    kind = json.dumps(f"ResourceClaim{FORGED}")
    file.write_text(
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a}}\nspec: {{{kind}: 1}}\n"
    )
    assert main(["plan", "sample:two-sockets", "--claim", str(file)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", ["@org/team", "https://evil.example/x", "www.evil.example", "me@evil.example"])
def test_a_name_in_markdown_mentions_no_person_and_links_nowhere(name, tmp_path, capsys):
    """The comment of a pull request shows the name as text."""
    file = tmp_path / "claim.yaml"
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": {}}
    file.write_text(json.dumps(document))
    main(["check", "sample:two-sockets", str(file), "-o", "markdown"])
    said = capsys.readouterr().out
    assert "evil" in said or "team" in said
    assert name not in said
