"""A browser page on the test server's JupyterLab: notebooks made from cells, their kernel, what is shown."""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import contrast
import nbformat
from lab_server import PATIENCE, Kernel, LabServer, until
from playwright.sync_api import BrowserContext, FloatRect, Locator, Page, expect

AXE = Path(__file__).parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = Path(__file__).parents[2] / ".pytest_cache" / "pictures"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
expect.set_options(timeout=PATIENCE * 1000)
SLOW = float(os.environ.get("DRA_LAB_SLOW", "1"))
"""How many times slower the pages compute: DRA_LAB_SLOW=6 finds races that a slow machine would."""
_IDLE = """() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"""


def cells_of(sources: Sequence[str]) -> list[Any]:
    """Return cells as they stand in a notebook; a source that begins with "# " and a capital is Markdown."""
    titles = [source.startswith("# ") and source[2:3].isupper() for source in sources]
    make = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
    return [make[title](source) for title, source in zip(titles, sources, strict=True)]


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """Write a notebook of cells (`cells_of`) without outputs."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel}, cells=cells_of(cells))
    nbformat.write(notebook, path)


class LabPage:
    """One page in a browser context of its own. Whatever it asked of other machines stands in `foreign`."""

    all_open: ClassVar[list[LabPage]] = []

    def __init__(self, context: BrowserContext, server: LabServer) -> None:
        self.server = server
        self.notebook = ""
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.said: deque[str] = deque(maxlen=20)
        self._context = context
        self._kernel: Kernel | None = None
        self._killed = 0
        context.set_default_timeout(PATIENCE * 1000)
        self.page: Page = context.new_page()
        if SLOW > 1:
            context.new_cdp_session(self.page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
        context.on("request", lambda request: self._note(request.url))
        self.page.on("websocket", lambda socket: self._note(socket.url))
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text[:500]}"))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        self.all_open.append(self)

    def goto(self, address: str = "lab", *, reset: bool = True) -> LabPage:
        """Load a page of the server (`lab`, `lab/tree/x.ipynb`, `notebooks/x.ipynb`) and wait for the application."""
        query = f"?token={self.server.token}" + ("&reset" if reset else "")
        self.page.goto(f"{self.server.url}{address}{query}", wait_until="domcontentloaded")
        self.page.wait_for_function("() => window.jupyterapp?.restored")
        self.page.evaluate("() => window.jupyterapp.restored.then(() => true)")
        return self

    def open(self, notebook: str) -> LabPage:
        """Load JupyterLab on a notebook of the server's folder and wait until its kernel is idle."""
        self.goto(f"lab/tree/{notebook}")
        self.notebook = notebook
        self.page.wait_for_function(_IDLE)
        return self

    def open_here(self, notebook: str) -> LabPage:
        """Open a notebook in another tab of the page that is there, and wait until its kernel is idle."""
        self.command("docmanager:open", path=notebook, factory="Notebook")
        self.adopt(notebook)
        self.page.wait_for_function(_IDLE)
        return self

    def run_all(self) -> LabPage:
        """Run every cell and wait until the last one is done."""
        self.command("notebook:run-all-cells")
        return self

    def command(self, name: str, **arguments: Any) -> None:
        """Execute a JupyterLab command by its id and wait for it to end."""
        self.page.evaluate(
            "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)", [name, arguments]
        )

    def adopt(self, notebook: str) -> None:
        """Let `kernel` mean a notebook that was opened from inside the page."""
        self.release()
        self.notebook = notebook

    @property
    def kernel(self) -> Kernel:
        """Return the kernel of this page's notebook; connects at the first use."""
        if self._kernel is None:
            self._kernel = self.server.kernel(self.notebook)
        return self._kernel

    def eval(self, expression: str) -> Any:
        """Evaluate in the kernel what cannot be seen on the page."""
        return self.kernel.eval(expression)

    def run(self, code: str) -> None:
        """Change something in Python, behind the page's back."""
        self.kernel.run(code)

    def kill_kernel(self) -> None:
        """Kill the kernel's process, as a crash would; JupyterLab starts it again (`wait_for_new_kernel`)."""
        self._killed = self.eval("__import__('os').getpid()")
        self.release()
        self.server.kill_kernel(self.notebook)

    @property
    def kernel_was_killed(self) -> bool:
        """Whether a test has killed the kernel of this page."""
        return self._killed != 0

    def wait_for_new_kernel(self) -> LabPage:
        """Wait until the kernel that was killed has been started again, with another process, and is idle."""

        def another() -> bool:
            try:
                found = self.eval("__import__('os').getpid()") != self._killed
            except (queue.Empty, RuntimeError):
                found = False
            if not found:
                self.release()
            return found

        until(another, "the kernel has been started again")
        self.page.wait_for_function(_IDLE)
        return self

    def release(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def check(self) -> None:
        """Fail when something was asked of another machine, or an error was thrown on the page, since the last time."""
        foreign, errors = list(self.foreign), list(self.errors)
        self.foreign.clear()
        self.errors.clear()
        assert not foreign, f"requests that would have left this machine: {foreign}"
        assert not errors, f"errors on the page: {errors}"

    def close(self) -> None:
        self.release()
        self._context.close()
        self.all_open.remove(self)

    # ------------------------------------------------------------ looking

    def theme(self, name: str) -> None:
        """Switch JupyterLab to `light` or `dark` and wait until the page has it."""
        # JupyterLab takes its splash screen away 200 ms after its end, and throws if a theme showed it again by then.
        self.page.wait_for_function("() => !document.getElementById('jupyterlab-splash')")
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme}).then(() => null)",
            THEMES[name],
        )
        wanted = str(name == "light").lower()
        self.page.wait_for_function("wanted => document.body.dataset.jpThemeLight === wanted", arg=wanted)

    def picture(self, name: str, selector: str | None = None) -> Path:
        """Save what is shown (the page, or one element) for a person to look at; nothing blinks in it."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        target = self.page.locator(selector).first if selector else self.page
        target.screenshot(path=path, animations="disabled")
        return path

    def axe(self, *selectors: str) -> list[str]:
        """Return what axe-core finds serious or critical inside the elements, as readable lines."""
        assert AXE.is_file(), "axe-core is missing: `make front-end` installs it"
        if not self.page.evaluate("() => Boolean(window.axe)"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "include => window.axe.run({include}, {resultTypes: ['violations']}).then(r => r.violations)",
            [[selector] for selector in selectors],
        )
        return [
            f"{problem['id']} ({problem['impact']}): {node['html'][:200]}"
            for problem in found
            if problem["impact"] in ("serious", "critical")
            for node in problem["nodes"]
        ]

    def low_contrast(self, selector: str, minimum: float = 4.5) -> list[str]:
        """Return the texts inside an element whose contrast with what lies behind them is below `minimum`."""
        return contrast.low_contrast(self.page, selector, minimum)

    def _note(self, address: str) -> None:
        """Keep addresses of other machines. The browser itself cannot reach them (conftest.py, ARGUMENTS).

        Nothing is intercepted here: a request that waits for Python would hang while a test waits for something else.
        """
        if not address.startswith((self.server.url, self.server.url.replace("http", "ws", 1), "data:", "blob:")):
            self.foreign.append(address)


def box_of(element: Locator) -> FloatRect:
    """Wait until the element has a box on the page, and return it.

    A box is read in two steps, the element first: what is drawn again between them has none for that reading.
    """
    return until(element.bounding_box, f"{element} has a box")


def wait_for_cells(lab: LabPage, count: int = 1) -> None:
    """Wait until `count` code cells of the notebook on the screen have an execution count."""
    script = """() => [...(window.jupyterapp.shell.currentWidget?.content?.widgets ?? [])]
        .filter(cell => cell.model.type === 'code' && cell.model.executionCount).length"""
    until(lambda: (lab.page.evaluate(script) or 0) >= count, f"{count} code cells have run")
