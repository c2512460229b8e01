"""A running cluster, read once: every kind as of one moment each, what may not be read as Findings."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
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
from dra_lab.sources.live.client import ReadingClient, ReadLimits
from dra_lab.sources.live.connection import connect
from dra_lab.sources.live.kinds import KINDS, Served, discover, read_custom
from dra_lab.sources.live.kubeconfig import Context, find_context
from dra_lab.sources.live.missing import (
    namespace_empty,
    namespaces_only,
    not_read,
    not_served,
    refused_credentials,
    right_missing,
    rights_missing,
    server_not_verified,
)
from dra_lab.sources.live.pages import Key, ListedObjects, list_kind
from dra_lab.sources.live.refusals import Refusal


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


@dataclass
class Reading:
    """The objects that were read, and the kinds that could not be: enough to make a Cluster and to follow it."""

    context: Context
    namespaces: tuple[str, ...] = ()
    served: tuple[Served, ...] = ()
    listed: dict[tuple[str, str], ListedObjects] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, Refusal] = field(default_factory=dict)
    custom: tuple[CustomObject, ...] = ()
    read_at: str = ""
    server_version: str = ""

    def objects(self, kind: str) -> dict[Key, Any]:
        """Return the objects of a kind, of all namespaces that were read, in the API server's order."""
        found: dict[Key, Any] = {}
        for (name, _), listed in self.listed.items():
            if name == kind:
                found.update(listed.objects)
        return dict(sorted(found.items()))

    def spaces(self, served: Served) -> tuple[str, ...]:
        """Return the namespaces in which a kind is listed; "" alone for all of them."""
        return self.namespaces if self.namespaces and served.kind.namespaced else ("",)

    def is_empty(self, namespace: str) -> bool:
        """Say whether a namespace was read and there is neither a claim nor a pod with claims in it."""
        found = [listed for (_, space), listed in self.listed.items() if space == namespace]
        return bool(found) and not any(listed.objects for listed in found)

    def cluster(self) -> Cluster:
        """Return the snapshot. Raises SourceError when neither slices nor nodes could be read."""
        parts = {kind.name: tuple(self.objects(kind.name).values()) for kind in KINDS}
        return cluster_of(self, parts)


