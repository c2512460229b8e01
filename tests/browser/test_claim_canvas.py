"""ClaimCanvas in a real JupyterLab: drawn with a real mouse and by keyboard alone, read back in the kernel.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import Drawn
from lab_page import LabPage, write_notebook
from lab_server import LabServer, until
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

GPU = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
RDMA = 'device.attributes["dra.net"].rdma == true'
NIC = {
    "name": "nic",
    "exactly": {"deviceClassName": "dranet", "count": 2, "selectors": [{"cel": {"expression": RDMA}}]},
}
PAIRS = {"name": "link-1", "requests": ["gpu", "nic"], "where": "pcieRoot", "how": "pairwise"}
NEAR = {"name": "link-2", "requests": ["gpu", "nic"], "where": "numaNode", "how": "together", "must": False}
TWO = {"requests": [GPU, NIC]}
LINKED = {**TWO, "links": [PAIRS, NEAR]}

PALETTE = [
    {
        "key": "gpu",
        "label": "NVIDIA A100 40GB",
        "kind": "gpu",
        "deviceClass": "gpu.nvidia.com",
        "free": 27,
        "total": 32,
    },
    {"key": "rdma", "label": "RDMA NIC (EFA)", "kind": "nic", "deviceClass": "dranet", "free": 15, "total": 16}
    | {"selectors": [RDMA]},
    {"key": "nic", "label": "any NIC", "kind": "nic", "deviceClass": "dranet", "free": 27, "total": 28},
    {"key": "cpu", "label": "CPU", "kind": "cpu", "deviceClass": "dra.cpu", "inCluster": False}
    | {"capacityKey": "dra.cpu/cpu", "defaultCapacity": "16"},
]
OPTIONS = [
    {"where": "switch", "label": "PCIe switch", "enabled": False, "reason": "neither publishes a switch"},
    {"where": "pcieRoot", "label": "PCIe root"},
    {"where": "numaNode", "label": "NUMA node", "enabled": False, "reason": "gpu publishes no NUMA node"},
    {"where": "resource.kubernetes.io/pciBusID", "label": "resource.kubernetes.io/pciBusID"},
]
STATUS = {
    "requests": {
        "gpu": {"letter": "A", "colour": "#0072B2", "textColour": "#ffffff", "kind": "gpu", "matching": 32, "total": 32}
        | {"text": "32 of 32 match, 27 free", "matchingIds": ["gpu.nvidia.com/node-1/gpu-0"]},
        "nic": {"letter": "B", "colour": "#D55E00", "textColour": "#000000", "kind": "nic", "matching": 16, "total": 28}
        | {"text": "16 of 28 match; 12 lack RDMA"},
    },
    "links": {"link-1": {"options": OPTIONS}, "link-2": {"options": OPTIONS}},
    "pairs": {"gpu|nic": OPTIONS},
}


def cells(sketch: object = None, **traits: object) -> list[str]:
    """The notebook of one canvas; dicts are written as they are, Python reads them."""
    traits = {"palette": PALETTE, "status": STATUS, "sketch": sketch or {}, **traits}
    return [
        "# Title",
        f"from dra_lab.widgets.claim_canvas import ClaimCanvas\ncanvas = ClaimCanvas(**{traits!r})\ncanvas",
        "1 + 1",
    ]


class OnePage:
    """One page with one kernel for all tests that need nothing special of them: a page takes 6 s, a canvas 0.5 s.

    Each test gets a canvas of its own in it. Whatever a test leaves changed (cells, a dead kernel) ends the page.
    """

    def __init__(self, server: LabServer, chromium: Browser) -> None:
        self.server, self.chromium = server, chromium
        self.lab: LabPage | None = None
        self.count = 0

    def show(self, source: list[str]) -> LabPage:
        if self.lab is not None and not self._is_usable():
            self.close()
        if self.lab is None:
            self.lab = self._open(source)
        page = self.lab.page
        self.lab.theme("light")
        self.lab.command("notebook:clear-all-cell-outputs")
        page.evaluate(
            "source => window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.setSource(source)",
            source[1],
        )
        until(lambda: page.locator(".dra-canvas").count() == 0, "the canvas of the test before is gone")
        self.lab.run_all()
        return self.lab

    def _open(self, source: list[str]) -> LabPage:
        self.count += 1
        name = f"claim-canvas-{self.count}.ipynb"
        write_notebook(self.server.root / name, source)
        context = self.chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        return LabPage(context, self.server).open(name)

    def _is_usable(self) -> bool:
        assert self.lab is not None
        alive = any(session["path"] == self.lab.notebook for session in self.server.api("api/sessions"))
        return alive and self.lab.page.locator(".jp-Notebook .jp-Cell").count() == 3

    def check(self) -> None:
        """Every request stayed on this machine, and nothing was thrown."""
        if self.lab is not None:
            foreign, errors = list(self.lab.foreign), list(self.lab.errors)
            self.lab.foreign.clear()
            self.lab.errors.clear()
            assert (foreign, errors) == ([], [])

    def close(self) -> None:
        if self.lab is not None:
            self.lab.close()
            self.lab = None


@pytest.fixture(scope="module")
def one_page(server, chromium):
    page = OnePage(server, chromium)
    yield page
    page.close()


@pytest.fixture
def draw(one_page):
    """Give a function that shows a canvas with the given sketch and traits."""

    def make(sketch: dict | None = None, **traits: object) -> Drawn:
        return Drawn(one_page.show(cells(sketch, **traits)), len((sketch or {}).get("requests", [])))

    yield make
    one_page.check()


@pytest.fixture
def draw_alone(open_notebook):
    """Like `draw`, on a page of its own with the options of the page."""

    def make(sketch: dict, **page: object) -> Drawn:
        return Drawn(open_notebook(cells(sketch), **page), len(sketch["requests"]))

    return make


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
        canvas.page.mouse.click(*[a + 150 for a in canvas.centre(canvas.root.locator(".dra-palette h3"))])


# ---------------------------------------------------------------- mouse


def test_two_requests_dragged_in_and_linked_with_the_mouse_are_a_sketch_in_the_kernel(draw):
    """The whole job of the canvas, with a real mouse: palette, drop, connect; Python reads what was drawn."""
    canvas = draw()
    assert canvas.root.get_by_text("Drag a device here, or press").is_visible()
    board = canvas.root.locator(".dra-board .react-flow__pane")
    canvas.chip("gpu").drag_to(board, target_position={"x": 160, "y": 80})
    until(lambda: canvas.names() == ["gpu"], "the first drop")
    canvas.chip("rdma").drag_to(board, target_position={"x": 420, "y": 230})
    until(lambda: canvas.names() == ["gpu", "nic"], "the second drop")
    canvas.settle()
    canvas.drag(canvas.handle(canvas.box("gpu"), "bottom"), canvas.handle(canvas.box("nic"), "left"))
    until(canvas.links, "a link in the kernel")
    assert canvas.links()[0]["requests"] == ["gpu", "nic"]
    assert canvas.lab.eval("canvas.drawn.requests[1].exactly.selectors[0].cel.expression") == RDMA
    assert sorted(canvas.lab.eval("list(canvas.positions)")) == ["gpu", "nic"]


def test_a_drag_may_end_anywhere_on_a_box_and_starts_at_a_possible_place(draw):
    """GPU and NIC begin pairwise, at the first place that is possible between them."""
    canvas = draw(TWO)
    canvas.drag(canvas.handle(canvas.box("gpu"), "right"), canvas.centre(canvas.box("nic").locator(".dra-box-text")))
    until(canvas.links, "a link in the kernel")
    drawn = canvas.links()[0]
    assert (drawn["requests"], drawn["where"], drawn["how"]) == (["gpu", "nic"], "pcieRoot", "pairwise")
    assert canvas.lab.eval("[r.exactly.count for r in canvas.drawn.requests]") == [2, 2]


def test_dragging_from_a_knot_ties_a_further_request(draw):
    cpu = {"name": "cpu", "exactly": {"deviceClassName": "dra.cpu"}}
    canvas = draw({"requests": [GPU, NIC, cpu], "links": [PAIRS]})
    canvas.drag(
        canvas.handle(canvas.knot("link-1"), "right"), canvas.centre(canvas.box("cpu").locator(".dra-box-text"))
    )
    until(lambda: canvas.links()[0]["requests"] == ["gpu", "nic", "cpu"], "a third end")


def test_moving_a_box_keeps_the_drawing_and_every_place(draw):
    """Places are written when the mouse lets go; the boxes that were not moved stay where they are."""
    canvas = draw(LINKED)
    before = canvas.box("nic").bounding_box()
    x, y = canvas.centre(canvas.box("gpu").locator(".dra-box-text"))
    canvas.drag((x, y), (x - 120, y + 40))
    until(lambda: len(canvas.lab.eval("canvas.positions")) == 4, "four places in the kernel")
    canvas.settle()
    assert canvas.box("nic").bounding_box() == pytest.approx(before, abs=1)
    assert canvas.lab.eval("canvas.history") == {}


def test_the_stepper_and_the_form_change_the_same_count(draw):
    canvas = draw(TWO)
    canvas.box("gpu").get_by_role("button", name="More gpu").click()
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 3, "the stepper")
    canvas.box("gpu").locator(".dra-box-text").click()
    field = canvas.root.get_by_role("textbox", name="count")
    assert field.input_value() == "3"
    field.fill("5")
    field.press("Enter")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 5, "the form")


def test_an_amount_is_stepped_where_devices_are_shared_by_amount(draw):
    canvas = draw()
    canvas.chip("cpu").click()
    until(lambda: canvas.names() == ["cpu"], "the CPU request")
    canvas.box("cpu").get_by_role("button", name="Less cpu").click()
    amount = "canvas.drawn.request('cpu').exactly.capacity.requests['dra.cpu/cpu']"
    until(lambda: canvas.lab.eval(amount) == "15", "one CPU less")
    assert canvas.lab.eval("canvas.drawn.request('cpu').exactly.count") == 1


# ---------------------------------------------------------------- Python and history


def test_a_change_in_python_is_drawn_and_can_be_undone_by_keyboard(draw):
    """Mouse, keyboard and Python share one history."""
    canvas = draw(TWO)
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'requests': [*canvas.sketch['requests'], "
                   "{'name': 'cpu', 'exactly': {'deviceClassName': 'dra.cpu'}}]}")  # fmt: skip
    canvas.box("cpu").wait_for()
    until(lambda: canvas.spoken.startswith("Changed from Python: added request cpu"), "spoken")
    canvas.box("gpu").focus()
    canvas.press("Control+z")
    until(lambda: canvas.names() == ["gpu", "nic"], "undone")
    canvas.box("cpu").wait_for(state="detached")
    until(lambda: canvas.spoken.startswith("Undone: removed request cpu"), "spoken")
    canvas.press("Control+Shift+z")
    canvas.box("cpu").wait_for()
    assert canvas.focused() == "r:gpu"


def test_clear_can_be_undone(draw):
    canvas = draw(LINKED)
    canvas.root.get_by_role("button", name="Clear the drawing").click()
    until(lambda: canvas.names() == [], "cleared")
    canvas.root.get_by_role("button", name="Undo").click()
    until(lambda: canvas.lab.eval("len(canvas.drawn.links)") == 2, "all is back")


def test_a_refused_drawing_is_told_and_taken_back(draw):
    """The browser never stays ahead of the kernel."""
    canvas = draw(TWO)
    canvas.lab.run("import traitlets\nclass Strict(type(canvas)):\n    @traitlets.validate('sketch')\n"
                   "    def _no(self, p):\n        raise traitlets.TraitError('not <b>today</b>')\n"
                   "canvas.__class__ = Strict\ncanvas._trait_validators['sketch'] = Strict._no")  # fmt: skip
    canvas.box("gpu").get_by_role("button", name="More gpu").click()
    problem = canvas.root.locator(".dra-banner.is-problem")
    problem.wait_for()
    assert "not <b>today</b>" in problem.inner_text()
    until(lambda: canvas.box("gpu").locator(".dra-count").inner_text() == "2", "the count is taken back")
    assert canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 2
    problem.get_by_role("button", name="Close").click()
    until(lambda: canvas.lab.eval("canvas.problem") == "", "the message is closed on both sides")


# ---------------------------------------------------------------- keyboard


def test_a_linked_sketch_is_drawn_by_keyboard_alone(draw):
    """N, arrows, Enter; L, arrows, Enter; plus; no mouse at all. Each step is spoken."""
    canvas = draw()
    canvas.root.locator(".dra-board").focus()
    canvas.press("n", "Enter")
    until(lambda: canvas.focused() == "r:gpu", "the new box has the focus")
    canvas.press("+", "+")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 3, "counted up")
    until(lambda: canvas.spoken == "Count of gpu is 3", "spoken")
    canvas.press("n", "ArrowDown", "Enter")
    until(lambda: canvas.focused() == "r:nic", "the second box has the focus")
    canvas.press("l")
    until(lambda: "Link nic with gpu" in canvas.spoken, "the first candidate is spoken")
    canvas.press("Enter")
    until(lambda: canvas.focused() == "l:link-1", "the new link has the focus")
    until(canvas.links, "the link in the kernel")
    assert canvas.links()[0]["requests"] == ["nic", "gpu"]
    canvas.press("ArrowUp")
    until(lambda: canvas.focused() in ("r:gpu", "r:nic"), "along the link")
    canvas.press("-")
    until(lambda: "ount" in canvas.spoken, "spoken")


def test_one_tab_enters_the_drawing_and_one_leaves_it(draw):
    """Tab does not walk through every box: the arrows do."""
    canvas = draw(LINKED)
    canvas.root.locator(".dra-chip").first.focus()
    canvas.press("Tab")
    assert canvas.focused() == "r:gpu"
    canvas.press("ArrowDown", "ArrowDown")
    assert canvas.focused() == "r:nic"
    canvas.press("Tab")
    assert canvas.focused() == ""
    assert canvas.page.evaluate("() => document.activeElement.closest('.dra-canvas') !== null")
    canvas.press("Shift+Tab")
    assert canvas.focused() == "r:nic"


def test_escape_cancels_and_keeps_the_focus(draw):
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    canvas.press("l", "ArrowRight", "Escape")
    until(lambda: canvas.spoken == "No link made", "spoken")
    assert canvas.focused() == "r:gpu"
    canvas.press("Escape")
    assert canvas.focused() == "r:gpu"
    canvas.press("n", "Escape")
    assert canvas.focused() == "r:gpu"
    assert canvas.links() == []


def test_delete_removes_the_box_with_the_focus_and_the_focus_stays_in_the_drawing(draw):
    canvas = draw(LINKED)
    canvas.box("nic").focus()
    canvas.press("Delete")
    until(lambda: canvas.names() == ["gpu"], "deleted")
    assert [link["requests"] for link in canvas.links()] == [["gpu"], ["gpu"]]
    until(canvas.focused, "the focus is on a box that stays")
    assert canvas.page.locator(".jp-Notebook .jp-Cell").count() == 3


def test_delete_with_the_focus_elsewhere_leaves_the_drawing_alone(draw):
    """React Flow alone would listen on the whole document."""
    canvas = draw(TWO)
    canvas.box("gpu").locator(".dra-box-text").click()
    canvas.page.locator(".jp-MarkdownCell").click()
    canvas.press("Delete")
    canvas.lab.run("canvas.height = 461")
    until(lambda: canvas.root.evaluate("n => n.style.height") == "461px", "a later message has arrived")
    assert canvas.names() == ["gpu", "nic"]


def test_shift_and_arrows_move_the_box(draw):
    canvas = draw(LINKED)
    canvas.box("gpu").focus()
    canvas.press("Shift+ArrowRight")
    until(lambda: "gpu" in canvas.lab.eval("canvas.positions"), "a place in the kernel")
    x = canvas.lab.eval("canvas.positions['gpu'][0]")
    canvas.press("Shift+ArrowRight")
    until(lambda: canvas.lab.eval("canvas.positions['gpu'][0]") == x + 20, "one stride further")


def test_notebook_shortcuts_do_not_fire_inside_the_canvas(draw):
    """In command mode these keys would insert, cut and merge cells, the canvas itself among them."""
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    for key in ["a", "b", "x", "d", "d", "z", "m", "y", "c", "v", "Shift+Enter", "Control+Enter", "i", "i"]:
        canvas.press(key)
    canvas.lab.run("canvas.height = 461")
    until(lambda: canvas.root.evaluate("n => n.style.height") == "461px", "a later message has arrived")
    assert canvas.page.locator(".jp-Notebook .jp-Cell").count() == 3
    assert canvas.page.locator(".jp-Notebook .jp-MarkdownCell").count() == 1
    assert canvas.names() == ["gpu", "nic"]


def test_the_notebook_is_still_saved_from_inside_the_canvas(draw):
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    canvas.press("Control+s")
    dirty = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
    until(lambda: canvas.page.evaluate(dirty) is False, "saved")
    canvas.press("x")
    assert canvas.page.locator(".jp-Notebook .jp-Cell").count() == 3


# ---------------------------------------------------------------- the form


def test_a_selector_is_sent_in_a_pause_and_its_error_shown(draw):
    canvas = draw(TWO)
    canvas.box("nic").locator(".dra-box-text").click()
    canvas.root.get_by_label("selector").fill("device.nonsense")
    expression = "canvas.drawn.request('nic').exactly.selectors[0].cel.expression"
    until(lambda: canvas.lab.eval(expression) == "device.nonsense", "sent without leaving the field")
    canvas.lab.run("canvas.status = {**canvas.status, 'requests': {**canvas.status['requests'], "
                   "'nic': {'error': 'undefined field nonsense', 'letter': 'B'}}}")  # fmt: skip
    canvas.box("nic").get_by_text("undefined field nonsense").wait_for()
    canvas.root.locator(".dra-inspector").get_by_text("undefined field nonsense").wait_for()


def test_places_that_are_not_possible_are_greyed_with_their_reason(draw):
    canvas = draw(LINKED)
    canvas.knot("link-1").click()
    select = canvas.root.get_by_label("where")
    assert select.locator("option:disabled").count() == 2
    assert canvas.root.get_by_text("gpu publishes no NUMA node").count() >= 1
    select.select_option("resource.kubernetes.io/pciBusID")
    until(lambda: canvas.links()[0]["where"] == "resource.kubernetes.io/pciBusID", "another place")
    canvas.root.get_by_role("radio", name="prefer").check()
    until(lambda: canvas.links()[0].get("must") is False, "a preference")
    canvas.knot("link-1").locator(".is-prefer").wait_for()


def test_a_renamed_request_keeps_links_and_stays_selected(draw):
    canvas = draw(LINKED)
    canvas.box("gpu").locator(".dra-box-text").click()
    name = canvas.root.locator(".dra-inspector").get_by_label("name", exact=True)
    name.fill("Bad Name")
    canvas.root.get_by_text("Use lower-case letters").wait_for()
    name.fill("accelerator")
    name.press("Enter")
    until(lambda: canvas.names() == ["accelerator", "nic"], "renamed")
    assert all("accelerator" in link["requests"] for link in canvas.links())
    canvas.root.locator(".dra-inspector h3", has_text="accelerator").wait_for()


def test_undo_in_a_field_takes_back_what_was_sent_and_escape_goes_back_to_the_box(draw):
    """Text that is being typed keeps the field's own undo; Enter opens the form and Esc leaves it."""
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    canvas.press("Enter")
    field = canvas.root.get_by_role("textbox", name="count")
    field.fill("7")
    canvas.press("Enter")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 7, "sent")
    canvas.press("Control+z")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 2, "undone")
    until(lambda: field.input_value() == "2", "seen in the form")
    field.fill("9")
    canvas.press("Escape")
    until(lambda: field.input_value() == "2", "what was typed is dropped")
    canvas.press("Escape")
    until(lambda: canvas.focused() == "r:gpu", "back on the box")


