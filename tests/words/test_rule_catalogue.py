"""The catalogue of rules: every error has an entry, examples can be pasted, and `dra-lab help RULE` prints it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import get_args

import pytest
import yaml

import dra_lab.sources.live  # noqa: F401  the errors of a running cluster
from dra_lab.cli import main
from dra_lab.cli.parser import COMMANDS, parser_of
from dra_lab.errors import DraLabError
from dra_lab.findings import Rule
from dra_lab.words.rule_catalogue import rule_catalogue

ENTRIES = list(rule_catalogue().values())


def errors(kind: type[DraLabError] = DraLabError) -> Iterator[type[DraLabError]]:
    if kind.__module__.startswith("dra_lab.") and not kind.__name__.startswith("_"):
        yield kind
    for one in kind.__subclasses__():
        yield from errors(one)


def test_every_error_has_an_entry():
    named = {entry.name: entry.error for entry in ENTRIES}
    assert [kind for kind in errors() if named.get(kind.rule) != kind.__name__] == []


def test_every_rule_of_a_finding_has_an_entry():
    assert sorted(entry.name for entry in ENTRIES if not entry.error) == sorted(get_args(Rule))


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_options_of_an_example_exist(command):
    lines = [shlex.split(entry.example)[1:] for entry in ENTRIES if entry.example.startswith(f"dra-lab {command} ")]
    assert [words for words in lines if not parser_of(words).parse_args(words).run] == []


@pytest.mark.parametrize("word", ["topology-cpus-cut", "source-error", "SourceError"])
def test_help_prints_the_entry_of_a_rule(word, capsys):
    entry = next(e for e in ENTRIES if word in (e.name, e.error))
    assert main(["help", word]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{entry.name}: {entry.means}",
        "",
        f"Cause:   {entry.cause}",
        f"Remedy:  {entry.remedy}",
        f"Source:  {entry.source}",
        f"Page:    reference/rules/{entry.group}.html#{entry.name}",
        "Example:",
        *(f"  {line}" for line in entry.example.splitlines()),
    ]


@pytest.mark.parametrize(
    ("word", "similar"),
    [("selector-match-nothing", "'selector-matches-nothing'"), ("topology-*", ""), ("pool-", ""), ("SourceErro", "")],
)
def test_an_unknown_topic_is_refused(word, similar, capsys):
    assert main(["help", word]) == 2
    said = capsys.readouterr().err
    assert f"there is no topic or rule {word!r}" in said
    assert similar in said
    assert "?;" not in said


def test_findings_and_errors_end_with_the_command_that_explains_them(capsys):
    plan = ["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]
    main(plan)
    shown = capsys.readouterr().err
    main([*plan, "-q"])
    quiet = capsys.readouterr().err
    main(["plan", "sample:none", "--claim", "sample:none/none"])
    error = capsys.readouterr().err
    assert shown.rstrip().endswith("[dra-lab help device-tainted]")
    assert "[" not in quiet
    assert error.rstrip().endswith("[dra-lab help source-error]")


COMMAND = re.compile(r"(sudo|dra-lab|kubectl|nvidia-smi|lstopo|helm|pip|try:|make_plan|kube-scheduler|<)")
BROKEN_ON_PURPOSE = {"file-broken"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_example_of_a_document_is_yaml(entry):
    written = not COMMAND.match(entry.example) and entry.name not in BROKEN_ON_PURPOSE
    found = yaml.safe_load(entry.example) if written else {}
    assert isinstance(found, dict)
