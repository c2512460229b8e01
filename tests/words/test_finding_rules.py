"""`dra-lab help RULE`: every rule that a finding can have is explained."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dra_lab
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.words.finding_rules import RULES, rule_text

SOURCES = [path.read_text(encoding="utf-8") for path in Path(dra_lab.__file__).parent.rglob("*.py")]
KEBAB = re.compile(r"[a-z]+(-[a-z]+)+")


def written_rules() -> set[str]:
    """Return the rules that are the first argument of a Finding in the source, by text or by constant."""
    found = set()
    for source in SOURCES:
        tree = ast.parse(source)
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding" and node.args:
                first = node.args[0]
                known = constants.get(getattr(first, "id", ""), getattr(first, "value", None))
                found |= {known} if isinstance(known, str) else set()
    return found


def test_every_rule_is_explained():
    """A rule without a text would be refused by the command that -v points to."""
    unexplained = []
    for rule in sorted(written_rules()):
        try:
            rule_text(rule)
        except InputError:
            unexplained.append(rule)
    assert unexplained == []


def test_every_explanation_is_of_a_rule_that_exists():
    """A text whose rule is gone would be dead."""
    others = "\n".join(source for source in SOURCES if "RULES: Mapping[str, str]" not in source)
    made = ("api-*", "plan-*", "release-*")
    gone = [rule for rule in RULES if f'"{rule.removesuffix("*")}' not in others and rule not in made]
    assert gone == []


def test_help_prints_cause_and_remedy_of_a_rule(capsys):
    """One line: the rule, what it means, what to do."""
    assert main(["help", "topology-contradiction"]) == 0
    assert capsys.readouterr().out == f"topology-contradiction: {RULES['topology-*']}\n"


@pytest.mark.parametrize("word", ["selector-match-nothing", "topology-*", "pool-"])
def test_an_unknown_topic_is_refused(word, capsys):
    """With the nearest rule, if there is one."""
    assert (main(["help", word]), "there is no topic or rule" in capsys.readouterr().err) == (2, True)


def test_verbose_findings_have_their_rule(capsys):
    """The rule is what `dra-lab help` takes."""
    main(["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", "--node", "", "-v"])
    verbose = capsys.readouterr().err
    main(["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"])
    assert (verbose.rstrip().endswith("[device-tainted]"), "[" in capsys.readouterr().err) == (True, False)
