"""A watch of one kind of objects: a list, then its events, again and again, whatever the server or the network does."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_json
from dra_lab.sources.live.client import ReadingClient, Refusal, Unreachable, status_of_event
from dra_lab.sources.live.kinds import Served, discover
from dra_lab.sources.live.pages import Key, decode_item, key_of, list_kind, tidy, wanted

RELIST_AFTER = 3
"""After this number of failures in a row that are not lost connections, the kind is listed again."""

SHORTEST = 1.0
"""A watch without events that the server ends within this number of seconds counts as a failure; else it would loop."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Changed(NamedTuple):
    """An object of an event, None for one that is gone, and what is wrong with it."""

    key: Key
    item: Any = None
    findings: tuple[Finding, ...] = ()


Report = Changed | Mapping[Key, Any] | SourceError | None
"""What a watch reports: an object, a new list of all objects, why no events come, or None: that they come."""


class Watch:
    """Keeps the objects of one kind, of a namespace or of all, up to date until the client is cancelled.

    `version` is the resource version that was seen last; "" lists the kind first. `label` is the name under which it
    is stored. `objects` are shared with the snapshots, `findings` say what is wrong with single objects, and `dirty`
    that the latest snapshot lacks a change. `trouble` is why no events come for the moment. No events come either where
    a right is missing (`barred`), with a finding unless it was reported when the cluster was read. `waiting` says that
    it has not begun, and `unread` that the kind could not be read at first.
    """

    def __init__(
        self,
        cluster: Cluster,
        client: ReadingClient,
        served: Served,
        space: str,
        report: Callable[[Watch, Report], None],
    ) -> None:
        """Begin with the objects of the cluster; those of a kind that could not be read come with its first list."""
        self.client, self.served, self.space = client, served, space
        self.label = f"{served.kind.name}/{space}" if space else served.kind.name
        self.version = version = cluster.resource_versions.get(self.label, "")
        self._source, self._report = cluster.name, report
        every: tuple[Any, ...] = vars(cluster)[served.kind.field]
        self.objects = {key_of(one): one for one in every if not space or one.metadata.namespace == space}
        self.findings: dict[Key, tuple[Finding, ...]] = {}
        self.dirty, self.waiting, self.unread = False, True, not version
        self.trouble, self.barred = "", False
        self.finding: Finding | None = None
        self.failures = 0
        # how often in a row the server had forgotten the version
        self.forgotten = 0
        # when the open watch began or gave its last line, endless where none is open
        self.moved = math.inf
        self.due = self._next_list()

    def run(self) -> None:
        """Follow until the client is cancelled."""
        stop = self.client.cancel
        while not stop.is_set():
            try:
                self._go_on()
            except Cancelled:
                return
            except SourceError as error:
                if not stop.is_set():
                    stop.wait(self._pause_after(error))

    def _pause_after(self, error: SourceError) -> float:
        """Note why no events come, and return the seconds until the next attempt."""
        limits, refusal = self.client.limits, error if isinstance(error, Refusal) else None
        quiet = time.monotonic() - self.moved >= limits.quiet
        if refusal is not None and refusal.status == 403:
            self._report(self, refusal)
            return limits.barred
        if refusal is not None and refusal.expired:
            self.version = ""
            self.forgotten += 1
            if self.forgotten == 1:
                return 0.0  # servers forget what is older than some minutes; the kind is listed again at once
        elif isinstance(error, Unreachable) and self.moved < math.inf and (error.silent or quiet):
            return 0.0  # an open watch ended with nothing to report: silence in order, or a cut after much of it
        elif refusal is not None and refusal.status == 404:
            error = self._served_elsewhere() or error
        elif refusal is not None and not refusal.busy and self.failures + 1 >= RELIST_AFTER:
            self.version = ""
        self.failures += 1
        self._report(self, error)
        return limits.delay(self.failures - 1, getattr(error, "retry_after", None))

    def _served_elsewhere(self) -> SourceError | None:
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
        if not self.version or time.monotonic() >= self.due:
            self.version = ""
            listed = list_kind(self.client, self.served, self.space, source=self._source)
            self._report(self, listed.objects)
            self.version, self.due = listed.resource_version, self._next_list()
        longest = self.client.limits.watch * random.uniform(1.0, 1.3)  # noqa: S311  so that not all end at once
        seconds = max(1, int(min(longest, self.due - time.monotonic())))
        query: dict[str, str | int] = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": seconds,
        }
        begin, some = time.monotonic(), False
        with self.client.lines(self.served.path(self.space), query) as lines:
            try:
                self.moved = time.monotonic()
                self._report(self, None)
                for line in lines:
                    self._event(line)
                    some, self.failures, self.forgotten, self.moved = True, 0, 0, time.monotonic()
                    if self.client.cancel.is_set() or self.moved >= self.due:
                        break
                if not some and time.monotonic() - begin < min(SHORTEST, seconds / 2):
                    raise Unreachable(f"{self.client.server} ends the watch of {self.label} at once", passing=True)
            finally:
                if time.monotonic() - begin >= SHORTEST:
                    self.failures = self.forgotten = 0

    def _next_list(self) -> float:
        return time.monotonic() + self.client.limits.relist * random.uniform(0.8, 1.0)  # noqa: S311  one kind at a time

    def _event(self, line: bytes) -> None:
        try:
            event = from_json(line, _Event)
            raw = bytes(event.object)
            meta = from_json(raw, _Object).metadata if event.type != "ERROR" else _Meta()
        except (msgspec.MsgspecError, RecursionError):
            raise Unreachable(f"{self.client.server} sends something that is not an event", passing=True) from None
        if event.type == "ERROR":
            raise status_of_event(raw)
        key = meta.namespace, meta.name
        if event.type == "DELETED":
            self._report(self, Changed(key))
        elif event.type != "BOOKMARK":
            item, findings = decode_item(raw, self.served, self._source)
            kept = tidy(item) if item is not None and wanted(item) else None
            self._report(self, Changed(key, kept, findings))
        self.version = meta.resource_version or self.version
