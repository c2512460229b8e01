"""What a browser test that failed leaves: pictures of its pages, what they said, and the log of their server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lab_page import PICTURES, LabPage
from lab_server import LabServer
from playwright.sync_api import Error

_LINES = 12
# The last line of what each cell shows as an error.
_ERRORS = """() => [...document.querySelectorAll('.jp-Notebook [data-mime-type^="application/vnd.jupyter."]')]
    .filter(output => /(error|stderr)$/.test(output.dataset.mimeType))
    .map(output => output.textContent.trim().split('\\n').pop())"""


def of_failure(test: str) -> str:
    """Return what there is to see of the pages and servers that are open, and save the pictures."""
    return "\n".join([*_pages(re.sub(r"[^\w.-]+", "-", test)), *_servers()])


def _pages(test: str) -> Iterator[str]:
    for number, lab in enumerate(LabPage.all_open, 1):
        yield f"page {number}: {lab.page.url.split('?')[0]}, its notebook {lab.notebook or 'none'}"
        picture = PICTURES / f"failed-{test}-{number}.png"
        PICTURES.mkdir(parents=True, exist_ok=True)
        try:
            lab.page.screenshot(path=picture, animations="disabled", timeout=5_000)
            yield f"  picture: {picture}"
            yield from (f"  a cell shows: {line}" for line in lab.page.evaluate(_ERRORS))
        except Error as error:
            yield f"  no picture: {str(error).splitlines()[0]}"
        yield from (f"  console: {line}" for line in lab.said)


def _servers() -> Iterator[str]:
    for server in LabServer.all_running:
        yield f"JupyterLab at {server.url}"
        try:
            for session in server.api("api/sessions"):
                kernel = session["kernel"]
                yield f"  kernel {kernel['id']} of {session['path']}: {kernel['execution_state']}"
        except OSError as error:
            yield f"  does not answer: {error}"
        log = (server.base / "lab.log").read_text(encoding="utf-8", errors="replace").splitlines()
        lines = [line for line in log if not line.startswith("[I ") or "restart" in line]
        yield from (f"  log: {line}" for line in lines[-_LINES:])
