"""Setup of every test file. Most random cases are long; sessions that a file left open end after it."""

from __future__ import annotations

import gc
import sys
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
def _set_aside() -> Iterator[None]:
    """Keep what a file leaves out of the next file's time: threads of sessions end, and what stays is set aside.

    Collecting thousands of tests, and the clusters that caches keep, leave objects in which looking for garbage takes
    long.
    """
    gc.collect()
    gc.freeze()
    yield
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].Widget.close_all()
