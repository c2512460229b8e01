"""Browser tests: one JupyterLab and one Chromium for the session, a fresh page for each test, no network for any.

At the end of each test every page must have stayed on this machine and thrown no error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

import provide_chromium
import pytest
from lab_page import LabPage, write_notebook
from lab_server import LabServer
from planner_page import OnePlanner, Planner
from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    # No request can leave this machine: names resolve to nothing, and whatever else goes to a proxy that is not there.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=127.0.0.1",
]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab for the session."""
    running = LabServer(tmp_path_factory.mktemp("lab"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One Chromium for the session. There is no skip: a machine without one is told what to do."""
    found = os.environ.get("DRA_LAB_CHROMIUM") or provide_chromium.find()
    if not found:
        pytest.fail(provide_chromium.ADVICE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def lab_page(server: LabServer, chromium: Browser) -> Iterator[Callable[..., LabPage]]:
    """Give a function that makes a page on the server; whatever it makes is checked and closed at the end."""
    made: list[LabPage] = []

    def make(*, width: int = 1280, height: int = 900, forced_colors: str = "none") -> LabPage:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            forced_colors=forced_colors,
            permissions=[],
        )
        made.append(LabPage(context, server))
        return made[-1]

    yield make
    for page in made:
        page.close()
    foreign = [address for page in made for address in page.foreign]
    errors = [error for page in made for error in page.errors]
    server.end_sessions()
    assert not foreign, f"requests that would have left this machine: {foreign}"
    assert not errors, f"errors on the page: {errors}"


@pytest.fixture
def open_notebook(
    lab_page: Callable[..., LabPage], server: LabServer, request: pytest.FixtureRequest
) -> Callable[..., LabPage]:
    """Give a function that writes a notebook of the given cells, opens it and runs it."""
    stem = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name).strip("-")
    count = 0

    def make(cells: Sequence[str], *, run: bool = True, view: str = "lab/tree", **options: object) -> LabPage:
        nonlocal count
        count += 1
        name = f"{stem}-{count}.ipynb"
        write_notebook(server.root / name, cells)
        page = lab_page(**options).open(name, view=view)
        return page.run_all() if run else page

    return make


@pytest.fixture(scope="module")
def one_planner(server: LabServer, chromium: Browser) -> Iterator[OnePlanner]:
    """One planner for all tests of a file that only look at it and put it back."""
    made = OnePlanner(server, chromium)
    yield made
    made.close()


@pytest.fixture
def planner(one_planner: OnePlanner) -> Iterator[Planner]:
    """The planner with its example, shared by the tests of a file."""
    yield one_planner.show()
    one_planner.check()
