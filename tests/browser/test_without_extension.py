"""The planner where the widgets come as text: a front end without the JupyterLab extension of dra_lab."""

from __future__ import annotations

import json

import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_the_planner_answers_without_the_extension(chromium, tmp_path):
    """The bundles are imported by anywidget, as in VS Code and on saved pages."""
    folder = tmp_path / "lab" / "config" / "labconfig"
    folder.mkdir(parents=True)
    (folder / "page_config.json").write_text(json.dumps({"disabledExtensions": {"dra-lab": True}}), encoding="utf-8")
    server = LabServer(tmp_path / "lab")
    write_notebook(server.root / "plain.ipynb", ["from dra_lab import Lab\nlab = Lab()\nlab"])
    page = LabPage(chromium.new_context(reduced_motion="reduce"), server)
    imported: list[str] = []
    page.page.on("request", lambda request: imported.append(request.url))
    try:
        page.open("plain.ipynb").run_all()
        page.page.locator(".dra-lab .dra-answer[data-state=fits]").first.wait_for()
        page.page.locator(".dra-lab .dra-box").first.wait_for()
        assert len([url for url in imported if url.startswith("blob:")]) == 4
    finally:
        page.close()
        server.close()
