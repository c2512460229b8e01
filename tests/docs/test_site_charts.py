"""Charts on the pages of notebooks: the cache is used, and names in pictures do not collide."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHART = {"mark": "bar"}


@pytest.fixture
def charts(monkeypatch):
    """The module, with a browser that draws one picture for every chart and counts its calls."""
    sys.path.insert(0, str(DOCS))
    try:
        import site_charts
    finally:
        sys.path.remove(str(DOCS))
    picture = '<svg><clipPath id="c0"></clipPath><g clip-path="url(#c0)"></g></svg>'
    drawn = []
    monkeypatch.setattr(site_charts, "_drawn", lambda wanted: drawn.extend(wanted) or [picture] * len(wanted))
    monkeypatch.setattr(site_charts, "calls", drawn, raising=False)
    return site_charts


def test_a_chart_becomes_a_picture(charts, tmp_path):
    """No description of a chart is left on a page."""
    (page,) = charts.with_charts([f"text\n\n{charts.chart_block(CHART)}\n"], tmp_path)
    assert ("{chart}" in page, "<svg>" in page) == (False, True)


def test_a_drawn_chart_is_not_drawn_again(charts, tmp_path):
    """The second build uses the cache."""
    for _ in range(2):
        list(charts.with_charts([charts.chart_block(CHART)], tmp_path))
    assert charts.calls == [CHART]


def test_a_picture_has_names_of_its_own(charts, tmp_path):
    """Two charts of a page do not share an id, and each refers to its own."""
    blocks = "\n\n".join(charts.chart_block(chart) for chart in (CHART, {"mark": "line"}))
    (page,) = charts.with_charts([blocks], tmp_path)
    assert (page.count('id="c0"'), page.count("#c0)"), page.count("-c0)")) == (0, 0, 2)
