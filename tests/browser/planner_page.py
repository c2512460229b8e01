"""The planner, or single views of it, on a page of the test server."""

from __future__ import annotations

from collections.abc import Callable

from lab_page import LabPage, write_notebook
from lab_server import LabServer, until
from playwright.sync_api import Browser, Locator

ANSWERED = "lab.session.stale is False and lab.session.answer is not None"
OPEN = "from dra_lab import Lab\nlab = Lab(file=None)\nlab"


class Planner:
    """The planner screen of a notebook, once its example is answered and drawn."""

    def __init__(self, open_notebook: Callable[..., LabPage], code: str = OPEN, **options: object) -> None:
        self.lab = open_notebook([code], **options)
        self.page = self.lab.page
        self.root = self.page.locator(".dra-lab").first
        self.bar = self.root.locator(".dra-cluster-bar")
        self.strip = self.root.locator(".dra-answer")
        self.tabs = self.root.locator(".dra-tabs")
        self.hardware = self.root.locator(".dra-hardware")
        self.root.locator(".dra-answer[data-state=fits]").wait_for(timeout=60_000)
        self.hardware.locator("svg.dra-hw").first.wait_for()
        self.page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); window.jupyterapp.shell.collapseRight(); }")
        self.root.scroll_into_view_if_needed()

    def button(self, words: str, inside: Locator | None = None) -> Locator:
        return (inside or self.root).get_by_role("button", name=words, exact=False).first

    def tab(self, name: str) -> Locator:
        return self.tabs.get_by_role("tab", name=name)

    def answered(self) -> None:
        until(lambda: self.lab.eval(ANSWERED), "the drawing is answered", timeout=30)

    def sentence(self, begins: str) -> str:
        """Wait for an answer that begins so, and return it."""
        words = self.strip.locator(".dra-sentence")
        until(lambda: (words.text_content() or "").startswith(begins), f"the answer begins {begins!r}", timeout=30)
        return words.text_content() or ""


RESET = """from dra_lab import read_sketch
if lab.cluster.name != 'sample:eks-p4d':
    lab.load('sample:eks-p4d')
lab.sketch = read_sketch('sample:eks-p4d/gpu-nic-pairs')
lab.session.pin('')
lab.session.light('')
lab.hardware.show, lab.hardware.graph_html, lab.plan_view.written = 'best', '', []
lab.hardware._show_fleet()"""


class OnePlanner:
    """One planner for all tests of a file: opening a notebook takes most of a test's time."""

    def __init__(self, server: LabServer, chromium: Browser) -> None:
        self._server = server
        self._chromium = chromium
        self._planner: Planner | None = None

    def show(self) -> Planner:
        """Give the planner with the example on it; a new one where another test ended its kernel."""
        running = [session["path"] for session in self._server.api("api/sessions")]
        if self._planner is None or self._planner.lab.notebook not in running:
            self.close()
            self._planner = Planner(self._open)
            return self._planner
        planner = self._planner
        planner.page.keyboard.press("Escape")
        planner.page.mouse.move(1, 1)
        planner.lab.theme("light")
        planner.lab.run(RESET)
        planner.answered()
        planner.sentence("Fits on 3 of 4")
        planner.tab("YAML").click()
        return planner

    def check(self) -> None:
        """Fail when something was asked of another machine, or an error was thrown on the page."""
        if self._planner is not None:
            foreign, errors = list(self._planner.lab.foreign), list(self._planner.lab.errors)
            self._planner.lab.foreign.clear()
            self._planner.lab.errors.clear()
            assert not foreign, f"requests that would have left this machine: {foreign}"
            assert not errors, f"errors on the page: {errors}"

    def close(self) -> None:
        if self._planner is not None:
            self._planner.lab.close()
            self._planner = None

    def _open(self, cells: list[str]) -> LabPage:
        write_notebook(self._server.root / "one-planner.ipynb", cells)
        size = {"width": 1280, "height": 900}
        context = self._chromium.new_context(viewport=size, reduced_motion="reduce", permissions=[])
        return LabPage(context, self._server).open("one-planner.ipynb").run_all()
