"""The catalogue of rules: every rule of a finding and every error has an entry, and `dra-lab help RULE` prints it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

import dra_lab
from dra_lab.cli import main
from dra_lab.cli.commands import COMMANDS
from dra_lab.cli.main import _parser
from dra_lab.errors import DraLabError
from dra_lab.words.rule_catalogue import ORDER, rule_catalogue, rule_groups

PACKAGE = Path(dra_lab.__file__).parent
ROOT = Path(__file__).parents[2]
ENTRIES = list(rule_catalogue().values())
FINDINGS = {entry.name for entry in ENTRIES if not entry.error}
KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
PASSED_ON = {"rule", "note.rule", "first.rule", "f'plan-{rule}'"}
"""The rule of a Finding that its caller, or an earlier finding, gives."""


@cache
def sources() -> dict[Path, ast.Module]:
    """Return the modules of the package."""
    return {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


@cache
def raised() -> tuple[frozenset[str], frozenset[str]]:
    """Return the rules that the source gives findings, and the expressions whose rule is not known."""
    rules, unknown = set(), set()
    constants = {name: value for tree in sources().values() for name, value in _constants(tree)}
    for path, tree in sources().items():
        text = path.read_text("utf-8")
        if "rule" not in text and "Finding" not in text and "broken(" not in text:
            continue
        takes = {"Finding": 0, "AuditRow": 0, **dict(_takes_rule(tree, text.splitlines()))} | (
            {"broken": 0} if "checks" in path.parts else {}
        )
        passed_on = False
        for node in ast.walk(tree):
            name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
            if not isinstance(node, ast.Call) or name not in takes or len(node.args) <= takes[name]:
                continue
            for one in _choices(node.args[takes[name]]):
                rule = one.value if isinstance(one, ast.Constant) else constants.get(ast.unparse(one))
                passed_on |= rule is None
                if rule is not None:
                    rules.add(f"plan-{rule}" if name == "broken" else rule)
                elif ast.unparse(one) not in PASSED_ON:
                    unknown.add(ast.unparse(one))
        if passed_on or "Reason = tuple[str, str, str]" in text:
            rules |= set(_listed(tree))
    return frozenset(rules), frozenset(unknown)


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def _takes_rule(tree: ast.Module, lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module that have a parameter `rule` for a finding, with its position."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in node.args.args if one.arg != "self"]
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if "rule" in names and re.search(r"Finding\(|_not_used\(", text):
                yield node.name, names.index("rule")


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    yield from (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,)


def _listed(tree: ast.Module) -> Iterator[str]:
    """Yield the rules in the tuples, keys and choices of a module that passes rules on."""
    for node in ast.walk(tree):
        inside = {
            ast.Tuple: lambda n: n.elts,
            ast.Dict: lambda n: n.keys,
            ast.IfExp: lambda n: [n.body, n.orelse],
        }.get(type(node), lambda _: [])(node)
        texts = (one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str))
        yield from (text for text in texts if KEBAB.fullmatch(text))


def errors(kind: type[DraLabError] = DraLabError) -> Iterator[type[DraLabError]]:
    """Yield the classes of errors in the package."""
    if kind.__module__.startswith("dra_lab."):
        yield kind
    for one in kind.__subclasses__():
        yield from errors(one)


def test_every_rule_of_the_source_has_an_entry():
    """A finding whose rule has no entry would end with a command that fails."""
    rules, unknown = raised()
    assert (sorted(rules - FINDINGS), unknown) == ([], frozenset())


def test_every_entry_is_raised():
    """An entry whose rule no code names would describe nothing."""
    assert sorted(FINDINGS - raised()[0]) == []


def test_every_error_has_an_entry():
    """The entries of errors are those of the classes of the package."""
    for path in sources():
        if re.search(r"^class .*(Error|DraLabError)\b.*\):", path.read_text("utf-8"), re.MULTILINE):
            import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    assert {kind.rule: kind.__name__ for kind in errors()} == {e.name: e.error for e in ENTRIES if e.error}


def test_each_rule_is_in_one_group():
    """A rule has one page, and every file of the folder is a group."""
    files = sorted(path.stem for path in (PACKAGE / "words" / "rules").glob("*.yaml"))
    written = [line for name in files for line in _keys(name)]
    assert (files, sorted(written), [*rule_groups()]) == (sorted(ORDER), sorted(rule_catalogue()), [*ORDER])


def _keys(group: str) -> list[str]:
    text = (PACKAGE / "words" / "rules" / f"{group}.yaml").read_text("utf-8")
    return re.findall(r"^  ([a-z0-9-]+):$", text, re.MULTILINE)


def test_every_entry_is_in_plain_words():
    """Each text is there, and its sentences keep the rules of CONTRIBUTING.md."""
    spec = spec_from_file_location("prose", ROOT / ".ci" / "prose.py")
    prose = module_from_spec(spec)
    spec.loader.exec_module(prose)
    found = []
    for entry in ENTRIES:
        for text in (entry.means, entry.cause, entry.remedy):
            found += prose.broken_rules(Path(entry.name), prose.Text(1, text))
    assert found == []
    assert [entry.name for entry in ENTRIES if not (entry.example and entry.source)] == []
    assert [e.name for e in ENTRIES for text in (e.means, e.cause, e.remedy) if text[-1:] not in (".", ")")] == []


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_options_of_an_example_exist(command):
    """Each example of the command has options that the command takes."""
    lines = [shlex.split(entry.example)[1:] for entry in ENTRIES if entry.example.startswith(f"dra-lab {command} ")]
    assert [words for words in lines if not _parser(words).parse_args(words).run] == []


@pytest.mark.parametrize("word", ["topology-contradiction", "source-error", "SourceError"])
def test_help_prints_the_entry_of_a_rule(word, capsys):
    """The rule with its meaning comes first, then cause, remedy, source, page and example."""
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
    """With the nearest rule, if there is one."""
    assert main(["help", word]) == 2
    said = capsys.readouterr().err
    assert f"there is no topic or rule {word!r}" in said
    assert similar in said


def test_findings_and_errors_end_with_the_command_that_explains_them(capsys):
    """-q leaves the command out."""
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
    """An example that is not a command is a part of a document, which a person can paste."""
    written = not COMMAND.match(entry.example) and entry.name not in BROKEN_ON_PURPOSE
    found = yaml.safe_load(entry.example) if written else {}
    assert isinstance(found, dict)
