"""Which request of a page a kernel never answered, read from the frames of its websocket."""

from __future__ import annotations

from kernel_traffic import KernelTraffic, frame_of, parts_of


def asked(traffic: KernelTraffic, kind: str, name: str, channel: str = "shell") -> None:
    """Send a request from the page."""
    traffic.sent(frame_of(channel, {"msg_type": kind, "msg_id": name}, {}, {}))


def answered(traffic: KernelTraffic, kind: str, name: str, **content: str) -> None:
    """Receive a message of the kernel about a request."""
    traffic.received(frame_of("iopub", {"msg_type": kind, "msg_id": "k"}, {"msg_id": name}, content))


def test_a_frame_is_taken_apart_as_it_was_put_together():
    """Channel, header, parent, metadata and content come back, whatever their lengths."""
    assert parts_of(frame_of("shell", {"a": "é"}, {}, {"b": [1, 2]})) == [
        b"shell",
        b'{"a": "\\u00e9"}',
        b"{}",
        b"{}",
        b'{"b": [1, 2]}',
    ]


def test_a_request_waits_for_its_reply_and_for_the_kernel_to_be_idle():
    """One of both is not enough."""
    traffic = KernelTraffic()
    asked(traffic, "create_subshell_request", "a", channel="control")
    (line,) = traffic.unanswered()
    assert line.startswith("create_subshell_request on control")
    assert line.endswith("no idle and no reply")
    answered(traffic, "create_subshell_reply", "a")
    (line,) = traffic.unanswered()
    assert line.endswith("no idle")
    answered(traffic, "status", "a", execution_state="busy")
    assert len(list(traffic.unanswered())) == 1
    answered(traffic, "status", "a", execution_state="idle")
    assert list(traffic.unanswered()) == []


def test_a_message_of_a_widget_waits_for_no_reply():
    """The protocol has none for it."""
    traffic = KernelTraffic()
    asked(traffic, "comm_msg", "a")
    answered(traffic, "status", "a", execution_state="idle")
    assert list(traffic.unanswered()) == []


def test_an_answer_to_somebody_else_changes_nothing():
    """Another page on the same kernel gets its own."""
    traffic = KernelTraffic()
    asked(traffic, "execute_request", "a")
    answered(traffic, "status", "b", execution_state="idle")
    assert len(list(traffic.unanswered())) == 1
