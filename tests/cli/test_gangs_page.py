"""docs/gangs.md: every command of the page runs, and prints what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_lab.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "gangs.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> Iterator[tuple[str, str]]:
    """Yield each command of the page with the output below it."""
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def write_files(folder: Path) -> None:
    """Write the files of the page, which begin with a comment that names them."""
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "yaml":
            name = text.partition("\n")[0].removeprefix("# ")
            (folder / name).write_text(text)


@pytest.mark.parametrize("number", range(len(list(shown()))))
def test_a_command_prints_what_the_page_shows(number, tmp_path, monkeypatch, capsys):
    """The answer, then the findings."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    command, output = list(shown())[number]
    main(shlex.split(command)[1:])
    found = capsys.readouterr()
    assert found.out + found.err == output
