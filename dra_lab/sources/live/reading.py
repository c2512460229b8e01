"""A running cluster, read once: every kind as of one moment each, what may not be read as Findings."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from dra_lab.errors import Cancelled, InputError, SourceError, require
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_json
from dra_lab.model.queues import CustomObject, QueueObject
from dra_lab.model.topologies import TopologyObject
from dra_lab.sources.live.client import ReadingClient, ReadLimits, Refusal
from dra_lab.sources.live.connection import Context, connect, find_context
from dra_lab.sources.live.kinds import (
    KIND_BY_NAME,
    KINDS,
    Served,
    discover,
    namespace_empty,
    namespaces_only,
    not_read,
    not_served,
    read_custom,
    refused_credentials,
    right_missing,
    rights_missing,
    server_not_verified,
)
from dra_lab.sources.live.watch import Key, ListedObjects, list_kind


@dataclass(frozen=True, slots=True)
class Read:
    """Objects read so far of one kind; `total` is the server's estimate, never less than `done`."""

    kind: str
    done: int = 0
    total: int = 0


DELAY = 0.5
"""Seconds after which a bar is shown."""

Progress = tuple[Read, ...]
OnProgress = Callable[[Progress], None]


class Tally:
    """Counts what several threads read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._read: dict[str, Read] = {}
        self._lock = threading.Lock()

    def count(self, kind: str, done: int, remaining: int = 0) -> None:
        """Note that `done` objects of a kind are here and about `remaining` are still to come."""
        with self._lock:
            self._read[kind] = Read(kind, done, done + max(0, remaining))

    @property
    def progress(self) -> Progress:
        """Return the counts by kind."""
        with self._lock:
            return tuple(self._read.values())

    def __str__(self) -> str:
        """Return `5,000 Nodes, 1,500 of 15,000 ResourceSlices`, or `nothing`."""
        return ", ".join(_words(read) for read in self.progress if read.done) or "nothing"


def _words(read: Read) -> str:
    of = f" of about {read.total:,}" if read.total > read.done else ""
    plural = "es" if read.kind.endswith("s") else "s"
    return f"{read.done:,}{of} {read.kind}{'' if read.done == 1 and not of else plural}"


@contextmanager
def bar(name: str) -> Iterator[OnProgress]:
    """Show a bar for readings of more than DELAY seconds: in a notebook as its widget, else on standard error.

    It is drawn again at each report of progress, even if no data arrives for a while.
    """
    from tqdm.auto import tqdm

    # None: only where standard error is a terminal. A notebook's bar is a widget and needs none.
    disable = False if "ipykernel" in sys.modules else None
    begin = time.monotonic()
    shown: list[Any] = []

    def update(progress: Progress) -> None:
        done, total = sum(read.done for read in progress), sum(read.total for read in progress)
        if not shown and time.monotonic() - begin > DELAY:
            text = f"reading {name}"
            shown.append(tqdm(desc=text, unit=" objects", leave=False, disable=disable, initial=done, total=total))
        for one in shown:
            one.n, one.total = done, total
            one.refresh()

    try:
        yield update
    finally:
        for one in shown:
            one.close()


THREADS = 4
_NAMESPACE = re.compile("[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")  # a DNS label (RFC 1123), as the API server asks for
_TICK = 0.1


def load_context(
    name: str = "",
    *,
    namespaces: Sequence[str] = (),
    limits: ReadLimits | None = None,
    progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> Cluster:
    """Return the cluster of a kubeconfig context (`prod` or `context:prod`); "" is the current one.

    `namespaces` reads the claims and pods of these only. `progress` is called in this thread about ten times a second
    with the counts so far; without it a bar is shown. `cancel` and an interrupt end the reading, nothing is kept.
    Raises SourceError with what to do next when the cluster cannot be reached, refuses the credentials or dies while
    it is read; InputError for a namespace that cannot be; MissingPackage; Cancelled. What may not be read stands in
    `findings`.
    """
    require("kubernetes", "live")
    namespaces = tuple(dict.fromkeys((namespaces,) if isinstance(namespaces, str) else namespaces))
    for namespace in namespaces:
        if _NAMESPACE.fullmatch(namespace) is None:
            raise InputError(f"{namespace!r} is not a name of a namespace (lower-case letters, digits and -)")
    context, cancel = find_context(name.removeprefix("context:")), cancel or threading.Event()
    client = _connected(context, limits or ReadLimits(), cancel)
    try:
        with bar(context.source) if progress is None else nullcontext(progress) as shown:
            return _Reading(client, context, namespaces, shown, cancel).cluster()
    finally:
        client.cancel.set()  # threads that still wait for an answer end with it
        client.close()


def _connected(context: Context, limits: ReadLimits, cancel: threading.Event) -> ReadingClient:
    """Return the client of a context; comes back at once when it is cancelled, and after the overall time.

    A plug-in of the kubeconfig may wait for a person who logs in, or for ever; its thread ends with it. Raises
    SourceError, Cancelled.
    """
    # not the caller's event: an error sets it too, so that the other threads end
    (made,) = _begun([lambda: ReadingClient(lambda: connect(context), limits, threading.Event())], "dra-lab-connect")
    end = time.monotonic() + limits.overall
    while not wait((made,), _TICK).done:
        if cancel.is_set():
            raise Cancelled(f"connecting to {context.source} was cancelled")
        if time.monotonic() > end:
            raise SourceError(
                f"{context.source}: its credential plug-in did not finish within {limits.overall:g} s; see what it "
                f"waits for: kubectl get nodes{context.option}"
            )
    client: ReadingClient = made.result()
    return client


def _begun(jobs: Iterable[Callable[[], Any]], name: str) -> list[Future[Any]]:
    """Begin jobs, THREADS at a time, in daemon threads; returns their results to come."""
    waiting = deque((Future[Any](), job) for job in jobs)
    futures = [future for future, _ in waiting]

    def run() -> None:
        while waiting:
            with suppress(IndexError):  # another thread took the last one
                future, job = waiting.popleft()
                try:
                    future.set_result(job())
                except BaseException as error:  # noqa: BLE001  raised by who waits
                    future.set_exception(error)

    for _ in range(min(THREADS, len(futures))):
        threading.Thread(target=run, name=name, daemon=True).start()
    return futures


@dataclass
class _Reading:
    """Reads every kind that the server has, several at a time; what may not be read becomes findings."""

    client: ReadingClient
    context: Context
    namespaces: tuple[str, ...]
    progress: OnProgress
    cancel: threading.Event
    tally: Tally = field(default_factory=Tally)
    listed: dict[tuple[str, str], ListedObjects] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, Refusal] = field(default_factory=dict)

    def cluster(self) -> Cluster:
        """Return the snapshot. Raises as `load_context`; `cancel` is never set here."""
        context, client = self.context, self.client
        read_at = datetime.now().astimezone().isoformat(timespec="seconds")
        client.begin()
        try:
            (found,) = self._results([lambda: (discover(client), self._release())])
            served, release = found
            self.findings += not_served(context, served, release)
            if not client.verified:
                self.findings.append(server_not_verified(context, client.server))
            if self.namespaces:
                self.findings.append(namespaces_only(context, self.namespaces))
            custom = self._read_kinds(served)
        except SourceError as error:
            if isinstance(error, Refusal) and error.status == 401:
                raise refused_credentials(context, error) from None
            ended = error.message if error.message.endswith((".", "?", "!")) else f"{error.message}."
            raise SourceError(f"{context.source}: {ended} Read so far: {self.tally}") from None
        for name in self.namespaces:
            lists = [listed for (_, space), listed in self.listed.items() if space == name]
            if lists and not any(listed.objects for listed in lists):
                self.findings.append(namespace_empty(context, name))
        self.findings += (finding for listed in self.listed.values() for finding in listed.findings)
        # what a builder of Kubernetes adds names a product, and nothing depends on it
        return self._made(custom, read_at, re.split(r"[-+]", release)[0])

    def _release(self) -> str:
        try:
            return str(from_json(self.client.get("/version"), dict).get("gitVersion", ""))
        except (SourceError, msgspec.MsgspecError):
            return ""

    def _results(self, jobs: Iterable[Callable[[], Any]]) -> list[Any]:
        """Run jobs and return their results, an error that only concerns its kind as the result."""
        futures = _begun(jobs, "dra-lab-read")
        pending = set(futures)
        while pending:
            if self.cancel.is_set():
                raise Cancelled(f"reading from {self.client.server} was cancelled")
            done, pending = wait(pending, _TICK)
            self.progress(self.tally.progress)
            for error in (future.exception() for future in done):
                # nothing else can be of use after these, so the others need not be waited for
                if error is not None and not isinstance(error, SourceError):
                    raise error
                if isinstance(error, Refusal) and error.status == 401:
                    raise error
        if len(futures) == 1:
            return [futures[0].result()]
        return [future.exception() or future.result() for future in futures]

    def _read_kinds(self, served: Sequence[Served]) -> tuple[CustomObject, ...]:
        """List every kind; returns the objects of Kueue, KAI and Volcano."""
        jobs = [
            (one, space)
            for one in served
            for space in (self.namespaces if self.namespaces and one.kind.namespaced else ("",))
        ]
        source, count = self.context.source, self.tally.count
        lists = [
            partial(list_kind, self.client, *job, source, partial(count, f"{job[0].kind.name} {job[1]}".strip()))
            for job in jobs
        ]
        *results, custom = self._results([*lists, partial(read_custom, self.client, self.context)])
        for (one, space), result in zip(jobs, results, strict=True):
            kind = one.kind
            if isinstance(result, ListedObjects):
                self.listed[kind.name, space] = result
            elif isinstance(result, Refusal) and result.status == 403:
                self.refused[kind.name] = result
                self.findings.append(right_missing(self.context, kind, result, space))
            elif kind.name == "ResourceSlice":
                raise result
            else:
                self.findings.append(not_read(self.context, kind, result, space))
        if isinstance(custom, Exception):
            raise custom
        objects, unread = custom
        self.findings += unread
        found: tuple[CustomObject, ...] = objects
        return found

    def _made(self, custom: tuple[CustomObject, ...], read_at: str, version: str) -> Cluster:
        """Return the Cluster of what was read. Raises SourceError when there is neither a slice nor a node."""
        context, findings = self.context, tuple(self.findings)
        by_field: dict[str, dict[Key, Any]] = {kind.field: {} for kind in KINDS}
        for (name, _), listed in self.listed.items():
            by_field[KIND_BY_NAME[name].field].update(listed.objects)
        # in the API server's order
        parts: dict[str, Any] = {field: tuple(each[key] for key in sorted(each)) for field, each in by_field.items()}
        if not parts["slices"] and not parts["nodes"]:
            if self.refused:
                counts = {name: len(listed.objects) for (name, _), listed in self.listed.items()}
                error = SourceError(rights_missing(context, self.refused, counts))
                error.in_lines = True
                raise error
            found = "; ".join(f"{one.message}. {one.advice}" for one in findings[:10]) or "the cluster has none"
            raise SourceError(f"{context.source}: there are no ResourceSlices and no Nodes to read: {found}")
        return Cluster(
            **parts,
            name=context.source,
            read_at=read_at,
            findings=findings,
            claims_known=any(kind == "ResourceClaim" for kind, _ in self.listed),
            read_as=context.who,
            resource_versions={
                f"{kind}/{space}" if space else kind: listed.resource_version
                for (kind, space), listed in self.listed.items()
            },
            topologies=tuple(item for item in custom if isinstance(item, TopologyObject)),
            queues=tuple(item for item in custom if isinstance(item, QueueObject)),
            server_version=version,
        )
