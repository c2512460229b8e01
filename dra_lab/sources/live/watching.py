"""The watch of one kind: events from the last version on, resumed after an interruption, else listed again."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.model.decoding import decoder
from dra_lab.sources.live.client import ReadingClient, Stream
from dra_lab.sources.live.live_objects import LiveObjects
from dra_lab.sources.live.pages import decode_item, list_kind
from dra_lab.sources.live.refusals import Refusal, Unreachable, status_of_event
from dra_lab.sources.live.resource_kinds import Served, discover

ANEW_AFTER = 3
"""After this number of failures in a row that are not lost connections, the kind is listed again."""

SHORTEST = 1.0
"""A watch without events that the server ends within this number of seconds counts as a failure; else it would loop."""


class Follower(Protocol):
    """Whom a watch tells what happens to it."""

    def changed(self) -> None:
        """Something is different now."""

    def well(self, watch: Watch) -> None:
        """Events come."""

    def lost(self, watch: Watch, error: SourceError) -> None:
        """No events come, and it is tried again."""

    def barred(self, watch: Watch, error: Refusal) -> None:
        """No events come, as the right is missing; it is asked for again now and then."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_EVENT = decoder(_Event)
_OBJECT = decoder(_Object)


@dataclass
class Watch:
    """Keeps the objects of one kind, of a namespace or of all, up to date until the client is cancelled.

    `version` is the resource version that was seen last; "" lists the kind first. `due` is when it is listed again
    although events come: a restored etcd sends none. `moved` is when the open watch began or gave its last line, and
    endless where none is open. `forgotten` counts how often in a row the server had forgotten the version.
    """

    client: ReadingClient
    served: Served
    space: str
    version: str
    objects: LiveObjects
    follower: Follower
    source: str
    failures: int = 0
    moved: float = math.inf
    forgotten: int = 0

    def __post_init__(self) -> None:
        """Begin with the content of the first list."""
        self.due = self._next_list()

    @property
    def label(self) -> str:
        """Return the name under which the version of this watch is stored."""
        return f"{self.served.kind.name}/{self.space}" if self.space else self.served.kind.name

    @property
    def is_open(self) -> bool:
        """Say whether events come."""
        return self.moved < math.inf

    def run(self) -> None:
        """Follow until the client is cancelled."""
        stop = self.client.cancel
        while not stop.is_set():
            try:
                self._go_on()
            except Cancelled:
                return
            except SourceError as error:
                if stop.is_set():
                    return
                if isinstance(error, Refusal) and error.status == 403:
                    self.follower.barred(self, error)
                    stop.wait(self.client.limits.barred)
                else:
                    self._failed(error)

    def _failed(self, error: SourceError) -> None:
        if isinstance(error, Refusal) and error.expired:
            self.version = ""
            self.forgotten += 1
            if self.forgotten == 1:
                return  # servers forget what is older than some minutes; the kind is listed again at once
        elif isinstance(error, Unreachable) and self._ended_quietly(error):
            return
        elif isinstance(error, Refusal) and error.status == 404:
            error = self._found_anew() or error
        elif isinstance(error, Refusal) and not error.busy and self.failures + 1 >= ANEW_AFTER:
            self.version = ""
        self.failures += 1
        self.follower.lost(self, error)
        pause = self.client.limits.delay(self.failures - 1, getattr(error, "retry_after", None))
        self.client.cancel.wait(pause)

    def _ended_quietly(self, error: Unreachable) -> bool:
        """Say whether an open watch ended with nothing to tell: silence in order, or a cut after much of it."""
        return self.is_open and (error.silent or time.monotonic() - self.moved >= self.client.limits.quiet)

    def _found_anew(self) -> SourceError | None:
        """Look for the kind in another version, as after an update of the server; returns why there is none."""
        kind = self.served.kind
        try:
            served = next((entry for entry in discover(self.client) if entry.kind is kind), None)
        except SourceError as error:
            return error
        if served is None:
            return SourceError(f"{self.client.server} does not serve {kind.resource} any more")
        self.served = served
        return None

    def _go_on(self) -> None:
        self.moved = math.inf
        if time.monotonic() >= self.due:
            self.version = ""
        if not self.version:
            self._list()
        longest = self.client.limits.watch * random.uniform(1.0, 1.3)  # noqa: S311  so that not all end at once
        seconds = max(1, int(min(longest, self.due - time.monotonic())))
        query: dict[str, str | int] = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": seconds,
        }
        begin = time.monotonic()
        stream = self.client.stream(self.served.path(self.space), query)
        try:
            self.moved = time.monotonic()
            self.follower.well(self)
            some = self._events(stream)
            if not some and time.monotonic() - begin < min(SHORTEST, seconds / 2):
                raise Unreachable(f"{self.client.server} ends the watch of {self.label} at once", passing=True)
        finally:
            if time.monotonic() - begin >= SHORTEST:
                self.failures = self.forgotten = 0
            stream.release()

    def _list(self) -> None:
        listed = list_kind(self.client, self.served, self.space, _ignore, self.source)
        changed = self.objects.replace_all(self.served.kind.name, self.space, listed)
        self.version, self.due = listed.resource_version, self._next_list()
        if changed:
            self.follower.changed()

    def _next_list(self) -> float:
        return time.monotonic() + self.client.limits.relist * random.uniform(0.8, 1.0)  # noqa: S311  one kind at a time

    def _events(self, stream: Stream) -> bool:
        """Take the events of a watch until it ends; returns whether there were any."""
        some = False
        for line in stream.lines():
            if self._event(line):
                self.follower.changed()
            some = True
            self.failures = self.forgotten = 0
            self.moved = time.monotonic()
            if self.client.cancel.is_set() or self.moved >= self.due:
                break
        return some

    def _event(self, line: bytes) -> bool:
        """Take one event; returns whether anything is different."""
        try:
            event = _EVENT.decode(line)
            raw = bytes(event.object)
            meta = _OBJECT.decode(raw).metadata if event.type != "ERROR" else _Meta()
        except (msgspec.MsgspecError, RecursionError):
            raise Unreachable(f"{self.client.server} sends something that is not an event", passing=True) from None
        if event.type == "ERROR":
            raise status_of_event(raw)
        changed = event.type != "BOOKMARK" and self._apply(event.type, meta, raw)
        self.version = meta.resource_version or self.version
        return changed

    def _apply(self, type_: str, meta: _Meta, raw: bytes) -> bool:
        kind, key = self.served.kind.name, (meta.namespace, meta.name)
        if type_ == "DELETED":
            return self.objects.remove(kind, key)
        item: Any
        item, findings = decode_item(raw, self.served, self.source)
        changed = self.objects.put(kind, item) if item is not None else self.objects.remove(kind, key)
        return self.objects.put_findings(kind, key, findings) or changed


def _ignore(_done: int, _remaining: int) -> None:
    """The progress of a kind that is listed again is not shown."""
