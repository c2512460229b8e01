"""What may be read and written because a file or a page of a browser says so, and not the person's own code.

A running cluster is never contacted because a plan file names it. A page of a browser, which may be served to others
(`marimo run`, Voila), reaches files in the notebook's folder only. The person allows further folders before the kernel
starts, in `DRA_LAB_FOLDERS` (separated as in PATH). Python code of the notebook and the command line are not confined.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dra_lab.errors import InputError
from dra_lab.manifests.file_text import expanded
from dra_lab.sources.files import CONTEXT, TOPOLOGY
from dra_lab.sources.samples import PREFIX

FOLDERS = "DRA_LAB_FOLDERS"
_COUNT = re.compile(r"\*\d+(@.*)?$", re.DOTALL)


def is_live(source: object) -> bool:
    """Say whether reading a cluster by its name contacts a running one."""
    return str(source).strip().startswith(CONTEXT)


def confined(path: str | Path) -> Path:
    """Return a path that a page of a browser may name: in the notebook's folder, or in one of DRA_LAB_FOLDERS.

    Links are followed first. Raises InputError for any other path.
    """
    allowed = (Path.cwd(), *map(Path, filter(None, os.environ.get(FOLDERS, "").split(os.pathsep))))
    try:
        place = expanded(path).resolve()
        if any(place.is_relative_to(folder.resolve()) for folder in allowed):
            return place
    except (OSError, RuntimeError, ValueError):
        pass  # a loop of links, or a name that no file has
    advice = f"name it in a cell, or start Jupyter with its folder in {FOLDERS}"
    raise InputError(f"{str(path)[:80]!r} is not in the notebook's folder, so this page may not reach it; {advice}")


def confined_source(source: str) -> str:
    """Return what `load_cluster` takes, if a page of a browser may name it: each file of it is `confined`.

    Raises InputError for another file, and for standard input.
    """
    if source == "-":
        raise InputError("a page cannot read standard input; give a file")
    for path in _files(source):
        confined(path)
    return source


def why_refused(source: str) -> str:
    """Return why a page of a browser may not name a source (`confined_source`), "" if it may."""
    try:
        confined_source(source)
    except InputError as error:
        return str(error)
    return ""


def _files(source: str) -> Iterator[str]:
    """Yield the file that a source names; with a count or a driver behind it also as if that were part of the name."""
    if source.startswith(TOPOLOGY):
        file = source.removeprefix(TOPOLOGY)
        yield from filter(None, (file, _COUNT.sub("", file)))
    elif not source.startswith((CONTEXT, PREFIX)):
        yield source
