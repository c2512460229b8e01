"""Setup of every test file. Most random cases are long; sessions that a file left open end after it."""

from __future__ import annotations

import gc
import random
import sys
import time
from collections import defaultdict
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
    """Mark further cases of a test as long: of random ones, which differ by one whole number, and of `some(n)`."""
    cases = defaultdict[str, list[pytest.Function]](list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not item.get_closest_marker("long"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, mine in cases.items():
        some = mine[0].get_closest_marker("some")
        if some is not None:
            now = random.Random(name).sample(mine, min(some.args[0], len(mine)))
        elif all([type(value) for value in item.callspec.params.values()] == [int] for item in mine):
            now = mine[:AT_EACH_CHANGE]
        else:
            continue
        for item in mine:
            if item not in now:
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


@pytest.fixture
def processor_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time limits count the processor time of this process, so that a busy machine changes no answer."""
    monkeypatch.setattr(time, "monotonic", time.process_time)
