"""The setup of every test file: collected objects are set aside before it, and open sessions end after it."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _set_aside() -> None:
    """Set aside what collecting thousands of tests left: a seventh of all time went into looking there for garbage."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _sessions_end() -> Iterator[None]:
    """End the worker threads of the sessions that a file left open: the next one's must not share a core with them."""
    yield
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()
    if any(thread.name == "dra-lab-solve" for thread in threading.enumerate()):
        gc.collect()
