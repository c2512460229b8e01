"""The planner, or single views of it, on a page of the test server."""

from __future__ import annotations

from collections.abc import Callable

from lab_page import LabPage
from lab_server import until
from playwright.sync_api import Locator

ANSWERED = "lab.session.stale is False and lab.session.answer is not None"
OPEN = "from dra_lab import Lab\nlab = Lab(file=None)\nlab"


class Planner:
    """The planner screen of a notebook, once its example is answered and drawn."""

    def __init__(
        self, open_notebook: Callable[..., LabPage], code: str = OPEN, *, state: str = "fits", **options: object
    ) -> None:
        self.lab = open_notebook([code], **options)
        self.page = self.lab.page
        self.root = self.page.locator(".dra-lab").first
        self.bar = self.root.locator(".dra-cluster-bar")
        self.strip = self.root.locator(".dra-answer")
        self.tabs = self.root.locator(".dra-tabs")
        self.why = self.root.locator(".dra-why")
        self.hardware = self.root.locator(".dra-hardware")
        self.root.locator(f".dra-answer[data-state={state}]").wait_for()
        self.hardware.locator("svg.dra-hw").first.wait_for()
        self.page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); window.jupyterapp.shell.collapseRight(); }")
        self.root.scroll_into_view_if_needed()

    def button(self, words: str, inside: Locator | None = None) -> Locator:
        return (inside or self.root).get_by_role("button", name=words, exact=False).first

    def tab(self, name: str) -> Locator:
        return self.tabs.get_by_role("tab", name=name)

    def answered(self) -> None:
        until(lambda: self.lab.eval(ANSWERED), "the drawing is answered")

    def sentence(self, begins: str) -> str:
        """Wait for an answer that begins so, and return it."""
        words = self.strip.locator(".dra-sentence")
        until(lambda: (words.text_content() or "").startswith(begins), f"the answer begins {begins!r}")
        return words.text_content() or ""


class Fleet(Planner):
    """The planner in Fleet mode on the shipped fleet of eight nodes."""

    def __init__(self, open_notebook: Callable[..., LabPage]) -> None:
        super().__init__(open_notebook, "from dra_lab import Lab\nlab = Lab('sample:dgx-h100', file=None)\nlab")
        self.root.locator(".dra-modes label", has_text="Fleet").click()
        self.pane = self.root.locator(".dra-fleet-mode")
        self.pane.wait_for()
        self.planned()

    def planned(self) -> None:
        """Wait until the fleet is planned, and the screen shows that answer."""
        done = "not lab.fleet.stale and lab.fleet.answer.complete and lab.plan_view.fleet_answer['sentence']"
        verdict = self.pane.locator("h2")
        until(lambda: self.lab.eval(done) == (verdict.text_content() or "-"), "the fleet is planned")

    def form(self, button: str, **fields: str) -> None:
        """Fill in the form of a button and press Enter."""
        self.pane.get_by_role("button", name=button).click()
        form = self.pane.locator(".dra-fleet-form:popover-open")
        for label, value in fields.items():
            form.get_by_label(label).fill(value)
        form.locator("input").last.press("Enter")

    def scenario(self, name: str) -> list[str]:
        """Return the cells of a scenario."""
        heading = self.page.get_by_role("rowheader", name=name, exact=True)
        row = self.pane.get_by_role("row").filter(has=heading)
        row.wait_for()
        return row.locator("td").all_text_contents()[:-1]

    def node(self, name: str) -> Locator:
        """Return the row of a node."""
        return self.pane.locator(f'.dra-fleet-row[data-id="{name}"]')


IN_TAB = ".jp-LinkedOutputView .dra-lab-grid"


class InTab(Planner):
    """The planner in a tab of its own, once everything that its example says is there."""

    def __init__(self, open_notebook: Callable[..., LabPage], code: str = OPEN, **options: object) -> None:
        super().__init__(open_notebook, code, **options)
        self.button("Open in a tab", self.bar).click()
        self.root = self.page.locator(IN_TAB)
        self.root.locator("svg.dra-hw").first.wait_for()
        self.bar, self.strip = self.root.locator(".dra-cluster-bar"), self.root.locator(".dra-answer")
        self.tabs, self.dock = self.root.locator(".dra-tabs"), self.root.locator(".dra-dock")
        self.hardware, self.why = self.root.locator(".dra-hardware"), self.root.locator(".dra-why")
        self.strip.locator(".dra-tile-figure", has_text="copies fit, proven").wait_for()

    def mode(self, name: str) -> None:
        """Choose a mode in the bar."""
        self.bar.locator(".dra-modes label", has_text=name).click()


MISFIT = "from dra_lab import read_sketch\nlab.sketch = read_sketch('sample:eks-p4d/five-pairs')"
BUSY = """from dra_lab import read_sketch
lab.session.load("sample:h100-busy")
lab.sketch = read_sketch("sample:h100-busy/eight-pairs")"""
KEPT = "lab.session.comparing.keep(lab.session.answer)"
UNLINKED = "from msgspec.structs import replace\nlab.sketch = replace(lab.sketch, links=())"
SCREENS = ("plan", "misfit", "empty", "goals", "fleet", "moves", "compare", "trace", "export")
"""What the planner shows: Plan in four states, Fleet with moves and without, the other modes, the Export sheet."""


def show_screen(planner: InTab, name: str) -> str:
    """Bring the planner, fresh with its example, to one of SCREENS; returns the selector of what is shown."""
    lab, root = planner.lab, planner.root
    if name == "misfit":
        lab.run(MISFIT)
        root.locator(".dra-fix").first.wait_for()
        planner.answered()
    elif name == "empty":
        lab.run("lab.session.clear()")
        planner.sentence("Nothing is drawn")
    elif name == "goals":
        planner.tab("Goals and proof").click()
        root.locator("[data-goal]").first.wait_for()
    elif name == "fleet":
        planner.mode("Fleet")
        done = "not lab.fleet.stale and lab.fleet.answer.complete"
        until(lambda: lab.eval(done), "the fleet is planned")
    elif name == "moves":
        lab.run(BUSY)
        planner.mode("Fleet")
        root.locator(".dra-mv-arrow").wait_for()
    elif name == "compare":
        lab.run(KEPT)
        lab.run(UNLINKED)
        planner.answered()
        lab.run(KEPT)
        planner.mode("Compare")
        until(lambda: root.locator(".dra-editable").count() == 2, "two plans are compared")
    elif name == "trace":
        planner.mode("Trace")
        root.get_by_role("button", name="Next device").click()
    elif name == "export":
        root.locator(".dra-export").click()
        root.locator(".dra-sheet").wait_for()
        until(lambda: lab.eval("lab.session.exporting.stage") == "", "the export is simulated")
        return f"{IN_TAB} .dra-sheet"
    return IN_TAB
