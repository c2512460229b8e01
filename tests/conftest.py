"""Setup of every test file. Most random cases are long; sessions that a file left open end after it."""

from __future__ import annotations

import gc
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, settings

from dra_lab._workarounds import defer_iri_grammar

defer_iri_grammar()

# No test depends on the speed of the machine.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

AT_EACH_CHANGE = 2
"""Cases of each family of random cases that `make test` runs; `make test-long` runs the others."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark the further cases of a family as long. The cases of a family differ by one whole number."""
    cases = Counter[str]()
    for item in items:
        call = getattr(item, "callspec", None)
        values = call.params.values() if call else ()
        if [type(value) for value in values] == [int]:
            family = item.nodeid.partition("[")[0]
            cases[family] += 1
            if cases[family] > AT_EACH_CHANGE:
                item.add_marker(pytest.mark.long)


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
