#!/usr/bin/env python3
"""Print sentences that break the rules for plain words in CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LONGEST = 35
"""The most words of a sentence. Aim at 25."""

FEWEST_SPACES = 4
"""A text with fewer spaces is a name or a label, not a sentence."""

RULES = (
    ("opening", r"^(Who|Whoever) \w", "begin with the subject"),
    ("opening", r"^Of (?!course\b)\w", "begin with the subject"),
    ("opening", r"^What (?!(if|is|to)\b)([^?]* )?(is|are|was|has|have)\b", "begin with the subject"),
    ("opening", r"^Where ([^?]* )?there ", "begin with the subject, or with If"),
    ("passive", r"\b(is|are|was|were|be|been) (said|told) (?!(to|apart)\b)", "reported, shown, returned, contained"),
    ("actor", r"(?i)\b(nobody|somebody|whoever)\b", "name the actor"),
    ("again", r"(?i)\banew\b", "again"),
    ("number", r"(?i)\b(so many|as often as)\b", "this many, or the number"),
    ("undo", r"(?i)\btakes? back\b", "undo, revert"),
    ("on", r"\bat (a|its|one|the|their) (same )?(PCIe )?(root|NUMA node)\b", "on a PCIe root, on a NUMA node"),
)
"""Name of the rule, pattern of a sentence that breaks it, and the words to use instead."""

_RULES = [(name, re.compile(pattern), instead) for name, pattern, instead in RULES]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|>>>) )")
_COMMENT = re.compile(r"(?:^|(?<=  ))#+ ?(.*)$")
_WORD = re.compile(r"[A-Za-z]{2,}")
_STRING = re.compile(r"""["'`]([^"'`\n]{24,})["'`]""")


class Text(NamedTuple):
    """A text with its first line; `is_data` for a string of several lines, such as a manifest or a script."""

    line: int
    text: str
    is_data: bool = False


class Found(NamedTuple):
    """A sentence that breaks a rule; the name of the rule contains the words to use instead."""

    path: Path
    line: int
    rule: str
    sentence: str


def texts_of_python(source: str) -> Iterator[Text]:
    """Yield the docstrings, messages and comments of a module; comments on consecutive lines are one text."""
    docstrings, in_strings = set[int](), set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            in_strings.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
            if node.value.count(" ") >= FEWEST_SPACES:
                yield Text(node.lineno, node.value, id(node) not in docstrings and "\n" in node.value.strip())
    start, lines = 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        comment = None if number in in_strings else _COMMENT.search(line)
        if lines and not (comment and not line[: comment.start()].strip()):
            yield Text(start, "\n".join(lines))
            lines = []
        if comment:
            start = start if lines else number
            lines.append(comment[1])


def texts_of_markdown(source: str) -> Iterator[Text]:
    """Yield the paragraphs of a document without code and tables."""
    fenced, start, lines = False, 1, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        if fenced or fence or not line.strip() or line.startswith(("|", "    ")):
            if lines:
                yield Text(start, "\n".join(lines))
            lines, fenced = [], fenced != fence
        else:
            start = start if lines else number
            lines.append(line)


def texts_of_notebook(source: str) -> Iterator[Text]:
    """Yield the Markdown of a notebook's cells; the line is the number of the cell."""
    for number, cell in enumerate(json.loads(source)["cells"], 1):
        if cell["cell_type"] == "markdown":
            for text in texts_of_markdown("".join(cell["source"])):
                yield Text(number, text.text)


def texts_of_typescript(source: str) -> Iterator[Text]:
    """Yield the strings of a module that have several words."""
    for hit in _STRING.finditer(source):
        if hit[1].count(" ") >= FEWEST_SPACES:
            yield Text(source.count("\n", 0, hit.start()) + 1, hit[1])


READERS = {
    ".py": texts_of_python,
    ".md": texts_of_markdown,
    ".ipynb": texts_of_notebook,
    ".ts": texts_of_typescript,
    ".tsx": texts_of_typescript,
}


def broken_rules(path: Path, text: Text) -> Iterator[Found]:
    """Yield each sentence of a text that breaks a rule, once per rule. Data may have any length."""
    for part in _SENTENCE_END.split(text.text):
        sentence = " ".join(part.split())
        for name, pattern, instead in _RULES:
            if pattern.search(sentence):
                yield Found(path, text.line, f"{name} ({instead})", sentence)
        words = len(_WORD.findall(sentence))
        if words > LONGEST and not text.is_data and "|" not in sentence:
            yield Found(path, text.line, f"long ({words} words, at most {LONGEST})", sentence)


def check(paths: list[Path]) -> list[Found]:
    """Return the sentences of files that break a rule, in the order of the files. Other kinds of files have none."""
    found = []
    for path in paths:
        if (read := READERS.get(path.suffix)) and path.exists() and "generated" not in path.parts:
            for text in read(path.read_text(encoding="utf-8")):
                found += broken_rules(path, text)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the sentences that break a rule and return 1 if there is one, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder (default: all files in Git)")
    asked = parser.parse_args(arguments).paths
    listed = subprocess.run(["git", "ls-files", "-z", *asked], capture_output=True, text=True, check=True).stdout
    found = check([Path(name) for name in listed.split("\0") if name])
    for path, line, rule, sentence in found:
        print(f"{path}:{line}: {rule}: {sentence[:160]}")
    if found:
        print(f"{len(found)} sentences break the rules for plain words in CONTRIBUTING.md.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
