"""The watch of one kind: events from the last version on, resumed after an interruption, else listed again."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.model.decoding import decoder
from dra_lab.model.numbers import whole_number
from dra_lab.sources.live.client import ReadingClient, Stream
from dra_lab.sources.live.live_objects import LiveObjects
from dra_lab.sources.live.pages import Key, decode_item, list_kind
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

    def replaced(self, watch: Watch) -> None:
        """The server has another store than before: what the other watches know is of the old one."""


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

    `version` is the resource version that was seen last; "" lists the kind first. `moved` is when the open watch began
    or gave its last line, and endless where none is open. `last` is the version that was seen last, also while the kind
    is listed. `base` is the version of the last list, and `changes` has the version of each object that is known: that
    of its last event, or that of a list it was compared with. `forgotten` counts how often in a row the server had
    forgotten the version.
    """

    client: ReadingClient
    served: Served
    space: str
    version: str
    objects: LiveObjects
    follower: Follower
    source: str
    stream: Stream | None = None
    failures: int = 0
    moved: float = math.inf
    must_list: bool = False
    forgotten: int = 0
    changes: dict[Key, int] = field(default_factory=dict)
    changing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Begin with the content of the first list."""
        self.base = self.last = self.version

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

    def close(self) -> None:
        """Wake the thread that waits for events."""
        if self.stream is not None:
            self.stream.close()

    def list_again(self) -> None:
        """Let the kind be listed again, also while the watch waits for events; any thread may call it."""
        self.must_list = True
        self.close()

    def agreed(self, version: str, versions: Mapping[Key, int]) -> None:
        """Take note that a list of a version has the same objects, and the versions of those objects."""
        at = number_of(version)
        if at is None or self.must_list or went_back(version, self.base):
            return
        with self.changing:
            later = {key: changed for key, changed in self.changes.items() if changed > at}
            self.changes = {**versions, **later}
            self.base = version

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
        if self.must_list:
            self.must_list, self.version, self.last = False, "", ""
        if not self.version:
            self._list()
        seconds = int(self.client.limits.watch * random.uniform(1.0, 1.3)) or 1  # noqa: S311  so that not all end at once
        query: dict[str, str | int] = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": seconds,
        }
        begin = time.monotonic()
        stream = self.stream = self.client.stream(self.served.path(self.space), query)
        try:
            if self.client.cancel.is_set() or self.must_list:
                return
            self.moved = time.monotonic()
            self.follower.well(self)
            some = self._events(stream)
            if not some and not self.must_list and time.monotonic() - begin < min(SHORTEST, seconds / 2):
                raise Unreachable(f"{self.client.server} ends the watch of {self.label} at once", passing=True)
        finally:
            if time.monotonic() - begin >= SHORTEST:
                self.failures = self.forgotten = 0
            stream.release()
            self.stream = None

    def _list(self) -> None:
        listed = list_kind(self.client, self.served, self.space, _ignore, self.source)
        changed = self.objects.replace_all(self.served.kind.name, self.space, listed)
        other = went_back(listed.resource_version, self.last)
        with self.changing:
            self.changes = {}
        self.version = self.base = self.last = listed.resource_version
        if other:
            self.follower.replaced(self)
        if changed:
            self.follower.changed()

    def _events(self, stream: Stream) -> bool:
        """Take the events of a watch until it ends; returns whether there were any."""
        some = False
        for line in stream.lines():
            if self._event(line):
                self.follower.changed()
            some = True
            self.failures = self.forgotten = 0
            self.moved = time.monotonic()
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
        if went_back(meta.resource_version, self.version):
            raise Refusal(410, "Expired", "", f"{self.client.server} went back to an earlier resource version")
        changed = event.type != "BOOKMARK" and self._apply(event.type, meta, raw)
        self.version = self.last = meta.resource_version or self.version
        return changed

    def _apply(self, type_: str, meta: _Meta, raw: bytes) -> bool:
        kind, key = self.served.kind.name, (meta.namespace, meta.name)
        at = number_of(meta.resource_version)
        if at is not None and kind != "Pod":
            with self.changing:
                self.changes[key] = at
        if type_ == "DELETED":
            return self.objects.remove(kind, key)
        item: Any
        item, findings = decode_item(raw, self.served, self.source)
        changed = self.objects.put(kind, item) if item is not None else self.objects.remove(kind, key)
        return self.objects.put_findings(kind, key, findings) or changed


def _ignore(_done: int, _remaining: int) -> None:
    """The progress of a kind that is listed again is not shown."""


_LONGEST = 40


def number_of(version: str) -> int | None:
    """Return a resource version as a number, None where it is none."""
    found = whole_number(version) if len(version) <= _LONGEST else None
    return found if found is None or found >= 0 else None


def went_back(version: str, known: str) -> bool:
    """Say whether a version is lower than one that the server gave before."""
    new, old = number_of(version), number_of(known)
    return new is not None and old is not None and new < old
