"""The objects of each kind: lists, page by page, and the objects of a cluster that is followed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.typed import convert_dropping_unknown, pattern_of
from dra_lab.manifests.versions import upgrade
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.device import RESOURCE_V1, DeviceAttribute
from dra_lab.model.pods import Pod
from dra_lab.model.queues import ClusterQueue, Configuration, CustomObject, QueueObject
from dra_lab.model.slices import ResourceSlice, share_attributes
from dra_lab.model.topologies import CUSTOM_RESOURCES, TopologyObject
from dra_lab.sources.live.client import ReadingClient, Refusal
from dra_lab.sources.live.kinds import KIND_BY_NAME, KINDS, Kind, Served, not_kubernetes

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


# --------------------------------------------------------------------- the objects of a cluster that is followed


class LiveObjects:
    """Begins with a Cluster and takes changes; calls may come from several threads.

    Objects are shared with the snapshots: a change costs its own object, a snapshot the tuples of the kinds that
    changed.
    """

    def __init__(self, cluster: Cluster) -> None:
        """Begin with the objects of a snapshot."""
        self._latest = cluster
        self._own_findings = cluster.findings
        self._claims_known = cluster.claims_known
        self._lock = threading.Lock()
        self._topologies, self._queues = cluster.topologies, cluster.queues
        self._objects: dict[str, dict[Key, Any]] = {
            kind.name: {key_of(item): item for item in vars(cluster)[kind.field]} for kind in KINDS
        }
        self._order = {kind: dict.fromkeys(sorted(objects)) for kind, objects in self._objects.items()}
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
            changes: dict[str, Any] = {KIND_BY_NAME[kind].field: self._in_order(kind) for kind in self._dirty}
            self._dirty.clear()
            findings = (*self._own_findings, *(f for found in self._findings.values() for f in found), *extra)
            read_at = datetime.now().astimezone().isoformat(timespec="seconds")
            self._latest = self._latest.with_objects(
                **changes,
                findings=tuple(dict.fromkeys(findings)),
                read_at=read_at,
                resource_versions=dict(versions),
                claims_known=self._claims_known,
                topologies=self._topologies,
                queues=self._queues,
            )
            return self._latest

    def _in_order(self, kind: str) -> tuple[Any, ...]:
        """Return the objects of a kind by namespace and name; the lock is held."""
        objects, order = self._objects[kind], self._order[kind]
        if order.keys() != objects.keys():
            # what stays is in order already: sorting takes little more than a look at it
            kept = [key for key in order if key in objects]
            order = self._order[kind] = dict.fromkeys(sorted((*kept, *(key for key in objects if key not in order))))
        return tuple(map(objects.__getitem__, order))

    def _forget(self, kind: str, key: Key) -> None:
        """Drop the findings about an object, here and in the first snapshot; the lock is held."""
        self._findings.pop((kind, key), None)
        name = f"{kind}/{key[1]}"
        if any(f.origin is not None and f.origin.object == name for f in self._own_findings):
            self._own_findings = tuple(f for f in self._own_findings if f.origin is None or f.origin.object != name)
