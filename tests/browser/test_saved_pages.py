"""What leaves the planner as a file, opened in a browser without JupyterLab: pictures, graph page, report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contrast import low_contrast
from lab_page import AXE
from playwright.sync_api import Browser, Page
from small_plans import HOSTILE, a_plan, busy_cluster, hostile_cluster, hostile_plan

from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.picture import graph_page
from dra_lab.pictures.report import report_page

pytestmark = [pytest.mark.browser, pytest.mark.long]

THEMES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced, light": {"forced_colors": "active", "color_scheme": "light"},
    "forced, dark": {"forced_colors": "active", "color_scheme": "dark"},
}


@pytest.fixture(params=THEMES)
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    """A page of a browser without a network, in each theme; it must ask for nothing, run into nothing, say nothing."""
    context = chromium.new_context(**THEMES[request.param], offline=True, viewport={"width": 1100, "height": 800})
    opened = context.new_page()
    urls: list[str] = []
    faults: list[str] = []
    opened.on("request", lambda r: urls.append(r.url))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    yield opened
    context.close()
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []
    assert faults == []


def show(page: Page, text: str, folder: Path, name: str) -> None:
    """Write a file and open it, as a person would."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    page.goto(file.as_uri())


@pytest.mark.parametrize("kind", ["best", "both"])
def test_every_text_on_the_picture_is_readable(page: Page, tmp_path: Path, kind: str):
    """Free, busy, tainted, ineligible and chosen devices, headings and legend have 4.5:1 in every theme."""
    svg = hardware_svg(busy_cluster(), "n1", plan=a_plan(), show=kind)
    show(page, f"<!DOCTYPE html><meta charset='utf-8'><body>{svg}", tmp_path, "picture.html")
    assert low_contrast(page, "svg") == []


def test_every_text_of_the_report_is_readable(page: Page, tmp_path: Path):
    show(page, report_page(busy_cluster(), a_plan(), "kind: ResourceClaim\n"), tmp_path, "report.html")
    assert low_contrast(page, "main") == []


def test_hostile_names_do_nothing_in_the_report(page: Page, tmp_path: Path):
    show(page, report_page(hostile_cluster(), hostile_plan(), HOSTILE), tmp_path, "report.html")
    assert page.locator("img, a").count() == 0
    assert page.locator("script:not([type='application/json'])").count() == 1
    assert "<img src=x" in page.locator("h1").text_content()


def test_the_graph_page_draws_without_a_network(page: Page, tmp_path: Path):
    show(page, graph_page(busy_cluster(), "n1", a_plan()), tmp_path, "graph.html")
    page.locator("#mynetwork canvas").wait_for()
    drawn = "() => network.body.nodeIndices.length"
    assert page.evaluate(drawn) > 10


def test_hostile_names_do_nothing_on_the_graph_page(page: Page, tmp_path: Path):
    """Tooltips are text too: hovering over a box runs nothing."""
    show(page, graph_page(hostile_cluster(), HOSTILE, hostile_plan()), tmp_path, "graph.html")
    page.locator("#mynetwork canvas").wait_for()
    page.evaluate("() => network.interactionHandler._checkShowPopup(network.canvasToDOM(network.getPosition(0)))")
    assert page.locator("img").count() == 0


def test_axe_finds_nothing_serious_in_the_picture(chromium: Browser, tmp_path: Path):
    context = chromium.new_context()
    opened = context.new_page()
    svg = hardware_svg(busy_cluster(), "n1", plan=a_plan(), show="both")
    body = f"<!DOCTYPE html><html lang='en'><title>x</title><body><main><h1>x</h1>{svg}</main>"
    show(opened, body, tmp_path, "picture.html")
    opened.add_script_tag(path=str(AXE))
    found = opened.evaluate("() => axe.run()")["violations"]
    context.close()
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")] == []
