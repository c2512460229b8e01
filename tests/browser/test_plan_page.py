"""The page of a plan, opened from a file without a network: pictures to choose, hover, keyboard, copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_page import AXE
from playwright.sync_api import Browser, Page

from dra_lab import load_cluster, make_plan, read_sketch
from dra_lab.pictures.report import SearchStep, report_page

pytestmark = [pytest.mark.browser, pytest.mark.long]

YAML = "kind: ResourceClaimTemplate\nmetadata:\n  name: pairs\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the example."""
    cluster = load_cluster("sample:eks-p4d")
    plan = make_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    path = tmp_path_factory.mktemp("page") / "plan.html"
    steps = [SearchStep(f"gives {one.reference} {one.device.device}", [one.device]) for one in plan.placements]
    path.write_text(report_page(cluster, plan, YAML, steps=steps, lines={"gpu": (2, 3)}), encoding="utf-8")
    return path


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: Browser, file: Path) -> Iterator[Page]:
    """The page as a reader sees it; it may ask for nothing and must run into nothing."""
    context = chromium.new_context(offline=True, color_scheme=request.param, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    faults: list[str] = []
    opened.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else faults.append(r.url))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text))
    opened.goto(file.as_uri())
    yield opened
    context.close()
    assert faults == []


def shown(page: Page) -> list[str]:
    """Return what the pictures on the page show."""
    return [str(figure.get_attribute("data-show")) for figure in page.locator("figure[data-show]:visible").all()]


def test_one_picture_is_shown_at_a_time(page: Page):
    assert shown(page) == ["best"]
    found = []
    for name in ("Scheduler", "Scheduler, no links", "Difference"):
        page.get_by_label(name, exact=True).check()
        found += shown(page)
    assert found == ["scheduler", "plain", "both"]


def test_pointing_at_a_device_tells_all_about_it(page: Page):
    page.locator("figure:visible [data-request=gpu]").first.hover()
    assert "chosen for request gpu (A)" in (page.locator(".card").text_content() or "")
    assert page.locator("figure:visible .dra-hw-lit").count() == 2
    assert page.locator("tr.is-lit").count() == 3


def test_the_arrow_keys_walk_through_the_picture(page: Page):
    page.get_by_label("Best", exact=True).focus()
    page.keyboard.press("Tab")
    first = page.locator(".card").text_content()
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus[role=treeitem]").count() == 1
    assert page.locator(".card").text_content() != first


def test_the_manifests_are_copied(page: Page):
    """One click; where the browser forbids it the text is selected instead."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == YAML


def test_axe_finds_nothing_serious_on_the_page(page: Page):
    """Roles, names and order; the page's policy keeps axe out, so it is run from outside."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")["violations"]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")] == []


def test_a_reader_without_scripts_sees_best_and_difference(chromium: Browser, file: Path):
    context = chromium.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(file.as_uri())
    found = shown(opened)
    context.close()
    assert found == ["best", "both"]


def test_the_slider_walks_through_the_search(page: Page):
    slider = page.get_by_role("slider", name="Step of the search")
    slider.focus()
    page.keyboard.press("ArrowRight")
    now = page.locator(".steps .is-now")
    assert now.count() == 1
    assert slider.get_attribute("aria-valuetext") == now.text_content()
    assert page.locator("figure:visible .dra-hw-lit").count() == 1
