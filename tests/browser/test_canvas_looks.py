"""ClaimCanvas in a real JupyterLab: what can be seen, read and hit, in both themes and at any size.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import GPU, LINKED, OPTIONS, STATUS, TWO
from lab_page import box_of
from lab_server import until

pytestmark = pytest.mark.browser


@pytest.mark.long
def test_pictures_for_looking_at(draw):
    """What a person sees in both themes; kept for looking at."""
    canvas = draw(LINKED)
    for theme in ("light", "dark"):
        canvas.lab.theme(theme)
        canvas.lab.picture(f"canvas-{theme}", ".dra-canvas")
        canvas.box("nic").click(position={"x": 100, "y": 60})
        canvas.lab.picture(f"canvas-request-{theme}", ".dra-canvas")
        canvas.knot("link-2").click()
        canvas.lab.picture(f"canvas-link-{theme}", ".dra-canvas")
        canvas.press("?")
        canvas.lab.picture(f"canvas-keys-{theme}", ".dra-canvas")
        canvas.press("?")
        canvas.root.get_by_role("button", name="Close the card").click()


def test_names_from_a_cluster_stay_text(draw):
    """Whatever a driver publishes is shown and never run."""
    hostile = "<img src=x onerror=\"document.body.dataset.ran='yes'\">"
    canvas = draw(
        TWO,
        palette=[{"key": "k", "label": hostile, "deviceClass": hostile, "note": hostile}],
        status={"requests": {"gpu": {"label": hostile, "text": hostile, "error": hostile}}, "links": {}},
        problem=hostile,
    )
    canvas.box("gpu").locator(".dra-box-text").click()
    assert hostile in canvas.box("gpu").inner_text()
    assert hostile in canvas.chip("k").inner_text()
    assert canvas.root.locator("img").count() == 0
    assert canvas.page.evaluate("() => document.body.dataset.ran") is None


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_for_axe_and_every_text_is_readable(draw, theme):
    wrong = {**STATUS, "links": {"link-1": {"problem": "no common place", "options": OPTIONS}}}
    canvas = draw(LINKED, status=wrong, problem="refused")
    canvas.lab.theme(theme)
    for step in ("nothing", "request", "link", "keys"):
        if step == "request":
            canvas.box("nic").locator(".dra-box-text").click()
        if step == "link":
            canvas.knot("link-2").click()
        if step == "keys":
            canvas.press("?")
        assert canvas.lab.axe(".dra-canvas") == []
        assert canvas.lab.low_contrast(".dra-canvas") == []


def test_targets_are_at_least_24_pixels(draw):
    """WCAG 2.5.8: every button, field and choice can be hit."""
    canvas = draw(LINKED)
    canvas.root.get_by_role("button", name="Zoom to fit").click()
    canvas.box("nic").locator(".dra-box-text").click()
    small = canvas.page.evaluate(
        """() => [...document.querySelectorAll('.dra-canvas :is(button, input[type=text], textarea, select)')]
            .map(n => [n.getAttribute('aria-label') ?? n.textContent, n.offsetWidth, n.offsetHeight])
            .filter(([, w, h]) => w < 24 || h < 24)"""
    )
    assert small == []


def test_forced_colours_keep_boxes_and_words(draw):
    canvas = draw(LINKED, forced_colors="active")
    canvas.lab.picture("canvas-forced-colours", ".dra-canvas")
    assert canvas.box("gpu").locator(".dra-letter").evaluate("n => getComputedStyle(n).backgroundColor") == (
        "rgb(0, 114, 178)"
    )


def test_a_request_lights_up_with_its_devices(draw):
    """Highlight is a request's name or a device id, by either side."""
    canvas = draw(TWO)
    canvas.lab.run("canvas.highlight = 'gpu.nvidia.com/node-1/gpu-0'")
    canvas.box("gpu").locator(".dra-box.is-lit").wait_for()
    canvas.box("nic").hover()
    until(lambda: canvas.lab.eval("canvas.highlight") == "nic", "told to Python")
    canvas.box("nic").locator(".dra-box.is-lit").wait_for()


def test_scrolled_out_and_back_the_canvas_is_the_same(draw):
    canvas = draw(LINKED)
    canvas.page.locator(".jp-Notebook .jp-Cell").last.evaluate(
        "n => { n.style.minHeight = '3000px'; n.scrollIntoView({block: 'end'}); }"
    )
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'name': 'seen-later', 'links': []}")
    canvas.root.scroll_into_view_if_needed()
    until(lambda: canvas.knots.count() == 0, "what changed meanwhile is drawn")
    assert canvas.boxes.count() == 2


def test_a_small_drawing_after_a_wide_one_is_shown_large_again(draw):
    """A person may look at many boxes small; when they go, what is left is shown large."""
    many = [{**GPU, "name": f"gpu-{n}"} for n in range(14)]
    canvas = draw({"requests": many})
    zoom = "() => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a"
    assert canvas.page.evaluate(zoom) >= 0.85
    canvas.root.get_by_role("button", name="Zoom to fit").click()
    until(lambda: canvas.page.evaluate(zoom) < 0.7, "many boxes are small")
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'requests': canvas.sketch['requests'][:2]}")
    until(lambda: canvas.page.evaluate(zoom) > 0.95, "two boxes are large")


def test_the_wheel_scrolls_the_page_and_not_the_canvas(draw):
    canvas = draw(LINKED)
    canvas.page.locator(".jp-Notebook .jp-Cell").last.evaluate("n => { n.style.minHeight = '3000px'; }")
    before = box_of(canvas.root)["y"]
    canvas.page.mouse.move(*canvas.centre(canvas.root.locator(".react-flow__pane")))
    canvas.page.mouse.wheel(0, 100)
    until(lambda: box_of(canvas.root)["y"] < before, "the page has scrolled")


def test_two_views_of_one_canvas_show_the_same_drawing(draw):
    """All that matters lives in the model."""
    canvas = draw(TWO)
    canvas.lab.command("notebook:create-output-view")
    views = canvas.page.locator(".dra-canvas")
    if views.count() < 2:
        canvas.page.locator(".jp-CodeCell").first.click(position={"x": 200, "y": 10})
        canvas.lab.command("notebook:create-output-view")
    until(lambda: views.count() == 2, "two views")
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'links': [{'name': 'k', 'requests': ['gpu', 'nic']}]}")
    until(lambda: canvas.page.locator('.react-flow__node[data-id="l:k"]').count() == 2, "drawn in both")
