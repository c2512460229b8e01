"""Steps of a browser before a widget of ours counts as loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

STATIC = Path(__file__).parents[2] / "dra_lab" / "widgets" / "static"
pytestmark = [pytest.mark.browser, pytest.mark.long]

# React tells this hook of itself as soon as it runs.
_LOAD = """async source => {
    let started = 0;
    window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = { supportsFiber: true, inject: () => ++started };
    const module = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
    return [typeof module.default.render, started];
}"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """An empty page."""
    context = chromium.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("stem", ["claim_canvas", "cluster_bar", "plan_view", "hardware_view"])
def test_a_widget_is_loaded_before_react_runs(page: Page, stem: str):
    """A module has two seconds to run through: after them anywidget loses every message to the widget."""
    source = (STATIC / f"{stem}.js").read_text(encoding="utf-8")
    assert page.evaluate(_LOAD, source) == ["function", 0]
