"""A pytest plugin: a test fails where any plan that it was handed breaks a rule of `check_plan`.

Whoever asked for the plan, however it was imported, in this process or in one that the test started (`plans_held`).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from plans_held import COLLECTOR, FOLDER, IN_PROCESSES, from_processes

AT_ONCE = "plans_held_at_once"

_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory]()
_FAILED = pytest.StashKey[bool]()
_NUMBERS = pytest.StashKey[Counter]()

# A worker of pytest-xdist is a process that was started; what it hands out is held when its tests have ended.
COLLECTOR.at_once = None
COLLECTOR.install()


def pytest_configure(config) -> None:
    """Tell the processes that tests start where to write, and name the marker."""
    config.addinivalue_line("markers", f"{AT_ONCE}: its plans are held as they come, for it looks at what stays alive")
    config.stash[_NUMBERS] = Counter()
    folder = config.stash[_FOLDER] = tempfile.TemporaryDirectory(prefix="plans-held-")
    os.environ[FOLDER] = folder.name
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys((str(IN_PROCESSES), *filter(None, paths))))


def pytest_unconfigure(config) -> None:
    """Take away what other processes wrote."""
    with contextlib.suppress(OSError):
        config.stash[_FOLDER].cleanup()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item) -> None:
    """Hold plans as they come for a test that looks at what stays alive: a plan that waits keeps its cluster."""
    COLLECTOR.at_once = COLLECTOR.hold_now if item.get_closest_marker(AT_ONCE) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Remember whether a test failed by itself."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Hold what the test was handed, once what it patched is as it was."""
    yield
    number, lines = from_processes(Path(os.environ[FOLDER]))
    item.config.stash[_NUMBERS]["in other processes"] += number
    if item.stash.get(_FAILED, False):
        COLLECTOR.forget()
        return
    lines = [*COLLECTOR.hold(), *lines]
    if lines:
        pytest.fail("a plan breaks rules:\n" + "\n".join(lines[:20]), pytrace=False)


# ---------------------------------------------------------------- how many


def pytest_sessionfinish(session) -> None:
    """Tell how many plans were held, through the workers of pytest-xdist as well."""
    numbers = session.config.stash[_NUMBERS]
    numbers["here"] += COLLECTOR.held
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["plans_held"] = dict(numbers)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Add what a worker held."""
    node.config.stash[_NUMBERS].update(getattr(node, "workeroutput", {}).get("plans_held", {}))


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many plans were held against the rules."""
    numbers = terminalreporter.config.stash[_NUMBERS]
    told = ", ".join(f"{number:,} {where}" for where, number in sorted(numbers.items()) if number)
    if told:
        terminalreporter.write_line(f"plans held against the rules: {told}")
