"""Pages of the documentation that are made from the code: what it knows is written once."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import dra_lab
from dra_lab.cli.parser import COMMANDS, Parser, declare
from dra_lab.course.lesson_text import lessons
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.model.goals import GANG_GOALS, GOAL_WORDS
from dra_lab.model.release import GATES, RELEASES, KubernetesRelease, has_gate
from dra_lab.model.sketch import LINK_KINDS
from dra_lab.topology.places import PATHS
from dra_lab.words.facts import GLOSSARY
from dra_lab.words.rule_catalogue import rule_catalogue, rule_groups

ROOT = Path(__file__).resolve().parents[1]
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][\w-]*|-[a-z](?!\w))")
_SPECIAL = re.compile(r"(`[^`]+`)|([*_<])")
_KEY = re.compile(r'\[\s*"([^"]+)",\s*"([^"]+)",')


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


SUBJECTS = {
    "sources": "Clusters",
    "topology": "Clusters",
    "checks": "Clusters",
    "model": "Values",
    "session": "Drawings, claims and manifests",
    "sketch": "Drawings, claims and manifests",
    "exports": "Drawings, claims and manifests",
    "gitops": "Drawings, claims and manifests",
    "planner": "Plans",
    "pinning": "What schedulers do",
    "words": "Tables",
    "pictures": "Pictures and charts",
    "widgets": "Widgets",
    "course": "The course",
}
"""The subject of a public name, by the package that defines it."""


def _subject(value: object) -> str:
    package = getattr(value, "__module__", "dra_lab.sources").split(".")[1]
    return SUBJECTS.get(package, "Errors and findings")


def _api() -> str:
    """Return a page with every public name: by subject, then each with its docstring."""
    public = sorted((one for one in dra_lab.__all__ if not one.startswith("__")), key=str.lower)
    parts = ["# Python API\n\nEvery name is imported from `dra_lab`. The examples run as they are.\n"]
    for subject in (*dict.fromkeys(SUBJECTS.values()), "Errors and findings"):
        names = [name for name in public if _subject(getattr(dra_lab, name)) == subject]
        rows = ((f"[`{name}`](#api-{name})", _first_line(getattr(dra_lab, name))) for name in names)
        parts.append(f"**{subject}**\n\n{_table(('Name', 'What it is'), rows)}\n")
    entries = (f"(api-{name})=\n## {name}\n\n{_api_entry(getattr(dra_lab, name))}" for name in public)
    return "\n".join((*parts, *entries))


def _first_line(value: object) -> str:
    if isinstance(value, str):
        return "The command of kubectl that writes a cluster to a file."
    return _escaped((inspect.getdoc(value) or "").partition("\n")[0])


def _api_entry(value: object) -> str:
    if isinstance(value, str):
        return f"{_first_line(value)}\n\n```text\n{value}\n```\n"
    assert callable(value)
    directive = "autoclass" if isinstance(value, type) else "autofunction"
    return f"```{{eval-rst}}\n.. {directive}:: {value.__module__}.{value.__name__}\n   :noindex:\n```\n"


# ---------------------------------------------------------------- the command line


def _cli() -> str:
    """Return a page with every command and option of the parser."""
    parts = [
        "# Command line\n\n`dra-lab COMMAND --help` prints the same. `dra-lab --help` lists the commands.\n\n"
        "| Exit status | Meaning |\n|---|---|\n| 0 | it fits, or everything is valid |\n"
        "| 1 | it does not fit, or something is not valid |\n| 2 | the command could not answer |\n"
    ]
    for name, text in COMMANDS.items():
        parser = Parser(prog=f"dra-lab {name}")
        declare(parser, name)
        parts += [
            f"## dra-lab {name}\n",
            f"{_sentence(text)}\n",
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
        names_all = all(str(one) in text for one in action.choices or ())
        choices = "" if names_all else f" One of {', '.join(f'`{one}`' for one in action.choices or ())}."
        yield names, f"{_sentence(text)}{choices}"


def _sentence(text: str) -> str:
    """Return a text of help as Markdown: its options as code, with a full stop, and a capital before a word."""
    shown = _OPTION.sub(r"`\1`", _escaped(text)).rstrip(".")
    return f"{shown[:1].upper() if re.match(r'[a-z]+ ', shown) else shown[:1]}{shown[1:]}."


def _escaped(text: str) -> str:
    """Return a text as Markdown: what is special there is escaped, except in code between backticks."""
    return _SPECIAL.sub(lambda found: found[1] or rf"\{found[2]}", text)


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
                f"**What to do.** {entry.remedy}\n\n**Example.**\n\n```text\n{entry.example}\n```\n\n"
                f"**Source.** {_linked(entry.source)}\n"
            )
    return "\n".join(parts)


def _linked(source: str) -> str:
    """Return a source whose pages and sections are links."""
    places = {found[1]: found[0] for found in _SECTION.finditer((ROOT / "docs" / "semantics.md").read_text("utf-8"))}

    def page(found: re.Match[str]) -> str:
        name, numbers = found[1], re.findall(r"\d+(?:\.\d+)?", found[2] or "")
        if not numbers:
            return f"[{name}](../../{name}.md)"
        return " and ".join(f"[{name} {number}](../../semantics.md#{_anchor(places[number])})" for number in numbers)

    return _PAGE.sub(page, source)


def _anchor(heading: str) -> str:
    """Return the place of a heading, as Sphinx and GitHub name it."""
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")


_SECTION = re.compile(r"^#{2,3} (\d+(?:\.\d+)?) .*$", re.MULTILINE)
_PAGE = re.compile(r"docs/(semantics|planner|gangs)\.md((?: \d+(?:\.\d+)?)(?: and \d+(?:\.\d+)?)*)?")

# ---------------------------------------------------------------- what the code knows


def _drivers() -> str:
    rows = []
    for name in known_drivers():
        found = profile(name, {})
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
    text = (ROOT / "widgets" / "src" / "view" / "keys.tsx").read_text(encoding="utf-8")
    for title, name in (("On the canvas", "CANVAS_KEYS"), ("In the planner", "PLANNER_KEYS")):
        table = text.partition(f"export const {name}")[2].partition("\n];")[0]
        rows = iter([(f"`{key}`", words) for key, words in _KEY.findall(table)])
        parts.append(f"## {title}\n\n{_table(('Key', 'What it does'), rows)}\n")
    return "\n".join(parts)


def _goals() -> str:
    goals = ((f"`{name}`", words.meaning, words.of_fleet or "is not there") for name, words in GOAL_WORDS.items())
    of_gangs = ((f"`{name}`", words) for name, words in GANG_GOALS.items())
    kinds = ((f"`{how.value}`", kind.meaning, f"`{kind.constraint}`") for how, kind in LINK_KINDS.items())
    return (
        "# Goals and links\n\n## Goals\n\nA plan is best goal by goal, in this order. Smaller is better.\n\n"
        f"{_table(('Goal', 'For one claim', 'For a fleet'), goals)}\n\n## Goals with gangs\n\n"
        "The first three are there for every priority.\n\n"
        f"{_table(('Goal', 'What it counts'), of_gangs)}\n\n## Kinds of links\n\n"
        f"{_table(('Kind', 'What it demands', 'Constraint of the claim'), kinds)}\n"
    )


FIGURES = {
    "unpaired": "GPUs paired with a NIC",
    "numa": "NUMA nodes",
    "roots": "PCIe roots",
    "alternatives": "Steps down the list of alternatives",
    "preferences": "Preferred links broken",
    "damage": "Copies that no longer fit beside it",
    "proof": "Proof",
    "copies": "Copies that fit",
    "manifest": "kube-scheduler with this YAML",
    "plain": "kube-scheduler without the links",
    "most": "How near it is",
    "gangs": "Gangs placed",
    "domains": "Domains of the gangs",
    "levels": "Domains of the preferred level",
    "nodes": "Nodes used",
    "wanted": "Pods wanted",
    "placed": "Pods placed",
    "more": "More pods that fit",
    "more gangs": "More gangs that fit",
    "stranded": "Stranded devices",
    "tried": "Devices tried",
    "rejected": "Devices rejected",
    "given back": "Devices given back",
    "cluster": "Cluster",
    "snapshot": "Snapshot",
    "changes": "What-if changes",
    "release": "Release",
    "fits": "Nodes that fit",
    "node": "Best node",
    "paired": "GPUs paired",
    "bandwidth": "GPU\u2013NIC bandwidth",
    "scheduler": "kube-scheduler on every node",
    "scheduler-node": "kube-scheduler on the best node",
    "scheduler-bandwidth": "GPU\u2013NIC bandwidth with kube-scheduler",
    "devices": "Devices",
    "added": "Lines added",
    "removed": "Lines removed",
    "yaml": "Length of the YAML",
}
"""The name of a figure on the page, by its name in the glossary of the code."""


def _lower(entry: tuple[str, str]) -> str:
    return entry[0].lower()


def _glossary() -> str:
    terms = {word: meaning for lesson in lessons() for word, meaning in lesson.words.items()}
    words = "\n\n".join(f"{word}\n: {meaning}" for word, meaning in sorted(terms.items(), key=_lower))
    shown = {FIGURES.get(name, name): meaning for name, meaning in GLOSSARY.items()}
    figures = "\n\n".join(f"{word}\n: {meaning}" for word, meaning in sorted(shown.items(), key=_lower))
    return f"# Glossary\n\n## Words of the field\n\n{words}\n\n## Figures on the screen\n\n{figures}\n"


def _benchmarks() -> str:
    """Return the page of docs with the table of all measurements."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    recorded = (ROOT / "tests" / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    rows = (_measured(*found) for found in _RESULT.findall(recorded))
    return f"{page}{_table(('Benchmark', 'Question', 'Result', 'Target', 'Measured'), rows)}\n"


