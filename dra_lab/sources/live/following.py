"""A running cluster, followed: watches of all kinds, changes gathered into snapshots, a state that can be shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from dra_lab.errors import DraLabError, InputError, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.sources.live.client import ReadingClient, ReadLimits
from dra_lab.sources.live.connection import connect
from dra_lab.sources.live.kinds import Served, discover, read_custom
from dra_lab.sources.live.kubeconfig import PREFIX, Context, find_context
from dra_lab.sources.live.missing import refused_credentials, right_missing
from dra_lab.sources.live.refusals import Refusal
from dra_lab.sources.live.watching import LiveObjects, Watch

GATHER = 0.5
"""Seconds in which changes are gathered before they become a snapshot; a change is seen so much later at least."""


LONGEST_PAUSE = 1.0
"""Seconds between two snapshots at most, when looking at one takes long."""


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


def _at_once() -> None:
    """Do not wait for anything before a snapshot."""


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
        ready: Callable[[], None] = _at_once,
    ) -> None:
        """Prepare; nothing is connected to before `start`."""
        if not cluster.name.startswith(PREFIX) or not cluster.resource_versions:
            raise InputError(f"{cluster.name!r} is not a running cluster; load one with context:NAME to follow it")
        self.following = Following(FollowState.CONNECTING)
        self._versions = dict(cluster.resource_versions)
        self._context = find_context(cluster.name.removeprefix(PREFIX))
        self._objects = LiveObjects(cluster)
        self._on_cluster, self._on_state = on_cluster, on_state
        self._limits, self._gather, self._ready = limits or ReadLimits(), gather, ready
        self._stop, self._change = threading.Event(), threading.Event()
        self._lock = threading.RLock()
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

    @property
    def context(self) -> Context:
        """Return the context that is followed."""
        return self._context

    # -- what the watches tell (see watching.Follower)

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
        """Events of a kind do not come for the moment."""
        if isinstance(error, Refusal) and error.status == 401:
            error = refused_credentials(self._context, error)
        with self._lock:
            self._troubles[watch.label] = error.message
            self._report_state()

    def barred(self, watch: Watch, error: Refusal) -> None:
        """Events of a kind do not come: a finding says which right is missing."""
        kind, verb = watch.served.kind, "watch" if watch.version else "list"
        lost = f"dra-lab does not follow changes of {kind.plural}"
        if watch.version:
            self._now_read(watch)
        # a kind that could not be read at all was reported when the cluster was read
        known_lost = watch.label in self._unread
        finding = None if known_lost else right_missing(self._context, kind, error, watch.space, verb, lost)
        with self._lock:
            self._troubles.pop(watch.label, None)
            self._waiting.discard(watch.label)
            known, self._barred[watch.label] = self._barred.get(watch.label), finding
            self._report_state()
        if finding != known:
            self.changed()

    # -- inside

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
        took = 0.0
        try:
            while not self._stop.is_set():
                self._change.wait()
                # Where a snapshot takes long to be looked at, half of the time at least is left to everything else.
                if self._stop.wait(max(self._gather, min(took, LONGEST_PAUSE))):
                    break
                # Changes that come until it can be looked at are in the snapshot.
                self._ready()
                if self._stop.is_set():
                    break
                begin = time.monotonic()
                self._change.clear()
                versions = {**self._versions, **{watch.label: watch.version for watch in self._watches}}
                self._on_cluster(self._objects.snapshot(versions, tuple(filter(None, self._barred.values()))))
                took = time.monotonic() - begin
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen, and not end the following in silence
            self.stop()
            self._state(FollowState.STOPPED, f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        finally:
            client.close()

    def _connect(self) -> ReadingClient:
        """Connect and discover, again and again while the server cannot be reached, then begin the watches."""
        client: ReadingClient | None = None
        attempt = 0
        while True:
            try:
                client = client or ReadingClient(lambda: connect(self._context), self._limits, self._stop)
                served = {entry.kind.name: entry for entry in discover(client)}
                break
            except SourceError as error:
                if client is None or (isinstance(error, Refusal) and not error.passing):
                    raise
                self._state(FollowState.LOST, error.message)
                self._stop.wait(self._limits.delay(attempt))
                attempt += 1
        source = self._context.source
        for label, version in self._versions.items():
            kind, _, space = label.partition("/")
            if kind in served:
                self._watches.append(Watch(client, served[kind], space, version, self._objects, self, source))
        self._watches += self._of_unread(client, served)
        self._waiting = {watch.label for watch in self._watches}
        for watch in self._watches:
            self._begin(watch.run, f"dra-lab-watch-{watch.label}")
        self._begin(lambda: self._ask_for_custom(client), "dra-lab-watch-custom")
        return client

    def _ask_for_custom(self, client: ReadingClient) -> None:
        """Read the topology objects of Kueue, KAI and Volcano repeatedly: they change with the machine room."""
        while not self._stop.wait(self._limits.topologies):
            try:
                found, findings = read_custom(client, self._context)
            except DraLabError:
                continue  # the watches say what is wrong
            if self._objects.take_custom(found, [one.subject for one in findings]):
                self.changed()

    def _of_unread(self, client: ReadingClient, served: Mapping[str, Served]) -> Iterator[Watch]:
        """Yield watches of kinds that could not be read: they are listed as soon as that is possible."""
        spaces = sorted({space for _, _, space in (label.partition("/") for label in self._versions) if space})
        for entry in served.values():
            for space in spaces if entry.kind.namespaced and spaces else ("",):
                watch = Watch(client, entry, space, "", self._objects, self, self._context.source)
                if watch.label not in self._versions:
                    self._unread.add(watch.label)
                    yield watch

    def _now_read(self, watch: Watch) -> bool:
        """Say of a kind that could not be read at first that it is here; returns whether that is new."""
        with self._lock:
            if watch.label not in self._unread:
                return False
            self._unread.discard(watch.label)
        self._objects.now_read(watch.served.kind, watch.space)
        return True

    def _report_state(self) -> None:
        if self._troubles:
            self._state(FollowState.LOST, next(iter(self._troubles.values())))
        elif len(self._barred) == len(self._watches):
            words = next(
                (f.message for f in self._barred.values() if f is not None), "there is nothing that dra-lab can follow"
            )
            self._state(FollowState.LOST, words)
        elif not self._waiting:
            self._state(FollowState.LIVE, "")

    def _state(self, state: FollowState, reason: str) -> None:
        with self._lock:
            found = Following(state, reason)
            if found == self.following or (self._stop.is_set() and state is not FollowState.STOPPED):
                return
            self.following = found
        self._on_state()