def test_alternatives_and_tolerations_are_drawn_in_the_form(draw):
    canvas = draw(TWO)
    canvas.box("gpu").locator(".dra-box-text").click()
    canvas.root.get_by_role("button", name="Tolerate a taint").click()
    canvas.root.get_by_label("tolerates").fill("maintenance")
    canvas.root.get_by_role("combobox", name="effect").select_option("NoSchedule")
    canvas.root.get_by_role("button", name="Add an alternative").click()
    ways = "[w.name for w in canvas.drawn.request('gpu').first_available]"
    until(lambda: canvas.lab.eval(ways) == ["first", "choice-2"], "two ways")
    field = canvas.root.get_by_role("combobox", name="class")
    field.fill("gpu.other.com")
    field.press("Enter")
    classes = "[w.device_class_name for w in canvas.drawn.request('gpu').first_available]"
    until(lambda: canvas.lab.eval(classes) == ["gpu.nvidia.com", "gpu.other.com"], "only the second is changed")
    tolerated = "[(t.key, t.effect) for w in canvas.drawn.request('gpu').first_available for t in w.tolerations]"
    assert canvas.lab.eval(tolerated) == [["maintenance", "NoSchedule"]] * 2
    assert canvas.box("gpu").locator(".dra-count").inner_text() == "1 of 2"


