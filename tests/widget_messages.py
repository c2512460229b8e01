"""A browser's messages to a widget, as they arrive in a kernel, and waits for what the widget shows after them."""

from __future__ import annotations

import threading
import time


def say(widget, buffers=(), **message):
    """Send a message of the browser."""
    receive(widget, {"method": "custom", "content": message}, buffers)


def set_traits(widget, **state):
    """Send new values of traits, as the browser does."""
    receive(widget, {"method": "update", "state": state, "buffer_paths": []})


def receive(widget, data, buffers=()):
    """Hand a message of the browser to the widget's end of the line."""
    widget.comm.handle_msg({"content": {"data": data}, "buffers": list(buffers)})


def upload(bar, name, text):
    """Drop a file on the bar, and wait until it is read."""
    data = text.encode()
    say(bar, type="upload", number=1, files=[{"name": name, "size": len(data)}])
    say(bar, type="piece", number=1, buffers=[data])
    assert bar.loading.wait()


def answered(session):
    """Wait until the present drawing is answered and every view was told."""
    assert session.wait(30)


def fleet_answered(session):
    """Wait until the fleet is planned, and show the answer.

    Without the loop of a kernel, this thread may have shown what was true before the answer came.
    """
    assert session.wait(60)
    session.events.emit("fleet")


def until(widget, true, seconds=60):
    """Wait until something is true, looking after each change of the widget."""
    seen = threading.Event()

    def look(_change):
        seen.set()

    widget.observe(look)
    end = time.monotonic() + seconds
    while not true():
        assert seen.wait(max(0.0, end - time.monotonic()))
        seen.clear()
    widget.unobserve(look)