def _measured(date: str, commit: str, machine: str, benchmark: str, value: str) -> tuple[str, ...]:
    """Return a row of the table: a recorded value, with its question and target in columns of their own."""
    targets = _TARGET.findall(value)
    # A row with several targets keeps each next to its value.
    rest = _TARGET.sub("", value) if len(targets) == 1 else value
    question, colon, result = rest.partition(": ")
    state = machine.rpartition("Python ")[2].partition(", ")[2]
    place = f"{date}, {commit[:8]}, {state}" if state else f"{date}, {commit[:8]}"
    return (
        f"`{benchmark}`",
        question if colon else "",
        result or question,
        targets[0] if len(targets) == 1 else "",
        place,
    )


_RESULT = re.compile(r"^\| (\d\S+) \| (\w+) \| ([^|]+) \| (\w+) \| (.+?) \|$", re.MULTILINE)
_TARGET = re.compile(r"(?:; |\s*\()(?:no )?targets?:? ?([^;()]*)\)?")


def _course() -> str:
    rows = (
        (str(lesson.number), lesson.title, str(lesson.minutes), f"`{lesson.cluster}`", lesson.explain.text)
        for lesson in lessons()
    )
    table = _table(("Lesson", "Title", "Minutes", "Cluster", "What it says"), rows)
    return (
        "# The course\n\nFifteen lessons, the last one a final exercise. Each asks for a prediction, shows "
        "kube-scheduler's search, and checks a drawing by planning it. No cluster and no GPU are needed.\n\n"
        "Open the planner (`make lab`) and choose **Learn**, or run a notebook of `notebooks/course/`, or write:\n\n"
        f'```python\nfrom dra_lab import Lesson\n\nLesson("03-first-fit")\n```\n\n{table}\n\n'
        "Teachers find a plan in minutes and the set-up of a room in [Teaching](teaching.md).\n"
    )


