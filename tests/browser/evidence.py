"""What a browser test that failed leaves: pictures of its pages, what they said, what their kernels owe them and do."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

from lab_page import PICTURES, LabPage
from lab_server import LabServer, until
from playwright.sync_api import Error

_LINES = 12
# The last line of what each cell shows as an error.
_ERRORS = """() => [...document.querySelectorAll('.jp-Notebook [data-mime-type^="application/vnd.jupyter."]')]
    .filter(output => /(error|stderr)$/.test(output.dataset.mimeType))
    .map(output => output.textContent.trim().split('\\n').pop())"""


def of_failure(test: str) -> str:
    """Return what there is to see of the pages and servers that are open, and save the pictures.

    The text contains the stacks of the kernels' threads if a kernel owes an answer.
    """
    owed = any(True for lab in LabPage.all_open for _ in lab.traffic.unanswered())
    return "\n".join([*_pages(re.sub(r"[^\w.-]+", "-", test)), *_servers(stacks=owed)])


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
        yield from (f"  not answered: {line}" for line in lab.traffic.unanswered())
        yield from (f"  console: {line}" for line in lab.said)


def _servers(*, stacks: bool) -> Iterator[str]:
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
        if stacks:
            yield from (f"  {line}" for line in _stacks(server.stacks))


def _stacks(folder: Path) -> Iterator[str]:
    """Where each thread of each kernel stands, as they write it down when asked (`LabServer.stacks`)."""
    for file in sorted(folder.glob("*.txt")):
        known = file.stat().st_size
        try:
            os.kill(int(file.stem), signal.SIGUSR1)
            until(lambda at=file, size=known: at.stat().st_size > size, "the kernel has written", timeout=3)
        except ProcessLookupError:
            if known:
                yield f"last words of kernel process {file.stem}:"
                yield from file.read_text(encoding="utf-8").splitlines()
            continue
        except (OSError, AssertionError):
            continue
        yield f"threads of kernel process {file.stem}:"
        yield from file.read_text(encoding="utf-8")[known:].splitlines()
