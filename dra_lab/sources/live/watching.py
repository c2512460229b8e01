"""The watch of one kind, and the objects that watches keep up to date."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import decoder
from dra_lab.model.queues import ClusterQueue, Configuration, CustomObject, QueueObject
from dra_lab.model.topologies import CUSTOM_RESOURCES, TopologyObject
from dra_lab.sources.live.client import ReadingClient, Stream
from dra_lab.sources.live.kinds import KINDS, Kind, Served, discover
from dra_lab.sources.live.pages import Key, ListedObjects, decode_item, key_of, list_kind, tidy, wanted
from dra_lab.sources.live.refusals import Refusal, Unreachable, status_of_event

FIELDS = {
    "ResourceSlice": "slices",
    "DeviceClass": "classes",
    "Node": "nodes",
    "ResourceClaim": "claims",
    "DeviceTaintRule": "taint_rules",
    "Pod": "pods",
}
"""Where the objects of a kind stand in a Cluster."""


class LiveObjects:
    """Begins with a Cluster and takes changes; calls may come from several threads.

    Objects are shared with the snapshots: a change costs its own object, a snapshot the tuples of the kinds that
    changed.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Take the objects of a snapshot over."""
        self._latest = cluster
        self._own_findings = cluster.findings
        self._claims_known = cluster.claims_known
        self._lock = threading.Lock()
        self._topologies, self._queues = cluster.topologies, cluster.queues
        self._objects: dict[str, dict[Key, Any]] = {
            kind.name: {key_of(item): item for item in vars(cluster)[FIELDS[kind.name]]} for kind in KINDS
        }
        self._order: dict[str, list[Key]] = {kind: list(objects) for kind, objects in self._objects.items()}
        self._findings: dict[tuple[str, Key], tuple[Finding, ...]] = {}
        self._dirty: set[str] = set()

    def now_read(self, kind: Kind, space: str) -> None:
        """Remove the findings about a kind, of a namespace or of all, that could not be read and now is."""

        def gone(finding: Finding) -> bool:
            matches = finding.rule in ("right-missing", "kind-not-read") and finding.subject == kind.resource
            return matches and (not space or repr(space) in finding.message)

        with self._lock:
            self._own_findings = tuple(finding for finding in self._own_findings if not gone(finding))
            self._claims_known = self._claims_known or kind.name == "ResourceClaim"
            self._dirty.add(kind.name)

    def take_custom(self, found: tuple[CustomObject, ...], unread: Collection[str]) -> bool:
        """Take objects of Kueue, KAI and Volcano that were read again.

        `unread` names resources that were not, of which all stays. Returns whether anything is different.
        """

        def stays(finding: Finding) -> bool:
            return finding.subject not in CUSTOM_RESOURCES or finding.subject in unread

        with self._lock:
            held = (*self._topologies, *self._queues)
            gone = {*unread}
            if any(isinstance(one, ClusterQueue) and one.resource in unread for one in held):
                gone |= {one.resource for one in held if isinstance(one, Configuration)}  # it was not asked for
            custom = (*(one for one in held if one.resource in gone), *found)
            topologies = tuple(one for one in custom if isinstance(one, TopologyObject))
            queues = tuple(one for one in custom if isinstance(one, QueueObject))
            kept = tuple(filter(stays, self._own_findings))
            same = topologies == self._topologies and queues == self._queues
            if same and len(kept) == len(self._own_findings):
                return False
            if topologies != self._topologies:
                self._topologies = topologies
            self._queues, self._own_findings = queues, kept
            return True

    def put(self, kind: str, item: Any) -> bool:
        """Add or replace an object; returns False when nothing that is kept of it has changed."""
        if not wanted(item):
            return self.remove(kind, key_of(item))
        kept = tidy(item)
        with self._lock:
            before = self._objects[kind].get(key_of(kept))
            if before == kept:
                return False
            self._objects[kind][key_of(kept)] = kept
            self._dirty.add(kind)
            return True

    def remove(self, kind: str, key: Key) -> bool:
        """Take an object away; returns False when it was not there."""
        with self._lock:
            self._forget(kind, key)
            if self._objects[kind].pop(key, None) is None:
                return False
            self._dirty.add(kind)
            return True

    def put_findings(self, kind: str, key: Key, findings: tuple[Finding, ...]) -> bool:
        """Replace the findings about an object; returns whether they are new."""
        with self._lock:
            before = self._findings.get((kind, key), ())
            self._forget(kind, key)
            if findings:
                self._findings[kind, key] = findings
            return before != findings

    def replace_all(self, kind: str, space: str, listed: ListedObjects) -> bool:
        """Take a new list of a kind, of a namespace or of all; returns whether anything is different."""
        with self._lock:
            held = self._objects[kind]
            gone = [key for key in held if (not space or key[0] == space) and key not in listed.objects]
            changed = {key: item for key, item in listed.objects.items() if held.get(key) != item}
            for key in gone:
                del held[key]
                self._forget(kind, key)
            held.update(changed)
            if gone or changed:
                self._dirty.add(kind)
            return bool(gone or changed)

    def snapshot(self, versions: Mapping[str, str], extra: tuple[Finding, ...] = ()) -> Cluster:
        """Return the cluster as it is now; kinds that did not change keep their tuple.

        `extra` are findings about the following itself, which stand behind those of the objects.
        """
        with self._lock:
            changes: dict[str, Any] = {FIELDS[kind]: self._in_order(kind) for kind in self._dirty}
            self._dirty.clear()
            findings = (*self._own_findings, *(f for found in self._findings.values() for f in found), *extra)
            read_at = datetime.now().astimezone().isoformat(timespec="seconds")
            changes |= {"findings": tuple(dict.fromkeys(findings)), "read_at": read_at}
            changes["resource_versions"] = dict(versions)
            changes |= {"claims_known": self._claims_known, "topologies": self._topologies}
            changes["queues"] = self._queues
            self._latest = self._latest.with_objects(**changes)
            return self._latest

    def _in_order(self, kind: str) -> tuple[Any, ...]:
        """Return the objects of a kind by namespace and name; the lock is held."""
        objects, order = self._objects[kind], self._order[kind]
        if len(order) != len(objects) or not all(map(objects.__contains__, order)):
            known = set(order)
            # what stays is in order already: sorting takes little more than a look at it
            order[:] = [key for key in order if key in objects]
            order += [key for key in objects if key not in known]
        order.sort()
        return tuple(map(objects.__getitem__, order))

    def _forget(self, kind: str, key: Key) -> None:
        """Drop the findings about an object, here and in the first snapshot; the lock is held."""
        self._findings.pop((kind, key), None)
        name = f"{kind}/{key[1]}"
        if any(f.origin is not None and f.origin.object == name for f in self._own_findings):
            self._own_findings = tuple(f for f in self._own_findings if f.origin is None or f.origin.object != name)


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
