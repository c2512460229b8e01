"""The objects of each kind: lists, page by page, and single objects of a watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.typed import convert_dropping_unknown, pattern_of
from dra_lab.manifests.versions import upgrade
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.device import RESOURCE_V1, DeviceAttribute
from dra_lab.model.pods import Pod
from dra_lab.model.slices import ResourceSlice, share_attributes
from dra_lab.sources.live.client import ReadingClient, Refusal
from dra_lab.sources.live.kinds import Kind, Served, not_kubernetes

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