def test_one_end_of_a_link_can_be_untied(draw):
    """By the line on the board, and by the form; a pair of one becomes together, a link without ends goes."""
    canvas = draw({**TWO, "links": [PAIRS]})
    line = canvas.root.locator('.react-flow__edge[data-id="e:link-1:nic"] path').first
    middle = line.evaluate(
        """path => { const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
                     return [at.x, at.y]; }"""
    )
    canvas.page.mouse.click(*middle)
    canvas.root.get_by_role("button", name="Untie").click()
    until(lambda: canvas.links()[0]["requests"] == ["gpu"], "untied on the board")
    assert canvas.links()[0]["how"] == "together"
    canvas.knot("link-1").click()
    canvas.root.get_by_role("button", name="Untie gpu").click()
    until(lambda: canvas.links() == [], "the link is gone")


# ---------------------------------------------------------------- looks


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
    canvas.root.get_by_role("button", name="Show the whole drawing").click()
    canvas.box("nic").locator(".dra-box-text").click()
    small = canvas.page.evaluate(
        """() => [...document.querySelectorAll('.dra-canvas :is(button, input[type=text], textarea, select)')]
            .map(n => [n.getAttribute('aria-label') ?? n.textContent, n.offsetWidth, n.offsetHeight])
            .filter(([, w, h]) => w < 24 || h < 24)"""
    )
    assert small == []


