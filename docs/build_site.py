"""Build the documentation: generated pages, executed notebooks, screenshots, then Sphinx, which refuses any warning.

Notebooks and screenshots are kept in `build/docs/cache` under a number of what they are
made from. They are made again only if the package or the notebook changed. Nothing is fetched from another machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from site_charts import chart_block, chart_of, with_charts
from site_checks import problems
from site_pages import ROOT, pages

DOCS = ROOT / "docs"
BUILD = ROOT / "build" / "docs"
CACHE = BUILD / "cache"
SOURCE, SITE, DOCTREES = BUILD / "source", BUILD / "html", BUILD / "doctrees"
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|#)([^)\s]+)\)")
_NAMED = re.compile(r"^\[[^\]]+\]: \.\./\S+$\n?", re.MULTILINE)
NOT_SHOWN = {"build_site.py", "site_charts.py", "site_checks.py", "site_pages.py", "site_pictures.py", "__pycache__"}


def main() -> None:
    """Build the site, and say where it is."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--no-notebooks", action="store_true", help="leave out notebooks and screenshots")
    given = options.parse_args()
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE, ignore=lambda _folder, names: NOT_SHOWN.intersection(names))
    (SOURCE / "_static").mkdir(exist_ok=True)
    for page in SOURCE.rglob("*.md"):
        write(page, without_links_out(page.read_text(encoding="utf-8"), page))
    for name, text in pages().items():
        write(SOURCE / name, text)
    notebooks = [] if given.no_notebooks else notebook_pages()
    listed = "\n".join(name for name, _ in notebooks)
    hint = "Each notebook was run from top to bottom for this page." if listed else "They are in `notebooks/`."
    write(SOURCE / "notebooks-shown.md", f"# Notebooks\n\n{hint}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n")
    from site_pictures import draw_pictures, layers_svg, take_screenshots

    for (name, _), page in zip(notebooks, with_charts([page for _, page in notebooks], CACHE), strict=True):
        write(SOURCE / f"{name}.md", page)
    write(DOCS / "layers.svg", layers_svg())
    draw_pictures(SOURCE / "_static")
    take_screenshots(SOURCE / "_static", CACHE, key_of(), made=not given.no_notebooks)
    for folder in (SITE, DOCTREES):
        shutil.rmtree(folder, ignore_errors=True)
    strict = ["-q", "-W", "--keep-going", "-j", "auto", "-d", DOCTREES]
    command = [sys.executable, "-m", "sphinx", *strict, "-b", "html", SOURCE, SITE]
    if subprocess.run(command, check=False).returncode:
        sys.exit("Sphinx has warnings, see above")
    if found := list(problems(SITE)):
        sys.exit("\n".join(found))
    print(f"the documentation is {SITE / 'index.html'}")


def without_links_out(text: str, page: Path) -> str:
    """Return a page whose links to files of the repository that are not on the site are names."""

    def shown(found: re.Match[str]) -> str:
        words, target = found[1], found[2].partition("#")[0]
        inside = (page.parent / target).resolve().is_relative_to(SOURCE)
        return found[0] if inside else words

    return _LINK.sub(shown, _NAMED.sub("", text))


def write(path: Path, text: str) -> None:
    """Write a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def key_of(*files: Path) -> str:
    """Return a number of the package, the samples and some files: what was made from them is the same."""
    found = hashlib.sha256()
    package = (path for folder in ("dra_lab", "sample_clusters") for path in (ROOT / folder).rglob("*"))
    for path in sorted([*package, *files]):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(str(path.relative_to(ROOT)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


# ---------------------------------------------------------------- notebooks


def notebook_pages() -> list[tuple[str, str]]:
    """Return name and text of the page of every notebook, executed from top to bottom."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # A lesson waits for its student; what such a notebook does without one is tested in tests/course.
    paths = [*sorted((ROOT / "notebooks").glob("*.ipynb")), ROOT / "notebooks" / "course" / "class_overview.ipynb"]
    # The work is in the kernels, one process each.
    with ProcessPoolExecutor(max_workers=max(2, os.cpu_count() or 2)) as pool:
        texts = pool.map(notebook_page, paths, [key_of(path) for path in paths])
        return [(f"notebooks-{path.stem}", text) for path, text in zip(paths, texts, strict=True)]


def notebook_page(path: Path, key: str) -> str:
    """Return the page of a notebook: its cells with their outputs."""
    kept = CACHE / f"{path.stem}-{key}.md"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    text = "\n\n".join(_cells(_executed(path)))
    if "<td>None</td>" in text or "<td>NaN</td>" in text:
        sys.exit(f"{path.name}: a table shows None; leave out columns and cells without a value")
    for old in CACHE.glob(f"{path.stem}-*.md"):
        old.unlink()
    write(kept, text)
    return text


def _executed(path: Path):
    import tempfile

    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for beside in path.parent.glob("*.json"):
            shutil.copy(beside, folder)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    return notebook


def _cells(notebook) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source.replace(".ipynb)", ".ipynb)")
        elif cell.cell_type == "code":
            yield f"```python\n{cell.source}\n```"
            for output in cell.outputs:
                yield from _output(output)


_PROGRESS = re.compile(r"\s*(?:\d\d:\d\d\s*)+")
"""The bar of a question that takes long: it changes from run to run."""


def _output(output) -> Iterator[str]:
    data = output.get("data", {})
    if (chart := chart_of(data)) is not None:
        yield chart_block(chart)
        return
    html = "".join(data.get("text/html", "")) or "".join(data.get("image/svg+xml", ""))
    text = "".join(output.get("text", "")) or "".join(data.get("text/plain", ""))
    if html and "<script" not in html:
        yield f'```{{raw}} html\n<div class="dra-output">{html}</div>\n```'
    elif text and not _PROGRESS.fullmatch(text):
        yield f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    main()
