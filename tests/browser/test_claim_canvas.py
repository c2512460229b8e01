"""ClaimCanvas in a real JupyterLab: drawn with a real mouse, changed from Python, read back in the kernel.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import GPU, LINKED, NIC, PAIRS, RDMA, TWO
from lab_page import box_of
from lab_server import until

pytestmark = pytest.mark.browser


# ---------------------------------------------------------------- mouse


def test_two_requests_dragged_in_and_linked_with_the_mouse_are_a_sketch_in_the_kernel(draw):
    """The whole job of the canvas, with a real mouse: palette, drop, connect; Python reads what was drawn."""
    canvas = draw()
    assert canvas.root.get_by_text("Drag a device here").is_visible()
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
    before = box_of(canvas.box("nic"))
    x, y = canvas.centre(canvas.box("gpu").locator(".dra-box-text"))
    canvas.drag((x, y), (x - 120, y + 40))
    until(lambda: len(canvas.lab.eval("canvas.positions")) == 4, "four places in the kernel")
    canvas.settle()
    assert box_of(canvas.box("nic")) == pytest.approx(before, abs=1)
    assert canvas.lab.eval("canvas.history") == {}


@pytest.mark.long
def test_a_dropped_box_stays_where_it_is_dropped_and_pushes_the_others_aside(draw):
    """The first drop does not move the view; a box that is dropped on another one makes that one give way."""
    canvas = draw()
    board = canvas.root.locator(".dra-board .react-flow__pane")
    canvas.chip("gpu").drag_to(board, target_position={"x": 300, "y": 200})
    until(lambda: canvas.names() == ["gpu"], "the first drop")
    canvas.settle()
    pane, first = box_of(board), canvas.centre(canvas.box("gpu"))
    assert first == pytest.approx((pane["x"] + 300, pane["y"] + 200), abs=2)
    canvas.chip("rdma").drag_to(board, target_position={"x": 330, "y": 190})
    until(lambda: canvas.names() == ["gpu", "nic"], "the second drop")
    canvas.settle()
    gpu, nic = box_of(canvas.box("gpu")), box_of(canvas.box("nic"))
    assert abs(gpu["x"] - nic["x"]) >= nic["width"] or abs(gpu["y"] - nic["y"]) >= nic["height"]


def test_one_to_one_counts_move_together_and_with_alt_alone(draw):
    """One click is one step of the history, whatever moves with it."""
    canvas = draw(LINKED)
    counts = "[r.exactly.count for r in canvas.drawn.requests]"
    more = canvas.box("gpu").get_by_role("button", name="More gpu")
    more.click()
    until(lambda: canvas.lab.eval(counts) == [3, 3], "both ends")
    more.click(modifiers=["Alt"])
    until(lambda: canvas.lab.eval(counts) == [4, 3], "one end alone")
    canvas.root.get_by_role("button", name="Undo").click(click_count=2)
    until(lambda: canvas.lab.eval(counts) == [2, 2], "two steps")


def test_what_keeps_a_claim_from_fitting_is_marked_with_its_cause(draw):
    """A cross and words, not a colour alone."""
    why = "No PCIe root has a GPU and two NICs."
    causes = [{"kind": kind, "name": name, "text": why} for kind, name in (("request", "nic"), ("link", "link-1"))]
    canvas = draw(LINKED, problems=causes)
    assert canvas.box("nic").locator(".dra-box.is-cause").get_attribute("title") == why
    assert why in canvas.box("nic").inner_text()
    assert canvas.knot("link-1").locator(".dra-knot.is-cause").get_attribute("title") == why
    assert canvas.box("gpu").locator(".is-cause").count() == 0


@pytest.mark.long
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


@pytest.mark.long
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


def test_a_refused_drawing_is_reported_and_taken_back(draw):
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


# ---------------------------------------------------------------- the form


def test_a_selector_is_sent_in_a_pause_and_its_error_shown(draw):
    canvas = draw(TWO)
    canvas.box("nic").locator(".dra-box-text").click()
    canvas.root.get_by_role("textbox", name="selector").fill("device.nonsense")
    expression = "canvas.drawn.request('nic').exactly.selectors[0].cel.expression"
    until(lambda: canvas.lab.eval(expression) == "device.nonsense", "sent without leaving the field")
    canvas.lab.run("canvas.status = {**canvas.status, 'requests': {**canvas.status['requests'], "
                   "'nic': {'error': 'undefined field nonsense', 'letter': 'B'}}}")  # fmt: skip
    canvas.box("nic").get_by_text("undefined field nonsense").wait_for()
    canvas.root.locator(".dra-inspector").get_by_text("undefined field nonsense").wait_for()


@pytest.mark.long
def test_places_that_are_not_possible_are_greyed_with_their_reason(draw):
    canvas = draw(LINKED)
    canvas.knot("link-1").click()
    where = canvas.root.get_by_role("group", name="where").last
    assert where.locator("input:disabled").count() == 2
    greyed = where.locator("label.is-impossible", has_text="NUMA node")
    assert greyed.get_attribute("title") == "gpu publishes no NUMA node"
    assert greyed.locator("span").first.evaluate("n => getComputedStyle(n).textDecorationLine") == "line-through"
    canvas.root.get_by_role("button", name="1 more").click()
    where.get_by_role("radio", name="resource.kubernetes.io/pciBusID").check()
    until(lambda: canvas.links()[0]["where"] == "resource.kubernetes.io/pciBusID", "another place")
    canvas.root.get_by_role("radio", name="prefer").check()
    until(lambda: canvas.links()[0].get("must") is False, "a preference")
    canvas.knot("link-1").locator(".is-prefer").wait_for()


@pytest.mark.long
def test_a_renamed_request_keeps_links_and_stays_selected(draw):
    canvas = draw(LINKED)
    canvas.box("gpu").locator(".dra-box-text").click()
    name = canvas.root.locator(".dra-inspector").get_by_label("Name", exact=True)
    name.fill("Bad Name")
    canvas.root.get_by_text("Use lower-case letters").wait_for()
    name.fill("accelerator")
    name.press("Enter")
    until(lambda: canvas.names() == ["accelerator", "nic"], "renamed")
    assert all("accelerator" in link["requests"] for link in canvas.links())
    canvas.root.locator(".dra-inspector h3", has_text="accelerator").wait_for()


@pytest.mark.long
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


@pytest.mark.long
def test_one_end_of_a_link_can_be_disconnected(draw):
    """By the line on the board, and by the form; a pair of one becomes together, a link without ends goes."""
    canvas = draw({**TWO, "links": [PAIRS]})
    line = canvas.root.locator('.react-flow__edge[data-id="e:link-1:nic"] path').first
    middle = line.evaluate(
        """path => { const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
                     return [at.x, at.y]; }"""
    )
    canvas.page.mouse.click(*middle)
    canvas.root.get_by_role("button", name="Disconnect").click()
    until(lambda: canvas.links()[0]["requests"] == ["gpu"], "disconnected on the board")
    assert canvas.links()[0]["how"] == "together"
    canvas.knot("link-1").click()
    canvas.root.get_by_role("button", name="Disconnect gpu").click()
    until(lambda: canvas.links() == [], "the link is gone")
