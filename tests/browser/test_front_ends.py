"""The planner in other front ends: Notebook 7, without our extension, under a strict policy, and how it is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer, until
from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.long]


NOTHING_OF_OURS = "1 + 1"
PLANNER = "from dra_lab import Lab\nlab = Lab(file=None)\nlab"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory, chromium):
    """Open a notebook of cells in Notebook 7 and run it."""
    server = LabServer(tmp_path_factory.mktemp("notebook7"), program=(sys.executable, "-m", "notebook"))
    pages = []

    def shown(name, *cells):
        write_notebook(server.root / f"{name}.ipynb", cells)
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        page = LabPage(context, server).goto(f"notebooks/{name}.ipynb")
        pages.append((page, context))
        page.notebook = f"{name}.ipynb"
        status = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        page.page.wait_for_function(status)
        return page.run_all()

    yield shown
    for page, context in pages:
        page.release()
        context.close()
    server.close()


@pytest.fixture(scope="module")
def planner(notebook):
    """The planner in a cell."""
    return notebook("planner", PLANNER)


def first_lines(page):
    """Return the first line of each error of a page."""
    return [error.splitlines()[0] for error in page.errors]


def test_the_planner_answers_and_adds_no_error_of_its_own(notebook, planner):
    """A count is changed by a click, and the page reports what it reports without our widgets."""
    before = notebook("empty", NOTHING_OF_OURS)
    until(lambda: before.page.locator(".jp-OutputArea-output").count(), "the cell has run")
    box = planner.page.locator(".react-flow__node").filter(has_text="gpu").first
    box.get_by_role("button", name="More gpu").click()
    until(lambda: planner.eval("lab.sketch.requests[0].exactly.count") == 3, "three GPUs")
    planner.page.get_by_text("You ask for 3 A100").wait_for()
    assert first_lines(planner) == first_lines(before)


def test_a_tab_of_its_own_needs_jupyterlab(planner):
    planner.page.get_by_role("button", name="Open in a tab").click()
    button = planner.page.get_by_role("button", name="Open in a tab")
    until(button.is_disabled, "the button says that it needs JupyterLab")
    assert button.get_attribute("title") == "A separate tab needs JupyterLab"


def test_the_planner_answers_without_the_extension(chromium, tmp_path):
    """The bundles are imported by anywidget, as in VS Code and on saved pages."""
    folder = tmp_path / "lab" / "config" / "labconfig"
    folder.mkdir(parents=True)
    (folder / "page_config.json").write_text(json.dumps({"disabledExtensions": {"dra-lab": True}}), encoding="utf-8")
    server = LabServer(tmp_path / "lab")
    write_notebook(server.root / "plain.ipynb", ["from dra_lab import Lab\nlab = Lab()\nlab"])
    page = LabPage(chromium.new_context(reduced_motion="reduce"), server)
    imported: list[str] = []
    page.page.on("request", lambda request: imported.append(request.url))
    try:
        page.open("plain.ipynb").run_all()
        page.page.locator(".dra-lab .dra-answer[data-state=fits]").first.wait_for()
        page.page.locator(".dra-lab .dra-box").first.wait_for()
        assert len([url for url in imported if url.startswith("blob:")]) == 4
    finally:
        page.close()
        server.close()


LAB_PAGE = Path(sys.prefix) / "share" / "jupyter" / "lab" / "static" / "index.html"
_REPORT = """window.violations = [];
document.addEventListener('securitypolicyviolation', event => {
    window.violations.push(`${event.effectiveDirective}: ${event.blockedURI} (${event.sourceFile})`);
});"""


def _inline_scripts() -> list[str]:
    """Return the sources that allow the scripts inside JupyterLab's own page (one removes the token from the URL)."""
    texts = re.findall(r"<script(?: type=\"text/javascript\")?>(.*?)</script>", LAB_PAGE.read_text("utf-8"), re.DOTALL)
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes]


def _policy() -> str:
    """Return the strictest policy under which JupyterLab itself starts.

    It compiles the schemas of its settings with `Function` ('unsafe-eval'), and its editors and panels write styles
    into the page ('unsafe-inline' for styles only). No program may come from a blob: or data: address.
    """
    directives = {
        "default-src": ["'self'"],
        "script-src": ["'self'", "'unsafe-eval'", *_inline_scripts()],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'", "data:"],
        "connect-src": ["'self'", "ws:"],
        "frame-ancestors": ["'self'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


@pytest.fixture
def strict(chromium: Browser, tmp_path: Path) -> Iterator[LabPage]:
    """A page of a JupyterLab that sends the policy with everything it serves."""
    settings = {"headers": {"Content-Security-Policy": _policy()}}
    program = (sys.executable, "-m", "jupyterlab", f"--ServerApp.tornado_settings={settings!r}")
    server = LabServer(tmp_path / "lab", program=program)
    write_notebook(server.root / "strict.ipynb", ["from dra_lab import Lab\nlab = Lab()\nlab"])
    page = LabPage(chromium.new_context(reduced_motion="reduce"), server)
    page.page.add_init_script(_REPORT)
    yield page.open("strict.ipynb").run_all()
    page.close()
    server.close()


def test_a_claim_is_drawn_and_answered_under_a_strict_policy(strict):
    """Open the graph, clear the example and draw a GPU: all of it comes, and the browser had nothing to block."""
    planner = strict.page.locator(".dra-lab").first
    planner.locator(".dra-answer[data-state=fits]").wait_for()
    planner.get_by_role("button", name="Graph", exact=True).click()
    planner.locator(".dra-graph [role=treeitem]").first.wait_for()
    planner.get_by_role("button", name="Clear the drawing").click()
    planner.locator(".dra-answer[data-state=empty]").wait_for()
    planner.locator(".dra-chip").first.click()
    planner.locator(".dra-answer[data-state=fits]").wait_for()
    until(lambda: strict.eval("len(lab.sketch.requests)") == 1, "the request is in the kernel")
    assert strict.page.evaluate("() => window.violations") == []


STATIC = Path(__file__).parents[2] / "dra_lab" / "widgets" / "static"

# React tells this hook of itself as soon as it runs.
_LOAD = """async source => {
    let started = 0;
    window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = { supportsFiber: true, inject: () => ++started };
    const module = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
    return [typeof module.default.render, started];
}"""


@pytest.fixture
def blank(chromium: Browser) -> Iterator[Page]:
    """An empty page."""
    context = chromium.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("stem", ["claim_canvas", "cluster_bar", "plan_view", "hardware_view"])
def test_a_widget_is_loaded_before_react_runs(blank: Page, stem: str):
    """A module has two seconds to run through: after them anywidget loses every message to the widget."""
    source = (STATIC / f"{stem}.js").read_text(encoding="utf-8")
    assert blank.evaluate(_LOAD, source) == ["function", 0]