def _root_page(name: str, prefix: str) -> str:
    """Return a page of the repository's root, whose links to `docs/` stay inside the site."""
    return (ROOT / name).read_text(encoding="utf-8").replace(f"]({prefix}", "](")


def _regret() -> str:
    """Return the page of docs with the ranges of bandwidth, and the measurements that they come from."""
    rows = []
    for cost in PATHS.values():
        left = "not known" if cost.low is None or cost.high is None else _percent(cost.low, cost.high)
        rows.append((cost.path, left, cost.kind, cost.note or f"{len(cost.measurements)} measurements, below"))
    ranges = _table(("Path between GPU and NIC", "Bandwidth that is left", "Kind", "Note"), iter(rows))
    inside = {one: None for cost in PATHS.values() for one in cost.measurements}
    every = inside | {one: None for cost in PATHS.values() for one in cost.against}
    measured = ((one.what, _percent(one.low, one.high), one.source) for one in every)
    sources = _table(("Measurement", "Bandwidth that is left", "Source"), measured)
    page = (ROOT / "docs" / "concepts" / "regret.md").read_text(encoding="utf-8")
    return page.replace("<!-- ranges -->", ranges).replace("<!-- measurements -->", sources)


def _percent(low: float, high: float) -> str:
    least, most = (f"{round(100 * value, 1):g}" for value in (low, high))
    return f"{least} %" if least == most else f"{least} to {most} %"
