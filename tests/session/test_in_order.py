"""The worker that does every job in its order."""

from __future__ import annotations

import threading

import pytest

from dra_lab.session.in_order import InOrder


@pytest.fixture
def worker():
    """A worker whose first job waits for `worker.free`."""
    made = InOrder("test-in-order")
    made.free = threading.Event()
    made.submit(lambda _number: made.free.wait(20))
    yield made
    made.free.set()
    made.close()


@pytest.mark.parametrize(
    ("names", "done"), [(["", "", ""], [2, 3, 4]), (["a", "a", "b"], [3, 4]), (["a", "b", "a"], [2, 3, 4])]
)
def test_jobs_are_done_in_their_order(worker, names, done):
    """Only one that is followed by another one of its name is left out."""
    found = []
    for name in names:
        worker.submit(found.append, name)
    worker.free.set()
    worker.wait(20)
    assert found == done


def test_jobs_that_wait_are_dropped(worker):
    """The running one ends."""
    found = []
    worker.submit(found.append)
    worker.clear()
    worker.free.set()
    worker.wait(20)
    assert found == []
