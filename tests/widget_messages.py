"""Messages from a browser to a widget, and the wait until the session behind it has answered."""

from __future__ import annotations


def say(widget, buffers=(), **message):
    """Do what the browser's message does."""
    content = {"data": {"method": "custom", "content": message}}
    widget._handle_msg({"content": content, "buffers": list(buffers)})


def answered(session):
    """Wait until the present drawing is answered and every view was told."""
    assert session.wait(30)
