"""What every test file does at its end: views are closed, so that sessions which no test closed end their threads."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

# Whatever plan a test is handed keeps the rules of DRA.
pytest_plugins = ["plans_are_checked"]


@pytest.fixture(autouse=True, scope="module")
def _sessions_end() -> Iterator[None]:
    """End the worker threads of the sessions that a file left open: the next one's must not share a core with them."""
    yield
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()
    if any(thread.name == "dra-lab-solve" for thread in threading.enumerate()):
        gc.collect()