def cluster_of(reading: Reading, parts: dict[str, tuple[Any, ...]]) -> Cluster:
    """Return the Cluster of objects by kind. Raises SourceError when there is neither a slice nor a node."""
    context = reading.context
    findings = (*reading.findings, *(f for listed in reading.listed.values() for f in listed.findings))
    if not parts["ResourceSlice"] and not parts["Node"]:
        if reading.refused:
            counts = {name: len(listed.objects) for (name, _), listed in reading.listed.items()}
            error = SourceError(rights_missing(context, reading.refused, counts))
            error.in_lines = True
            raise error
        found = "; ".join(f"{finding.message}. {finding.advice}" for finding in findings[:10]) or "the cluster has none"
        raise SourceError(f"{context.source}: there are no ResourceSlices and no Nodes to read: {found}")
    return Cluster(
        parts["ResourceSlice"],
        parts["DeviceClass"],
        parts["Node"],
        parts["ResourceClaim"],
        parts["DeviceTaintRule"],
        context.source,
        reading.read_at,
        findings,
        any(kind == "ResourceClaim" for kind, _ in reading.listed),
        parts["Pod"],
        read_as=context.who,
        resource_versions={
            f"{kind}/{space}" if space else kind: found.resource_version
            for (kind, space), found in reading.listed.items()
        },
        topologies=tuple(item for item in reading.custom if isinstance(item, TopologyObject)),
        queues=tuple(item for item in reading.custom if isinstance(item, QueueObject)),
        server_version=reading.server_version,
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """What is counted, who hears of it, and whether it is still wanted."""

    tally: Tally
    progress: OnProgress | None
    cancel: threading.Event


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
    context = find_context(name.removeprefix("context:"))
    client = connected(context, limits or ReadLimits(), cancel or threading.Event())
    try:
        if progress is not None:
            return read_all(client, context, namespaces, progress, cancel).cluster()
        with bar(context.source) as shown:
            return read_all(client, context, namespaces, shown, cancel).cluster()
    finally:
        client.cancel.set()  # threads that still wait for an answer end with it
        client.close()


def read_all(
    client: ReadingClient,
    context: Context,
    namespaces: Sequence[str] = (),
    progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> Reading:
    """Read every kind that the server has, several at a time. Raises as `load_context`; `cancel` is never set here."""
    watched = _Watched(Tally(), progress, cancel or threading.Event())
    client.begin()
    reading = Reading(context, tuple(namespaces), read_at=datetime.now().astimezone().isoformat(timespec="seconds"))
    tally = watched.tally
    try:
        (found,) = _begun([lambda: (discover(client), _release(client))])
        _wait(client, (found,), watched)
        reading.served, release = found.result()
        # what a builder of Kubernetes adds names a product, and nothing depends on it
        reading.server_version = re.split(r"[-+]", release)[0]
        reading.findings += not_served(context, reading.served, release)
        if not client.verified:
            reading.findings.append(server_not_verified(context, client.server))
        if namespaces:
            reading.findings.append(namespaces_only(context, namespaces))
        _read_kinds(client, reading, watched)
    except Refusal as error:
        if error.status == 401:
            raise refused_credentials(context, error) from None
        raise SourceError(f"{context.source}: {_ended(error.message)} Read so far: {tally}") from None
    except Cancelled:
        raise
    except SourceError as error:
        raise SourceError(f"{context.source}: {_ended(error.message)} Read so far: {tally}") from None
    reading.findings += (namespace_empty(context, name) for name in namespaces if reading.is_empty(name))
    return reading


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _release(client: ReadingClient) -> str:
    """Return the server's release for messages, or ""."""
    try:
        return str(from_json(client.get("/version"), dict).get("gitVersion", ""))
    except (SourceError, msgspec.MsgspecError):
        return ""


def _read_kinds(client: ReadingClient, reading: Reading, watched: _Watched) -> None:
    jobs = [(served, space) for served in reading.served for space in reading.spaces(served)]
    lists = [partial(_list, client, reading, job, watched.tally) for job in jobs]
    *futures, levels = _begun([*lists, partial(read_custom, client, reading.context)])
    _wait(client, (*futures, levels), watched)
    for future, (served, space) in zip(futures, jobs, strict=True):
        _take(reading, served, space, future)
    reading.custom, unread = levels.result()
    reading.findings += unread


def _begun(jobs: Iterable[Callable[[], Any]]) -> list[Future[Any]]:
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
        threading.Thread(target=run, name="dra-lab-read", daemon=True).start()
    return futures


def _list(client: ReadingClient, reading: Reading, job: tuple[Served, str], tally: Tally) -> ListedObjects:
    served, space = job
    label = f"{served.kind.name} {space}".strip()
    return list_kind(client, served, space, lambda done, more: tally.count(label, done, more), reading.context.source)


def _wait(client: ReadingClient, futures: Iterable[Future[Any]], watched: _Watched) -> None:
    pending = set(futures)
    while pending:
        if watched.cancel.is_set():
            raise Cancelled(f"reading from {client.server} was cancelled")
        done, pending = wait(pending, _TICK)
        if watched.progress is not None:
            watched.progress(watched.tally.progress)
        for future in done:
            error = future.exception()
            # nothing else can be of use after these, so the others need not be waited for
            if isinstance(error, Cancelled) or (isinstance(error, Refusal) and error.status == 401):
                raise error


def _take(reading: Reading, served: Served, space: str, future: Future[ListedObjects]) -> None:
    kind = served.kind
    try:
        reading.listed[kind.name, space] = future.result()
    except Refusal as error:
        if error.status == 403:
            reading.refused[kind.name] = error
            reading.findings.append(right_missing(reading.context, kind, error, space))
        elif kind.name == "ResourceSlice":
            raise
        else:
            reading.findings.append(not_read(reading.context, kind, error, space))
    except Cancelled:
        raise
    except SourceError as error:
        if kind.name == "ResourceSlice":
            raise
        reading.findings.append(not_read(reading.context, kind, error, space))


def connected(context: Context, limits: ReadLimits, cancel: threading.Event) -> ReadingClient:
    """Return the client of a context; comes back at once when it is cancelled, and after the overall time.

    A plug-in of the kubeconfig may wait for a person who logs in, or for ever; its thread ends with it. Raises
    SourceError, Cancelled.
    """
    made: Future[ReadingClient] = Future()

    def run() -> None:
        try:
            # not the caller's event: an error sets it too, so that the other threads end
            made.set_result(ReadingClient(lambda: connect(context), limits, threading.Event()))
        except BaseException as error:  # noqa: BLE001  raised by who waits
            made.set_exception(error)

    threading.Thread(target=run, name="dra-lab-connect", daemon=True).start()
    end = time.monotonic() + limits.overall
    while not wait((made,), _TICK).done:
        if cancel.is_set():
            raise Cancelled(f"connecting to {context.source} was cancelled")
        if time.monotonic() > end:
            raise SourceError(
                f"{context.source}: its credential plug-in did not finish within {limits.overall:g} s; see what it "
                f"waits for: kubectl get nodes{context.option}"
            )
    return made.result()
