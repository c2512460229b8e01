"""A running cluster, followed: watches of all kinds, changes gathered into snapshots, a state that can be shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from dra_lab.errors import DraLabError, InputError, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.queues import ClusterQueue, Configuration, CustomObject, QueueObject
from dra_lab.model.topologies import CUSTOM_RESOURCES, TopologyObject
from dra_lab.sources.live.client import ReadingClient, ReadLimits, Refusal
from dra_lab.sources.live.connection import PREFIX, connect, find_context
from dra_lab.sources.live.kinds import Served, discover, read_custom, refused_credentials, right_missing
from dra_lab.sources.live.watch import Changed, Report, Watch

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
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; nothing is connected to before `start`."""
        if not cluster.name.startswith(PREFIX) or not cluster.resource_versions:
            raise InputError(f"{cluster.name!r} is not a running cluster; load one with context:NAME to follow it")
        self.following = Following(FollowState.CONNECTING)
        self._latest = cluster
        self._findings, self._custom = cluster.findings, (cluster.topologies, cluster.queues)
        self._context = find_context(cluster.name.removeprefix(PREFIX))
        self._on_cluster, self._on_state = on_cluster, on_state
        self._limits, self._gather, self._ready = limits or ReadLimits(), gather, ready
        self._stop, self._change = threading.Event(), threading.Event()
        self._lock = threading.RLock()
        self._watches: list[Watch] = []

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

    # ---------------------------------------------------------------- what watches report

    def _reported(self, watch: Watch, report: Report) -> None:
        with self._lock:
            if report is None:
                self._now_live(watch)
            elif isinstance(report, Refusal) and report.status == 403:
                self._now_barred(watch, report)
            elif isinstance(report, SourceError):
                refused = report if isinstance(report, Refusal) and report.status == 401 else None
                watch.trouble = (refused_credentials(self._context, refused) if refused else report).message
                self._report_state()
            elif isinstance(report, Changed):
                self._take(watch, report)
            else:
                for key in watch.objects.keys() - report.keys():
                    self._take(watch, Changed(key))
                new = {key: item for key, item in report.items() if watch.objects.get(key) != item}
                if new:
                    watch.objects.update(new)
                    watch.dirty = True
                    self._change.set()

    def _take(self, watch: Watch, found: Changed) -> None:
        key, item, findings = found
        about = f"{watch.served.kind.name}/{key[1]}"
        kept = tuple(f for f in self._findings if f.origin is None or f.origin.object != about)
        before, known, self._findings = watch.objects.pop(key, None), watch.findings.pop(key, ()), kept
        if item is not None:
            watch.objects[key] = before if before == item else item
        if findings:
            watch.findings[key] = findings
        watch.dirty = watch.dirty or before != item
        if before != item or known != findings:
            self._change.set()

    def _now_live(self, watch: Watch) -> None:
        allowed = watch.finding is not None
        watch.trouble, watch.waiting, watch.barred, watch.finding = "", False, False, None
        self._report_state()
        if self._now_read(watch) or allowed:
            self._change.set()

    def _now_barred(self, watch: Watch, error: Refusal) -> None:
        kind, verb = watch.served.kind, "watch" if watch.version else "list"
        missing = f"dra-lab does not follow changes of {kind.plural}"
        if watch.version:
            self._now_read(watch)
        # a kind that could not be read at all was reported when the cluster was read
        finding = None if watch.unread else right_missing(self._context, kind, error, watch.space, verb, missing)
        if finding != watch.finding:
            self._change.set()
        watch.trouble, watch.waiting, watch.barred, watch.finding = "", False, True, finding
        self._report_state()

    def _now_read(self, watch: Watch) -> bool:
        """Drop the findings about a kind that could not be read at first; return whether that is new."""
        kind, space = watch.served.kind, watch.space

        def stays(finding: Finding) -> bool:
            unread = finding.rule in ("right-missing", "kind-not-read") and finding.subject == kind.resource
            return not unread or (bool(space) and repr(space) not in finding.message)

        new, watch.unread = watch.unread, False
        if new:
            watch.dirty = True
            self._findings = tuple(filter(stays, self._findings))
        return new

    def _report_state(self) -> None:
        troubles = [watch.trouble for watch in self._watches if watch.trouble]
        if troubles:
            self._state(FollowState.LOST, troubles[0])
        elif all(watch.barred for watch in self._watches):
            words = (watch.finding.message for watch in self._watches if watch.finding is not None)
            self._state(FollowState.LOST, next(words, "there is nothing that dra-lab can follow"))
        elif not any(watch.waiting for watch in self._watches):
            self._state(FollowState.LIVE, "")

    def _state(self, state: FollowState, reason: str) -> None:
        with self._lock:
            found = Following(state, reason)
            if found == self.following or (self._stop.is_set() and state is not FollowState.STOPPED):
                return
            self.following = found
        self._on_state()

    # ---------------------------------------------------------------- threads

    def _begin(self, target: Callable[[], None], name: str) -> None:
        if not self._stop.is_set():
            threading.Thread(target=target, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            client, served = self._connect()
        except DraLabError as error:
            if not self._stop.is_set():
                self._state(FollowState.STOPPED, str(error))
            return
        try:
            self._begin_watches(client, served)
            self._make_snapshots()
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen, and not end the following in silence
            self.stop()
            self._state(FollowState.STOPPED, f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        finally:
            client.close()

    def _connect(self) -> tuple[ReadingClient, tuple[Served, ...]]:
        """Connect and discover, again and again while the server cannot be reached."""
        client: ReadingClient | None = None
        attempt = 0
        while True:
            try:
                client = client or ReadingClient(lambda: connect(self._context), self._limits, self._stop)
                return client, discover(client)
            except SourceError as error:
                if client is None or (isinstance(error, Refusal) and not error.passing):
                    raise
                self._state(FollowState.LOST, error.message)
                self._stop.wait(self._limits.delay(attempt))
                attempt += 1

    def _begin_watches(self, client: ReadingClient, served: tuple[Served, ...]) -> None:
        """Watch every kind; those that could not be read are listed as soon as that is possible."""
        spaces = sorted({space for label in self._latest.resource_versions if (space := label.partition("/")[2])})
        self._watches = [
            Watch(self._latest, client, one, space, self._reported)
            for one in served
            for space in (spaces if one.kind.namespaced and spaces else ("",))
        ]
        for watch in self._watches:
            self._begin(watch.run, f"dra-lab-watch-{watch.label}")
        self._begin(lambda: self._read_custom(client), "dra-lab-watch-custom")

    def _read_custom(self, client: ReadingClient) -> None:
        """Read the topology objects of Kueue, KAI and Volcano repeatedly: they change with the machine room."""
        while not self._stop.wait(self._limits.topologies):
            with suppress(DraLabError):  # the watches say what is wrong
                found, findings = read_custom(client, self._context)
                self._take_custom(found, {one.subject for one in findings})

    def _take_custom(self, found: tuple[CustomObject, ...], unread: Collection[str]) -> None:
        """Take the objects that were read again; `unread` names resources that were not, of which all stays."""
        with self._lock:
            held: tuple[CustomObject, ...] = (*self._custom[0], *self._custom[1])
            gone = {*unread}
            if any(isinstance(one, ClusterQueue) and one.resource in unread for one in held):
                gone |= {one.resource for one in held if isinstance(one, Configuration)}  # it was not asked for
            every = (*(one for one in held if one.resource in gone), *found)
            custom = (
                tuple(one for one in every if isinstance(one, TopologyObject)),
                tuple(one for one in every if isinstance(one, QueueObject)),
            )
            kept = tuple(f for f in self._findings if f.subject not in CUSTOM_RESOURCES or f.subject in unread)
            if custom != self._custom or len(kept) < len(self._findings):
                self._custom, self._findings = custom, kept
                self._change.set()

    def _make_snapshots(self) -> None:
        took = 0.0
        while not self._stop.is_set():
            self._change.wait()
            # Where a snapshot takes long to be looked at, half of the time at least is left to everything else.
            if self._stop.wait(max(self._gather, min(took, LONGEST_PAUSE))):
                return
            # Changes that come until it can be looked at are in the snapshot.
            self._ready()
            if self._stop.is_set():
                return
            begin = time.monotonic()
            self._change.clear()
            self._on_cluster(self._snapshot())
            took = time.monotonic() - begin

    def _snapshot(self) -> Cluster:
        """Return the cluster as it is now; kinds that did not change keep their tuple."""
        with self._lock:
            changes: dict[str, Any] = {}
            for kind in dict.fromkeys(watch.served.kind for watch in self._watches if watch.dirty):
                own = [watch for watch in self._watches if watch.served.kind is kind]
                objects = {key: item for watch in own for key, item in watch.objects.items()}
                changes[kind.field] = tuple(objects[key] for key in sorted(objects))
            for watch in self._watches:
                watch.dirty = False
            of_objects = (f for watch in self._watches for found in watch.findings.values() for f in found)
            barred = (watch.finding for watch in self._watches if watch.finding is not None)
            read = any(watch.served.kind.field == "claims" and not watch.unread for watch in self._watches)
            self._latest = self._latest.with_objects(
                **changes,
                findings=tuple(dict.fromkeys((*self._findings, *of_objects, *barred))),
                read_at=datetime.now().astimezone().isoformat(timespec="seconds"),
                resource_versions={
                    **self._latest.resource_versions,
                    **{watch.label: watch.version for watch in self._watches},
                },
                claims_known=self._latest.claims_known or read,
                topologies=self._custom[0],
                queues=self._custom[1],
            )
            return self._latest
