"""Compare mode in a real JupyterLab: keep, compare, diff, rename, restore, remove, with real clicks and keys."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = pytest.mark.browser

NO_LINKS = "from msgspec.structs import replace\nlab.sketch = replace(lab.sketch, links=())"


@pytest.fixture
def compared(planner):
    """The example kept with and without its link, in Compare mode."""
    keep = planner.tabs.get_by_role("button", name="Keep")
    for kept in (1, 2):
        keep.click()
        until(lambda n=kept: planner.lab.eval("len(lab.session.comparing.plans)") == n, "the plan is kept")
        planner.lab.run(NO_LINKS)
        planner.answered()
    planner.root.get_by_role("radio", name="Compare").click(force=True)
    planner.root.locator(".dra-compare table").wait_for()
    return planner


def test_columns_differ_and_the_diff_opens(compared):
    """The row of kube-scheduler is marked, and the YAML of the second plan against the first has both signs."""
    pane = compared.root.locator(".dra-compare")
    row = pane.locator("tr", has_text="Bandwidth with kube-scheduler")
    assert row.get_attribute("data-differs") is not None
    assert "45 to 64 %" in row.inner_text()
    pane.get_by_role("button", name="Diff of").click()
    for sign in "+-":
        pane.locator(f".dra-diff-line[data-sign='{sign}']").first.wait_for()


@pytest.mark.long
def test_a_plan_is_renamed_restored_and_removed(compared):
    """The name is typed in its head; the first drawing returns; the removed column goes."""
    pane = compared.root.locator(".dra-compare")
    pane.locator(".dra-compare-name").first.click()
    compared.page.keyboard.press("Control+a")
    compared.page.keyboard.type("linked")
    compared.page.keyboard.press("Enter")
    pane.locator(".dra-compare-name", has_text="linked").wait_for()
    pane.get_by_role("button", name="Make this the drawing").click()
    until(lambda: compared.lab.eval("len(lab.sketch.links)") == 1, "the link is drawn again")
    pane.get_by_role("button", name="Remove linked").click()
    until(lambda: pane.locator(".dra-compare-name").count() == 1, "one plan is left")


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_and_accessibility_of_the_columns(compared, theme):
    """In both themes axe finds nothing serious, and every text can be read."""
    compared.lab.theme(theme)
    assert compared.lab.low_contrast(".dra-compare") == []
    assert compared.lab.axe(".dra-compare") == []
    compared.lab.picture(f"compare-{theme}")