def test_forced_colours_keep_boxes_and_words(draw_alone):
    canvas = draw_alone(LINKED, forced_colors="active")
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
    """A drawing of many boxes has to be shown small; when they go, what is left is not."""
    many = [{**GPU, "name": f"gpu-{n}"} for n in range(14)]
    canvas = draw({"requests": many})
    zoom = "() => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a"
    until(lambda: canvas.page.evaluate(zoom) < 0.7, "many boxes are small")
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'requests': canvas.sketch['requests'][:2]}")
    until(lambda: canvas.page.evaluate(zoom) > 0.95, "two boxes are large")


def test_the_wheel_scrolls_the_page_and_not_the_canvas(draw):
    canvas = draw(LINKED)
    canvas.page.locator(".jp-Notebook .jp-Cell").last.evaluate("n => { n.style.minHeight = '3000px'; }")
    before = canvas.root.bounding_box()["y"]
    canvas.page.mouse.move(*canvas.centre(canvas.root.locator(".react-flow__pane")))
    canvas.page.mouse.wheel(0, 100)
    until(lambda: canvas.root.bounding_box()["y"] < before, "the page has scrolled")


def test_two_views_of_one_canvas_show_the_same_drawing(draw_alone):
    """All that matters lives in the model."""
    canvas = draw_alone(TWO)
    canvas.lab.command("notebook:create-output-view")
    views = canvas.page.locator(".dra-canvas")
    if views.count() < 2:
        canvas.page.locator(".jp-CodeCell").first.click(position={"x": 200, "y": 10})
        canvas.lab.command("notebook:create-output-view")
    until(lambda: views.count() == 2, "two views")
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'links': [{'name': 'k', 'requests': ['gpu', 'nic']}]}")
    until(lambda: canvas.page.locator('.react-flow__node[data-id="l:k"]').count() == 2, "drawn in both")
