"""A watch of one kind of objects: a list, then its events, again and again, whatever the server or the network does."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from dra_lab.errors import Cancelled, ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.typed import convert_dropping_unknown, pattern_of
from dra_lab.manifests.versions import upgrade
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.device import RESOURCE_V1, DeviceAttribute
from dra_lab.model.pods import Pod
from dra_lab.model.slices import ResourceSlice, share_attributes
from dra_lab.sources.live.client import ReadingClient, Refusal, Unreachable, status_of_event
from dra_lab.sources.live.kinds import Kind, Served, discover, not_kubernetes

Key = tuple[str, str]
"""Namespace and name of an object; objects come in this order, as the API server keeps them."""

OnCount = Callable[[int, int], None]
"""Gets how many objects have come, and about how many are still to come."""
MOST_LISTS = 3
"""How often a list is begun in all."""


@dataclass(frozen=True, slots=True)
class ListedObjects:
    """The objects of one kind at one moment: `resource_version` is where a watch goes on from."""

    objects: Mapping[Key, Any]
    resource_version: str
    findings: tuple[Finding, ...] = ()


def key_of(item: Any) -> Key:
    """Return the key of an object."""
    return item.metadata.namespace, item.metadata.name


def wanted(item: Any) -> bool:
    """Say whether an object is kept: all are, but of the pods only those that use claims."""
    return getattr(item, "uses_claims", True)


def list_kind(
    client: ReadingClient, served: Served, namespace: str, source: str, count: OnCount | None = None
) -> ListedObjects:
    """Return all objects of a kind, or those in a namespace ("" for all), as of one moment.

    If the server has dropped the revision (410), the list starts again, in the end in one piece. `source` stands in the
    origins of findings. Raises Refusal, Unreachable, SourceError or Cancelled.
    """
    for limit in (*[client.limits.page] * (MOST_LISTS - 1), 0):
        try:
            return _pages(client, served, served.path(namespace), source, limit, count)
        except Refusal as error:
            if not error.expired or not limit:
                raise
    raise AssertionError


def _pages(
    client: ReadingClient, served: Served, path: str, source: str, limit: int, count: OnCount | None
) -> ListedObjects:
    """Return the objects of a list, read in pages of `limit` objects (0: one page)."""
    objects: dict[Key, Any] = {}
    findings: list[Finding] = []
    seen = 0
    attributes: dict[DeviceAttribute, DeviceAttribute] = {}
    query: dict[str, str | int] = {"limit": limit} if limit else {}
    while True:
        page = _page_of(client.get(path, query), served, client.server, source)
        if served.kind.model is ResourceSlice:
            share_attributes(page.items, attributes)
        kept = [tidy(item) for item in page.items if wanted(item)]
        objects.update((key_of(item), item) for item in kept)
        findings += page.findings
        seen += page.seen
        if count is not None:
            count(seen, page.meta.remaining_item_count)
        if not page.meta.continue_:
            return ListedObjects(objects, page.meta.resource_version, tuple(dict.fromkeys(findings)))
        query = {"limit": limit, "continue": page.meta.continue_}


def tidy(item: Any) -> Any:
    """Return an object without what may be secret (annotations, commands) or changes without meaning (versions)."""
    meta = item.metadata
    if meta.annotations or meta.resource_version or meta.finalizers or meta.generation:
        meta = replace(meta, annotations={}, resource_version="", finalizers=(), generation=0)
        item = replace(item, metadata=meta)
    if isinstance(item, Pod):
        containers, first = (
            tuple(replace(one, command=()) if one.command else one for one in group)
            for group in (item.spec.containers, item.spec.init_containers)
        )
        item = replace(item, spec=replace(item.spec, containers=containers, init_containers=first))
    return item


# ---------------------------------------------------------------- decoding


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int = 0


class _Envelope(msgspec.Struct):
    kind: str
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The readable objects of one answer, how many objects it had, and what is wrong with the others."""

    meta: _ListMeta
    items: list[Any]
    seen: int
    findings: tuple[Finding, ...] = ()


@cache
def _page_type(kind: Kind) -> Any:
    fields = [("kind", str), ("metadata", _ListMeta), ("items", list[kind.model])]  # type: ignore[name-defined]
    return msgspec.defstruct(f"{kind.name}Page", fields)


def _page_of(answer: bytes, served: Served, server: str, source: str) -> Page:
    kind = served.kind
    if _is_v1(served):
        with suppress(msgspec.MsgspecError, RecursionError):
            page = from_json(answer, _page_type(kind))
            if page.kind == f"{kind.name}List":
                return Page(page.metadata, page.items, len(page.items))
    try:
        envelope = from_json(answer, _Envelope)
    except (msgspec.MsgspecError, RecursionError):
        raise not_kubernetes(answer, server) from None
    if envelope.kind != f"{kind.name}List":
        raise not_kubernetes(answer, server)
    items: list[Any] = []
    findings: list[Finding] = []
    for raw in envelope.items or ():
        item, found = decode_item(bytes(raw), served, source)
        items += [item] if item is not None else []
        findings += found
    return Page(envelope.metadata, items, len(envelope.items or ()), tuple(findings))


def _is_v1(served: Served) -> bool:
    return not served.kind.group or served.api_version == RESOURCE_V1


def decode_item(raw: bytes, served: Served, source: str) -> tuple[Any | None, tuple[Finding, ...]]:
    """Return one object of a list or event as a model value, or None, and what is wrong with it.

    An object that cannot be used becomes a Finding and the others are read. Unknown fields are reported and left out.
    """
    kind = served.kind
    try:
        if _is_v1(served):
            return from_json(raw, kind.model), ()
        plain = {**from_json(raw, dict), "kind": kind.name, "apiVersion": served.api_version}
        return from_builtins(upgrade(plain), kind.model), ()
    except (msgspec.MsgspecError, ManifestError, TypeError, RecursionError):
        pass
    try:
        plain = {**from_json(raw, dict), "kind": kind.name, "apiVersion": served.api_version}
        hub = plain if _is_v1(served) else upgrade(plain)
        item, unknown = convert_dropping_unknown(hub, kind.model, Origin(source))
        return item, tuple(_newer(kind, path, source) for path in unknown)
    except (msgspec.MsgspecError, ManifestError, TypeError, RecursionError):
        return _closer_look(raw, kind, served.api_version, source)


def _newer(kind: Kind, path: str, source: str) -> Finding:
    """Return the finding about an unknown field, the same for all objects: a newer server writes it into every one."""
    message = f"the field {pattern_of(path)} of {kind.plural} is unknown, so dra-lab ignores it"
    advice = "Kubernetes or a driver is newer than this dra-lab; a later dra-lab may know the field."
    return Finding("unknown-field", Severity.WARNING, kind.name, message, advice, Origin(source))


def _closer_look(raw: bytes, kind: Kind, api_version: str, source: str) -> tuple[Any | None, tuple[Finding, ...]]:
    head = msgspec.json.encode({"kind": kind.name, "apiVersion": api_version})
    text = raw.strip()
    rest = text[1:].lstrip() if text[:1] == b"{" else b"}"
    whole = head[:-1] + (b"" if rest[:1] == b"}" else b",") + rest
    try:
        found = decode_documents(whole, source)
    except ManifestError as error:
        raise SourceError(f"{source}: an object of kind {kind.name} cannot be read: {error.message}") from None
    objects = found.of(kind.model)
    return objects[0] if objects else None, found.findings


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
