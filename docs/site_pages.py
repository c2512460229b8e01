"""Pages of the documentation that are made from the code: what it knows is written once."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import dra_lab
from dra_lab.cli.commands import COMMANDS
from dra_lab.cli.parser import Parser, declare
from dra_lab.course.lesson_text import lessons
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.release import GATES, RELEASES, KubernetesRelease, has_gate
from dra_lab.model.sketch import LINK_KINDS
from dra_lab.topology.bandwidth import PATHS
from dra_lab.words.glossary import GLOSSARY
from dra_lab.words.rule_catalogue import rule_catalogue, rule_groups

ROOT = Path(__file__).resolve().parents[1]
_KEY = re.compile(r'\["([^"]+)", "([^"]+)"\]')


def pages() -> Mapping[str, str]:
    """Return the text of every generated page by its path in the documentation."""
    made = {
        "reference/api.md": _api(),
        "reference/cli.md": _cli(),
        "reference/drivers.md": _drivers(),
        "reference/releases.md": _releases(),
        "reference/keys.md": _keys(),
        "reference/goals-and-links.md": _goals(),
        "reference/rules/index.md": _rules_index(),
        "glossary.md": _glossary(),
        "benchmarks.md": _benchmarks(),
        "course.md": _course(),
        "contributing.md": _root_page("CONTRIBUTING.md", "docs/"),
        "changelog.md": _root_page("CHANGELOG.md", "docs/"),
        "concepts/regret.md": _regret(),
    }
    return made | {f"reference/rules/{group}.md": _rules(group, title) for group, title in rule_groups().items()}


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell.replace('|', '&#124;').replace(chr(10), ' ') for cell in row)} |" for row in rows]
    return "\n".join(lines)


# ---------------------------------------------------------------- Python


def _api() -> str:
    """Return a page with every public name and its docstring."""
    parts = ["# Python API\n\nEvery name is imported from `dra_lab`. The examples run as they stand.\n"]
    for name in sorted((one for one in dra_lab.__all__ if not one.startswith("__")), key=str.lower):
        value = getattr(dra_lab, name)
        parts.append(f"## {name}\n")
        if isinstance(value, type):
            directive = f".. autoclass:: {value.__module__}.{value.__name__}\n   :noindex:"
        elif callable(value):
            directive = f".. autofunction:: {value.__module__}.{value.__name__}\n   :noindex:"
        else:
            parts.append(f"`{value!r}`\n")
            continue
        parts.append(f"```{{eval-rst}}\n{directive}\n```\n")
    return "\n".join(parts)


# ---------------------------------------------------------------- the command line


def _cli() -> str:
    """Return a page with every command and option of the parser."""
    parts = [
        "# Command line\n\n`dra-lab COMMAND --help` prints the same. Exit status: 0 is fits or valid, 1 is not, 2 is "
        "not answered.\n"
    ]
    for name, listed in COMMANDS.items():
        parser = Parser(prog=f"dra-lab {name}")
        declare(parser, listed)
        parts += [
            f"## dra-lab {name}\n",
            f"{_escaped(listed.text)}\n",
            f"```text\n{parser.format_usage().strip()}\n```\n",
        ]
        rows = list(_options(parser))
        if rows:
            parts += [_table(("Option", "What it does"), iter(rows)), ""]
        if parser.epilog:
            parts += [f"```text\n{parser.epilog}\n```\n"]
    return "\n".join(parts)


def _options(parser: Parser) -> Iterator[tuple[str, ...]]:
    for action in parser.declared:
        if action.help == argparse.SUPPRESS:
            continue
        if not action.option_strings:
            name = action.metavar or action.dest
            names = f"`{name if isinstance(name, str) else ' '.join(name)}`"
        else:
            value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
            names = ", ".join(f"`{option}{value}`" for option in action.option_strings)
        text = (action.help or "") % {**vars(action), "prog": parser.prog}
        choices = f" One of {', '.join(f'`{one}`' for one in action.choices)}." if action.choices else ""
        yield names, f"{_escaped(text)}{choices}"


def _escaped(text: str) -> str:
    return re.sub(r"([*_<])", r"\\\1", text)


# ---------------------------------------------------------------- rules


def _rules_index() -> str:
    rows = (
        (f"[`{entry.name}`]({entry.group}.md#{entry.name})", entry.means)
        for entry in sorted(rule_catalogue().values(), key=lambda one: one.name)
    )
    groups = "\n".join(rule_groups())
    return (
        "# Findings and errors\n\nEvery message of `dra_lab` names its rule. `dra-lab help RULE` prints the entry.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{groups}\n```\n\n{_table(('Rule', 'What it means'), rows)}\n"
    )


def _rules(group: str, title: str) -> str:
    parts = [f"# {title}\n"]
    for entry in rule_catalogue().values():
        if entry.group == group:
            raises = f"Python raises `{entry.error}`.\n\n" if entry.error else ""
            parts.append(
                f"({entry.name})=\n## `{entry.name}`\n\n{entry.means}\n\n{raises}**Cause.** {entry.cause}\n\n"
                f"**What to do.** {entry.remedy}\n\n```text\n{entry.example}\n```\n\n**Source.** {entry.source}\n"
            )
    return "\n".join(parts)


# ---------------------------------------------------------------- what the code knows


def _drivers() -> str:
    rows = []
    for name in known_drivers():
        found = profile(name)
        kinds = ", ".join(dict.fromkeys(rule.kind for rule in found.kinds)) or "unknown"
        places = "; ".join(
            f"{level}: {', '.join(f'`{one}`' for one in names)}" for level, names in found.topology.items()
        )
        classes = ", ".join(f"`{one.name}`" for one in found.classes) or "none"
        rows.append((f"`{name}`", found.title, kinds, places or "none", classes))
    heads = ("Driver", "What it is", "Devices", "Attributes that say where a device is", "Documented classes")
    return (
        "# Drivers\n\n`dra_lab` plans with the devices of every driver. For these it also knows names, places and "
        f"documented classes. Their sources are in `dra_lab/drivers/data`.\n\n{_table(heads, iter(rows))}\n"
    )


def _releases() -> str:
    every = [KubernetesRelease(version) for version in RELEASES]
    rows = ((f"`{gate}`", *(_gate(one, gate) for one in every)) for gate in sorted(GATES))
    return (
        "# Releases and feature gates\n\nA plan is made for one release: that of the cluster, or `--release`. "
        "`--feature-gates A=true,B=false` changes its gates.\n\n"
        f"{_table(('Feature gate', *RELEASES), rows)}\n"
    )


def _gate(release: KubernetesRelease, gate: str) -> str:
    return "not there" if not has_gate(release.version, gate) else "on" if release.enabled(gate) else "off"


def _keys() -> str:
    parts = ["# Keys\n\nEverything that the mouse does has a key.\n"]
    for title, path in (("On the canvas", "canvas/keyboard.ts"), ("In the planner", "plan/keys_panel.tsx")):
        text = (ROOT / "widgets" / "src" / path).read_text(encoding="utf-8")
        rows = iter([(f"`{key}`", words) for key, words in _KEY.findall(text)])
        parts.append(f"## {title}\n\n{_table(('Key', 'What it does'), rows)}\n")
    return "\n".join(parts)


def _goals() -> str:
    goals = ((f"`{name}`", words.meaning, words.of_fleet or "is not there") for name, words in GOAL_WORDS.items())
    kinds = ((f"`{how.value}`", kind.meaning, f"`{kind.constraint}`") for how, kind in LINK_KINDS.items())
    return (
        "# Goals and links\n\n## Goals\n\nA plan is best goal by goal, in this order. Smaller is better.\n\n"
        f"{_table(('Goal', 'For one claim', 'For a fleet'), goals)}\n\n## Kinds of links\n\n"
        f"{_table(('Kind', 'What it demands', 'Constraint of the claim'), kinds)}\n"
    )


def _glossary() -> str:
    terms = {word: meaning for lesson in lessons() for word, meaning in lesson.words.items()}
    words = "\n\n".join(
        f"{word}\n: {meaning}" for word, meaning in sorted(terms.items(), key=lambda one: one[0].lower())
    )
    figures = "\n\n".join(f"{word}\n: {meaning}" for word, meaning in sorted(GLOSSARY.items()))
    return f"# Glossary\n\n## Words of the field\n\n{words}\n\n## Figures on the screen\n\n{figures}\n"


def _benchmarks() -> str:
    """Return the page of docs with the table of all measurements."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = (ROOT / "tests" / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8").partition("\n")[2]
    return f"{page}{table}"


