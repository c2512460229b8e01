"""Requests of a page to kernels over their websockets, and those that were never answered."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise

from playwright.sync_api import WebSocket

# A message without a reply of its own: the kernel's "idle" is all that it says to it.
_WITHOUT_REPLY = {"comm_open", "comm_msg", "comm_close", "input_reply"}


def parts_of(frame: bytes) -> list[bytes]:
    """Take a frame of the protocol `v1.kernel.websocket.jupyter.org` apart: channel, header, parent, metadata, content.

    It begins with a number of offsets, then the offsets themselves, each 8 bytes, the smallest first.
    """
    numbers = memoryview(frame)[8 : 8 * (int.from_bytes(frame[:8], "little") + 1)].cast("Q")
    return [frame[start:end] for start, end in pairwise(numbers)]


class KernelTraffic:
    """The requests of one page that wait for a kernel."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, str, set[str]]] = {}

    def listen(self, socket: WebSocket) -> None:
        """Note what goes over a websocket, if it is that of a kernel."""
        if "/channels" in socket.url:
            socket.on("framesent", self.sent)
            socket.on("framereceived", self.received)

    def sent(self, frame: bytes | str) -> None:
        """Note a request: it waits for its reply and for the kernel to be idle after it."""
        if isinstance(frame, bytes):
            channel, header = parts_of(frame)[:2]
            head = json.loads(header)
            lacks = {"idle"} if head["msg_type"] in _WITHOUT_REPLY else {"idle", "reply"}
            what = f"{head['msg_type']} on {channel.decode()}"
            self._waiting[head["msg_id"]] = (time.monotonic(), what, lacks)

    def received(self, frame: bytes | str) -> None:
        """Note an answer."""
        if not isinstance(frame, bytes):
            return
        _, header, parent, _, content = parts_of(frame)[:5]
        asked = json.loads(parent).get("msg_id")
        if asked not in self._waiting:
            return
        lacks = self._waiting[asked][2]
        kind = json.loads(header)["msg_type"]
        if kind.endswith("_reply"):
            lacks.discard("reply")
        elif kind == "status" and json.loads(content)["execution_state"] == "idle":
            lacks.discard("idle")
        if not lacks:
            del self._waiting[asked]

    def unanswered(self) -> Iterator[str]:
        """Say what still waits, since when, and for what, the oldest first."""
        now = time.monotonic()
        for since, what, lacks in list(self._waiting.values()):
            yield f"{what}, asked {now - since:.1f} s ago: no {' and no '.join(sorted(lacks))}"
