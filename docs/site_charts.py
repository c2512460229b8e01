"""Charts of the notebooks as pictures: JupyterLab draws them in the browser of the screenshots, without a network.

A page of a notebook has the description of each chart until `with_charts` replaces it. Pictures are kept in the cache.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

VEGALITE = "application/vnd.vegalite.v5+json"
_BLOCK = re.compile(r"^```\{chart\}\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_IDENTIFIED = re.compile(r'\bid="([^"]+)"')
_SHOW_CELL = "at => window.jupyterapp.shell.currentWidget.content.scrollToItem(at, 'center')"


def chart_of(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the chart of an output, None for any other output."""
    return data.get(VEGALITE)


def chart_block(chart: Mapping[str, Any]) -> str:
    """Return a chart as the block that `with_charts` replaces."""
    return f"```{{chart}}\n{json.dumps(chart, sort_keys=True)}\n```"


def with_charts(pages: Sequence[str], cache: Path) -> Iterator[str]:
    """Yield each page with its charts as pictures; draw those that the cache does not have."""
    folder = cache / "charts"
    wanted = {_key(text): text for page in pages for text in _BLOCK.findall(page)}
    missing = {key: text for key, text in wanted.items() if not (folder / f"{key}.svg").is_file()}
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        for key, picture in zip(missing, _drawn([json.loads(text) for text in missing.values()]), strict=True):
            (folder / f"{key}.svg").write_text(_unique(picture, key), encoding="utf-8")
    for old in folder.glob("*.svg"):
        if old.stem not in wanted:
            old.unlink()
    for page in pages:
        yield _BLOCK.sub(lambda found: _shown((folder / f"{_key(found[1])}.svg").read_text(encoding="utf-8")), page)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _shown(picture: str) -> str:
    return f'```{{raw}} html\n<div class="dra-output dra-chart">{picture}</div>\n```'


def _unique(picture: str, key: str) -> str:
    """Return a picture whose names belong to it alone: a page has several pictures."""
    for name in set(_IDENTIFIED.findall(picture)):
        picture = picture.replace(f'id="{name}"', f'id="{key}-{name}"').replace(f"#{name})", f"#{key}-{name})")
    return picture


def _drawn(charts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the pictures of charts, drawn by JupyterLab from the stored outputs of a notebook."""
    import nbformat
    from site_pictures import in_jupyterlab

    outputs = [nbformat.v4.new_output("display_data", {VEGALITE: chart}) for chart in charts]
    cells = [nbformat.v4.new_code_cell("", outputs=[output]) for output in outputs]
    pictures = []
    with in_jupyterlab() as (server, context):
        from lab_page import LabPage

        kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel}, cells=cells)
        nbformat.write(notebook, server.root / "charts.ipynb")
        lab = LabPage(context, server).open("charts.ipynb")
        for at in range(len(cells)):
            # JupyterLab draws only the cells that are on the screen.
            lab.page.evaluate(_SHOW_CELL, at)
            picture = lab.page.locator(f'.jp-Cell[data-windowed-list-index="{at}"] .vega-embed svg.marks')
            picture.wait_for()
            pictures.append(picture.evaluate("node => node.outerHTML"))
        lab.close()
    return pictures
