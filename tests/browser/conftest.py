"""Browser tests: one JupyterLab, one Chromium and one shared page for the session, no network for any.

At the end of each test every page must have stayed on this machine and thrown no error.
DRA_LAB_SLOW=6 makes the pages compute six times slower: it finds what depends on a fast machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import evidence
import provide_chromium
import pytest
from desk import Desk, Doorway
from drawn_canvas import Drawn, canvas_cells
from lab_page import LabPage
from lab_server import LabServer
from planner_page import InTab, Planner
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed says what its pages and kernels were doing; the pictures lie beside those of other tests."""
    report = yield
    if report.failed and "server" in item.fixturenames:
        report.sections.append(("pages and kernels", evidence.of_failure(item.name)))
    return report


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab for the session."""
    running = LabServer(tmp_path_factory.mktemp("lab"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One Chromium for the session. There is no skip: on a machine without one, the message says how to get it."""
    found = os.environ.get("DRA_LAB_CHROMIUM") or provide_chromium.find()
    if not found:
        pytest.fail(provide_chromium.ADVICE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def desk(server: LabServer, chromium: Browser) -> Iterator[Desk]:
    """The page that tests share which only show cells."""
    made = Desk(server, chromium)
    yield made
    made.close()


@pytest.fixture
def open_notebook(desk: Desk) -> Iterator[Callable[..., LabPage]]:
    """Give a function that shows the given cells, and nothing else, on the shared page, and runs them."""

    def make(cells: Sequence[str], *, run: bool = True, **options: Any) -> LabPage:
        return desk.run(cells, **options) if run else desk.show(cells, **options)

    yield make
    desk.check()


@pytest.fixture(scope="session")
def one_doorway(server: LabServer, chromium: Browser) -> Iterator[Doorway]:
    """The page that tests of the launcher share."""
    made = Doorway(server, chromium)
    yield made
    made.close()


@pytest.fixture
def doorway(one_doorway: Doorway, server: LabServer, desk: Desk) -> Iterator[Callable[..., LabPage]]:
    """Give a function that shows the launcher and the folder, and nothing else, on a shared page."""
    yield one_doorway.show
    one_doorway.wait_for_views()
    server.end_sessions(but=desk.notebook)
    one_doorway.check()


@pytest.fixture
def planner(open_notebook: Callable[..., LabPage]) -> Planner:
    """The planner with its example."""
    return Planner(open_notebook)


@pytest.fixture
def in_tab(open_notebook: Callable[..., LabPage]) -> Callable[[int, int], InTab]:
    """Give a function that opens the planner with its example in a tab of its own, in a window of a size."""
    return lambda width, height: InTab(open_notebook, width=width, height=height)


@pytest.fixture
def draw(open_notebook: Callable[..., LabPage]) -> Callable[..., Drawn]:
    """Give a function that shows a canvas with the given sketch and traits."""

    def make(sketch: dict[str, Any] | None = None, *, forced_colors: str = "none", **traits: Any) -> Drawn:
        page = open_notebook(canvas_cells(sketch, **traits), forced_colors=forced_colors)
        return Drawn(page, len((sketch or {}).get("requests", [])))

    return make
