"""Checks that the followed objects are still those of the server: a restored or replaced etcd sends no event."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.model.decoding import decoder
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.kinds import not_kubernetes
from dra_lab.sources.live.objects import LiveObjects
from dra_lab.sources.live.pages import Key
from dra_lab.sources.live.resource_versions import number_of, went_back
from dra_lab.sources.live.watching import Watch

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""Asks for names and versions without specifications; a server that does not know it sends whole objects."""

SHARE = 0.01
"""Part of the time that the lists of all names may take: on a large cluster they come less often."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _Names(msgspec.Struct):
    metadata: _ListMeta
    items: list[_Item] | None = None


_NAMES = decoder(_Names)
Odd = tuple[Key, Any]


class Consistency:
    """Compares the watches of a client with lists, again and again; calls `replaced` when the store is another one.

    Each time, the first object of each kind is listed (`limit=1`): its answer has the server's resource version and
    the number of objects. All names with their versions are listed when that answer is odd, and now and then.
    """

    def __init__(
        self, client: ReadingClient, watches: Sequence[Watch], objects: LiveObjects, replaced: Callable[[Watch], None]
    ) -> None:
        """Prepare; `run` begins."""
        self._client = client
        self._watches = watches
        self._objects = objects
        self._replaced = replaced
        self._soon = threading.Event()
        self._due: dict[str, float] = {}
        self._told: dict[str, frozenset[Odd]] = {}

    def soon(self) -> None:
        """Check now: the server was away, and an etcd is restored while its API server is away."""
        self._soon.set()

    def run(self) -> None:
        """Check until the client is cancelled."""
        while not self._client.cancel.is_set():
            self._soon.wait(self._client.limits.consistency)
            self._soon.clear()
            for watch in self._watches:
                if self._client.cancel.is_set():
                    return
                try:
                    same = not watch.version or self._is_same(watch)
                except Cancelled:
                    return
                except SourceError:
                    continue  # the watch reports what is wrong with the server
                if not same:
                    self._replaced(watch)
                    break

    def _is_same(self, watch: Watch) -> bool:
        last = watch.last
        first = next(self._pages(watch, 1))
        if went_back(first.metadata.resource_version, last):
            return False
        # of the pods only some are kept, and they follow their claims
        if watch.served.kind.name == "Pod" or not watch.is_open:
            return True
        if time.monotonic() < self._due.get(watch.label, 0.0) and self._looks_same(watch, first):
            return True
        begin = time.monotonic()
        listed, version = self._all(watch)
        self._due[watch.label] = time.monotonic() + (time.monotonic() - begin) / SHARE
        return not went_back(version, last) and self._holds(watch, listed, version)

    def _looks_same(self, watch: Watch, first: _Names) -> bool:
        """Say whether the first object and the number of objects are those that are held."""
        held = self._objects.held(watch.served.kind.name, watch.space)
        items = first.items or []
        there = {_key(item): held.get(_key(item)) == item.metadata.uid for item in items}
        return all(there.values()) and len(held) == len(items) + (first.metadata.remaining_item_count or 0)

    def _all(self, watch: Watch) -> tuple[dict[Key, _Meta], str]:
        """Return the metadata of all objects of a kind by key, and the version of the list."""
        listed: dict[Key, _Meta] = {}
        version = ""
        for page in self._pages(watch, self._client.limits.page):
            listed |= {_key(item): item.metadata for item in page.items or ()}
            version = page.metadata.resource_version
        return listed, version

    def _pages(self, watch: Watch, limit: int) -> Iterator[_Names]:
        query: dict[str, str | int] = {"limit": limit}
        while True:
            answer = self._client.get(watch.served.path(watch.space), query, attempts=1, accept=METADATA_ONLY)
            try:
                page = _NAMES.decode(answer)
            except (msgspec.MsgspecError, RecursionError):
                raise not_kubernetes(answer, self._client.server) from None
            yield page
            if not page.metadata.continue_:
                return
            query = {"limit": limit, "continue": page.metadata.continue_}

    def _holds(self, watch: Watch, listed: dict[Key, _Meta], version: str) -> bool:
        """Say whether the watch has what the list has; events on their way get `settle` seconds to come."""
        odd = self._odd(watch, listed, version)
        if odd:
            self._client.cancel.wait(self._client.limits.settle)
            odd &= self._odd(watch, listed, version)
        # what a new list did not change is an object that cannot be read, and no reason for another list
        same = odd <= self._told.get(watch.label, frozenset())
        self._told[watch.label] = odd
        if same:
            # under the keys of the objects that are held, of which there is no second copy then
            held = self._objects.held(watch.served.kind.name, watch.space)
            found = ((key, number_of(listed[key].resource_version)) for key in held if key in listed)
            watch.agreed(version, {key: number for key, number in found if number is not None})
        return same

    def _odd(self, watch: Watch, listed: dict[Key, _Meta], version: str) -> frozenset[Odd]:
        """Return the objects that differ, apart from those that changed after the list."""
        at, base, changes = number_of(version), number_of(watch.base), dict(watch.changes)
        if at is None or base is None or base > at:
            return frozenset()
        held = self._objects.held(watch.served.kind.name, watch.space)
        later = {key for key, changed in changes.items() if changed > at}
        odd: set[Odd] = {(key, "gone") for key in held.keys() - listed.keys() - later}
        for key, meta in listed.items():
            if key in later:
                continue
            if key not in held:
                odd.add((key, "missing"))
            elif held[key] != meta.uid or _differs(number_of(meta.resource_version), changes.get(key), base):
                odd.add((key, meta.resource_version))
        return frozenset(odd)


def _differs(listed: int | None, changed: int | None, base: int) -> bool:
    """Say whether a listed version is not the one that is known, or is after the last list where none is known."""
    if listed is None:
        return False
    return listed > base if changed is None else listed != changed


def _key(item: _Item) -> Key:
    return item.metadata.namespace, item.metadata.name
