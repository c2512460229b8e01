"""A running cluster, followed: watches of all kinds, changes gathered into snapshots, a state that can be shown."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from dra_lab.errors import Cancelled, DraLabError, InputError, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_json
from dra_lab.sources.live.client import ReadingClient, ReadLimits, Refusal, Unreachable, status_of_event
from dra_lab.sources.live.connection import PREFIX, connect, find_context
from dra_lab.sources.live.kinds import Served, discover, read_custom
from dra_lab.sources.live.missing import refused_credentials, right_missing
from dra_lab.sources.live.pages import LiveObjects, decode_item, list_kind

GATHER = 0.5
"""Seconds in which changes are gathered before they become a snapshot; a change is seen so much later at least."""

LONGEST_PAUSE = 1.0
"""Seconds between two snapshots at most, when looking at one takes long."""

RELIST_AFTER = 3
"""After this number of failures in a row that are not lost connections, the kind is listed again."""

SHORTEST = 1.0
"""A watch without events that the server ends within this number of seconds counts as a failure; else it would loop."""


class FollowState(StrEnum):
    """The state of following a cluster, as a person should know it."""

    OFF = "off"
    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Following:
    """The state, and in words why events are missing (`lost`, `stopped`)."""

    state: FollowState = FollowState.OFF
    reason: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Watch:
    """Keeps the objects of one kind, of a namespace or of all, up to date until the client is cancelled.

    `version` is the resource version that was seen last; "" lists the kind first. `label` is the name under which it
    is stored.
    """

    def __init__(
        self, follower: ClusterFollower, client: ReadingClient, served: Served, space: str, version: str
    ) -> None:
        """Begin with the content of the first list."""
        self.follower, self.client, self.served, self.space, self.version = follower, client, served, space, version
        self.label = f"{served.kind.name}/{space}" if space else served.kind.name
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
                if stop.is_set():
                    return
                if isinstance(error, Refusal) and error.status == 403:
                    self.follower.barred(self, error)
                    stop.wait(self.client.limits.barred)
                else:
                    self._failed(error)

    def _failed(self, error: SourceError) -> None:
        quiet = time.monotonic() - self.moved >= self.client.limits.quiet
        if isinstance(error, Refusal) and error.expired:
            self.version = ""
            self.forgotten += 1
            if self.forgotten == 1:
                return  # servers forget what is older than some minutes; the kind is listed again at once
        elif isinstance(error, Unreachable) and self.moved < math.inf and (error.silent or quiet):
            return  # an open watch ended with nothing to report: silence in order, or a cut after much of it
        elif isinstance(error, Refusal) and error.status == 404:
            error = self._served_elsewhere() or error
        elif isinstance(error, Refusal) and not error.busy and self.failures + 1 >= RELIST_AFTER:
            self.version = ""
        self.failures += 1
        self.follower.lost(self, error)
        self.client.cancel.wait(self.client.limits.delay(self.failures - 1, getattr(error, "retry_after", None)))

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
            listed = list_kind(self.client, self.served, self.space, source=self.follower.source)
            if self.follower.objects.replace_all(self.served.kind.name, self.space, listed):
                self.follower.changed()
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
                self.follower.well(self)
                for line in lines:
                    if self._event(line):
                        self.follower.changed()
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

    def _event(self, line: bytes) -> bool:
        """Take one event; returns whether anything is different."""
        try:
            event = from_json(line, _Event)
            raw = bytes(event.object)
            meta = from_json(raw, _Object).metadata if event.type != "ERROR" else _Meta()
        except (msgspec.MsgspecError, RecursionError):
            raise Unreachable(f"{self.client.server} sends something that is not an event", passing=True) from None
        if event.type == "ERROR":
            raise status_of_event(raw)
        objects, changed = self.follower.objects, False
        kind, key = self.served.kind.name, (meta.namespace, meta.name)
        if event.type == "DELETED":
            changed = objects.remove(kind, key)
        elif event.type != "BOOKMARK":
            item, findings = decode_item(raw, self.served, self.follower.source)
            changed = objects.put(kind, item) if item is not None else objects.remove(kind, key)
            changed = objects.put_findings(kind, key, findings) or changed
        self.version = meta.resource_version or self.version
        return changed


class ClusterFollower:
    """Follows a Cluster of `context:NAME` from the moment on at which it was read.

    `on_cluster` gets each new snapshot in a thread of the follower, at most one every `gather` seconds. `ready` is
    called before a snapshot is made. While one of the two runs, the follower gathers further changes. `on_state` is
    called after each change of `following`. Findings say which kinds are not followed because the right to watch is
    missing. Kinds that could not be read are read once that is possible. Raises InputError for a cluster that is no
    running one.
    """

    def __init__(
        self,
        cluster: Cluster,
        on_cluster: Callable[[Cluster], None],
        on_state: Callable[[], None],
        *,
        limits: ReadLimits | None = None,
        gather: float = GATHER,
        ready: Callable[[], None] | None = None,
    ) -> None:
        """Prepare; nothing is connected to before `start`."""
        if not cluster.name.startswith(PREFIX) or not cluster.resource_versions:
            raise InputError(f"{cluster.name!r} is not a running cluster; load one with context:NAME to follow it")
        self.following = Following(FollowState.CONNECTING)
        self.objects = LiveObjects(cluster)
        self._versions = dict(cluster.resource_versions)
        self._context = find_context(cluster.name.removeprefix(PREFIX))
        self.source = self._context.source
        self._on_cluster, self._on_state = on_cluster, on_state
        self._limits, self._gather, self._ready = limits or ReadLimits(), gather, ready
        self._stop, self._change = threading.Event(), threading.Event()
        self._lock = threading.RLock()
        self._served: dict[str, Served] = {}
        self._watches: list[Watch] = []
        self._troubles: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._barred: dict[str, Finding | None] = {}
        self._unread: set[str] = set()

    def start(self) -> None:
        """Begin to follow, in threads of its own; returns at once."""
        self._begin(self._run, "dra-lab-follow")

    def stop(self) -> None:
        """End the following at once; a thread that waits for the server ends at its next event or time-out."""
        self._stop.set()
        self._change.set()
        self._state(FollowState.STOPPED, "")

    def wait_stopped(self, seconds: float) -> bool:
        """Wait so long or until `stop` was called; returns whether it was."""
        return self._stop.wait(seconds)

    def changed(self) -> None:
        """Something is different now: a snapshot is due."""
        self._change.set()

    def well(self, watch: Watch) -> None:
        """Events of a kind come."""
        with self._lock:
            self._troubles.pop(watch.label, None)
            self._waiting.discard(watch.label)
            allowed = self._barred.pop(watch.label, None)
            self._report_state()
        if allowed is not None or self._now_read(watch):
            self.changed()

    def lost(self, watch: Watch, error: SourceError) -> None:
        """No events of a kind come for the moment, and it is tried again."""
        if isinstance(error, Refusal) and error.status == 401:
            error = refused_credentials(self._context, error)
        with self._lock:
            self._troubles[watch.label] = error.message
            self._report_state()

    def barred(self, watch: Watch, error: Refusal) -> None:
        """No events of a kind come: a finding says which right is missing."""
        kind, verb = watch.served.kind, "watch" if watch.version else "list"
        missing = f"dra-lab does not follow changes of {kind.plural}"
        if watch.version:
            self._now_read(watch)
        # a kind that could not be read at all was reported when the cluster was read
        reported = watch.label in self._unread
        finding = None if reported else right_missing(self._context, kind, error, watch.space, verb, missing)
        with self._lock:
            self._troubles.pop(watch.label, None)
            self._waiting.discard(watch.label)
            known, self._barred[watch.label] = self._barred.get(watch.label), finding
            self._report_state()
        if finding != known:
            self.changed()

    def _begin(self, target: Callable[[], None], name: str) -> None:
        if not self._stop.is_set():
            threading.Thread(target=target, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            client = self._connect()
        except DraLabError as error:
            if not self._stop.is_set():
                self._state(FollowState.STOPPED, str(error))
            return
        try:
            self._begin_watches(client)
            self._make_snapshots()
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen, and not end the following in silence
            self.stop()
            self._state(FollowState.STOPPED, f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        finally:
            client.close()

    def _make_snapshots(self) -> None:
        took = 0.0
        while not self._stop.is_set():
            self._change.wait()
            # Where a snapshot takes long to be looked at, half of the time at least is left to everything else.
            if self._stop.wait(max(self._gather, min(took, LONGEST_PAUSE))):
                return
            # Changes that come until it can be looked at are in the snapshot.
            if self._ready is not None:
                self._ready()
            if self._stop.is_set():
                return
            begin = time.monotonic()
            self._change.clear()
            versions = {**self._versions, **{watch.label: watch.version for watch in self._watches}}
            self._on_cluster(self.objects.snapshot(versions, tuple(filter(None, self._barred.values()))))
            took = time.monotonic() - begin

    def _connect(self) -> ReadingClient:
        """Connect and discover, again and again while the server cannot be reached."""
        client: ReadingClient | None = None
        attempt = 0
        while True:
            try:
                client = client or ReadingClient(lambda: connect(self._context), self._limits, self._stop)
                self._served = {entry.kind.name: entry for entry in discover(client)}
            except SourceError as error:
                if client is None or (isinstance(error, Refusal) and not error.passing):
                    raise
                self._state(FollowState.LOST, error.message)
                self._stop.wait(self._limits.delay(attempt))
                attempt += 1
            else:
                return client

    def _begin_watches(self, client: ReadingClient) -> None:
        for label, version in self._versions.items():
            kind, _, space = label.partition("/")
            if kind in self._served:
                self._watches.append(Watch(self, client, self._served[kind], space, version))
        spaces = sorted({space for _, _, space in (label.partition("/") for label in self._versions) if space})
        for served in self._served.values():  # kinds that could not be read are listed as soon as that is possible
            for space in spaces if served.kind.namespaced and spaces else ("",):
                watch = Watch(self, client, served, space, "")
                if watch.label not in self._versions:
                    self._unread.add(watch.label)
                    self._watches.append(watch)
        self._waiting = {watch.label for watch in self._watches}
        for watch in self._watches:
            self._begin(watch.run, f"dra-lab-watch-{watch.label}")
        self._begin(lambda: self._read_custom(client), "dra-lab-watch-custom")

    def _read_custom(self, client: ReadingClient) -> None:
        """Read the topology objects of Kueue, KAI and Volcano repeatedly: they change with the machine room."""
        while not self._stop.wait(self._limits.topologies):
            try:
                found, findings = read_custom(client, self._context)
            except DraLabError:
                continue  # the watches say what is wrong
            if self.objects.take_custom(found, [one.subject for one in findings]):
                self.changed()

    def _now_read(self, watch: Watch) -> bool:
        """Report a kind that could not be read at first; return whether that is new."""
        with self._lock:
            if watch.label not in self._unread:
                return False
            self._unread.discard(watch.label)
        self.objects.now_read(watch.served.kind, watch.space)
        return True

    def _report_state(self) -> None:
        if self._troubles:
            self._state(FollowState.LOST, next(iter(self._troubles.values())))
        elif len(self._barred) == len(self._watches):
            words = (finding.message for finding in self._barred.values() if finding is not None)
            self._state(FollowState.LOST, next(words, "there is nothing that dra-lab can follow"))
        elif not self._waiting:
            self._state(FollowState.LIVE, "")

    def _state(self, state: FollowState, reason: str) -> None:
        with self._lock:
            found = Following(state, reason)
            if found == self.following or (self._stop.is_set() and state is not FollowState.STOPPED):
                return
            self.following = found
        self._on_state()
