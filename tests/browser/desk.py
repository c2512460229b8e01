"""One page with one kernel for all tests that show cells: loading JupyterLab and starting a kernel is most of a test.

Each test gets cells and widgets of its own on it. Each test starts from the same state: other tabs, theme, size, names
and environment of the kernel, its widgets. A page whose kernel was killed is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from code_of import code_of
from lab_page import LabPage, cells_of, write_notebook
from lab_server import LabServer
from playwright.sync_api import Browser

# A page is replaced after this many notebooks, so that what they leave in the browser does not pile up.
SHOWN_AT_MOST = 100


def put_back(environment, get_ipython):
    """Close the planners of earlier tests, which would still answer messages, and empty the kernel."""
    import gc
    import os

    from ipywidgets import Widget

    for it in [it for it in gc.get_objects() if type(it).__name__ in ("Lab", "Session")]:
        if type(it).__module__.startswith("dra_lab."):
            it.close()
    Widget.close_all()
    os.environ.clear()
    os.environ.update(environment)
    get_ipython().reset(new_session=False)


_SHOW = (Path(__file__).parent / "show_cells.js").read_text(encoding="utf-8")
_IS_BARE = "() => !document.querySelector('.jp-Dialog, .lm-Menu, .jp-OutputArea-child')"


class Desk:
    """The page that the tests share; `show` clears it and puts cells on it."""

    def __init__(self, server: LabServer, chromium: Browser) -> None:
        self._server, self._chromium = server, chromium
        self._lab: LabPage | None = None
        self._environment: dict[str, str] = {}
        self._opened = self._shown = 0

    @property
    def notebook(self) -> str:
        """The notebook on the page; "" before there is one."""
        return self._lab.notebook if self._lab is not None else ""

    def show(
        self, cells: Sequence[str], *, width: int = 1280, height: int = 900, forced_colors: str = "none"
    ) -> LabPage:
        """Return the page with these cells, and nothing else, on it; they have not run."""
        if self._lab is not None and (self._shown >= SHOWN_AT_MOST or self._lab.kernel_was_killed):
            self.close()
        lab = self._lab or self._open()
        self._shown += 1
        page = lab.page
        page.mouse.move(1, 1)
        page.keyboard.press("Escape")
        page.emulate_media(forced_colors=forced_colors)
        page.set_viewport_size({"width": width, "height": height})
        lab.theme("light")
        page.evaluate(_SHOW, [lab.notebook, cells_of(cells)])
        page.wait_for_function(_IS_BARE)
        # After the page: a view that still stood there would speak to a widget that is gone.
        lab.run(f"environment = {self._environment!r}\n{code_of(put_back)}")
        return lab

    def run(self, cells: Sequence[str], **options: Any) -> LabPage:
        """Return the page with these cells, which run."""
        return self.show(cells, **options).run_all()

    def check(self) -> None:
        """Fail when something was asked of another machine, or an error was thrown on the page."""
        if self._lab is not None:
            self._lab.check()

    def close(self) -> None:
        if self._lab is not None:
            self._server.end_sessions(self._lab.notebook)
            self._lab.close()
            self._lab = None

    def _open(self) -> LabPage:
        self._opened += 1
        self._shown = 0
        name = f"desk-{self._opened}.ipynb"
        write_notebook(self._server.root / name, [""])
        context = self._chromium.new_context(reduced_motion="reduce", permissions=[])
        self._lab = LabPage(context, self._server).open(name)
        self._environment = self._lab.eval("dict(__import__('os').environ)")
        return self._lab


# A view that waits for its program is an empty element: JupyterLab throws where its kernel ends before it is drawn.
_IS_DRAWN = """() => [...document.querySelectorAll('.dra-lab, .dra-lab-grid')].every(
    box => box.childElementCount && [...box.children].every(view => view.childElementCount))
    && ![...document.querySelectorAll('.jp-OutputArea-output')].some(it => it.textContent === 'Loading widget...')"""
_CLEAR = """async () => {
    const { shell, commands } = window.jupyterapp;
    for (const widget of [...shell.widgets('main')]) widget.dispose();
    await commands.execute('filebrowser:go-to-path', { path: '/' });
    await commands.execute('filebrowser:refresh');
}"""


class Doorway:
    """A page with nothing open but the launcher, for the tests of what opens a planner."""

    def __init__(self, server: LabServer, chromium: Browser) -> None:
        self._server, self._chromium = server, chromium
        self._lab: LabPage | None = None

    def show(self, *, width: int = 1280, height: int = 900) -> LabPage:
        """Return the page with the folder's present files and the launcher on it."""
        if self._lab is None:
            context = self._chromium.new_context(reduced_motion="reduce", permissions=[])
            self._lab = LabPage(context, self._server).goto("lab")
        self._lab.release()
        page = self._lab.page
        page.mouse.move(1, 1)
        page.keyboard.press("Escape")
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(_CLEAR)
        page.wait_for_function("() => document.querySelectorAll('.jp-Launcher').length === 1")
        return self._lab

    def wait_for_views(self) -> None:
        """Wait until every planner that was opened is drawn."""
        if self._lab is not None:
            self._lab.page.wait_for_function(_IS_DRAWN)

    def check(self) -> None:
        """Fail when something was asked of another machine, or an error was thrown on the page."""
        if self._lab is not None:
            self._lab.check()

    def close(self) -> None:
        if self._lab is not None:
            self._lab.close()
            self._lab = None
