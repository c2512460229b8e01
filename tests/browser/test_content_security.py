"""The planner in a JupyterLab whose pages may run no program but the server's own files."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer, until
from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]

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