def _course() -> str:
    rows = (
        (str(lesson.number), lesson.title, str(lesson.minutes), f"`{lesson.cluster}`", lesson.explain.text)
        for lesson in lessons()
    )
    table = _table(("Lesson", "Title", "Minutes", "Cluster", "What it says"), rows)
    return (
        "# The course\n\nThirteen lessons and a final exercise. Each asks for a prediction, shows kube-scheduler's "
        "search, and checks a drawing by planning it. No cluster and no GPU are needed.\n\n"
        "Open the planner (`make lab`) and choose **Learn**, or run a notebook of `notebooks/course/`, or write:\n\n"
        f'```python\nfrom dra_lab import Lesson\n\nLesson("03-first-fit")\n```\n\n{table}\n\n'
        "Teachers find a plan in minutes and the set-up of a room in [Teaching](teaching.md).\n"
    )


def _root_page(name: str, prefix: str) -> str:
    """Return a page of the repository's root, whose links to `docs/` stay inside the site."""
    text = (ROOT / name).read_text(encoding="utf-8").replace(f"]({prefix}", "](")
    return re.sub(r"\[([^\]]+)\]\(([^)#:]+\.patch)\)", r"`\1`", text)


def _regret() -> str:
    """Return the page of docs with the ranges of bandwidth, and the measurements that they come from."""
    rows = []
    for cost in PATHS.values():
        left = "unknown" if cost.low is None or cost.high is None else f"{cost.low:.0%} to {cost.high:.0%}"
        measured = "; ".join(f"{one.what} ({one.source})" for one in cost.measurements) or cost.note or "none"
        rows.append((cost.path, left, cost.kind, measured))
    table = _table(("Path between GPU and card", "Bandwidth that is left", "Kind", "Measurements"), iter(rows))
    return f"{(ROOT / 'docs' / 'concepts' / 'regret.md').read_text(encoding='utf-8')}{table}\n"
