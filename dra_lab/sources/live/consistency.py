"""Checks that the followed objects are still those of the server: a restored or replaced etcd sends no event."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.model.decoding import decoder
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.live_objects import LiveObjects
from dra_lab.sources.live.pages import Key, each_page, key_of, tidy
from dra_lab.sources.live.resource_kinds import not_kubernetes
from dra_lab.sources.live.watching import Watch, number_of, went_back

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


@dataclass
class _Listing:
    """A list of all objects of a kind: metadata by key, its version, and what is held with other content.

    `whole` says that it is of the objects themselves, without those that cannot be read, and not of all names.
    """

    whole: bool = False
    objects: dict[Key, _Meta] = field(default_factory=dict)
    version: str = ""
    unlike: dict[Key, Any] = field(default_factory=dict)


_NAMES = decoder(_Names)
Odd = tuple[Key, Any]


class Consistency:
    """Compares the watches of a client with lists, again and again; calls `replaced` when the store is another one.

    Each time, the first object of each kind is listed (`limit=1`): its answer has the server's resource version and
    the number of objects. All names with their versions are listed when that answer is odd, and now and then.
    A restored store may give the same objects the same versions again with another content. Only the objects themselves
    show it. They are listed as a whole after `whole` seconds of the limits, and after an
    outage that was long enough for a restore.
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
        self._whole_due: dict[str, float] = {}
        self._reported: dict[str, frozenset[Odd]] = {}

    def soon(self, whole: str = "") -> None:
        """Check now: the server was away, and an etcd is restored while its API server is away.

        `whole` is the label of a watch whose objects themselves are to be compared.
        """
        if whole:
            self._whole_due[whole] = 0.0
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
        begin = time.monotonic()
        whole = begin >= self._whole_due.setdefault(watch.label, begin + self._client.limits.whole)
        if not whole and begin < self._due.get(watch.label, 0.0) and self._looks_same(watch, first):
            return True
        listing = self._objects_of(watch) if whole else self._names_of(watch)
        now = time.monotonic()
        pause = (now - begin) / SHARE
        self._due[watch.label] = now + pause
        if whole:
            self._whole_due[watch.label] = now + max(pause, self._client.limits.whole)
        return not went_back(listing.version, last) and self._holds(watch, listing)

    def _looks_same(self, watch: Watch, first: _Names) -> bool:
        """Say whether the first object and the number of objects are those that are held."""
        held = self._objects.held(watch.served.kind.name, watch.space)
        items = first.items or []
        there = {_key(item): held.get(_key(item)) == item.metadata.uid for item in items}
        return all(there.values()) and len(held) == len(items) + (first.metadata.remaining_item_count or 0)

    def _names_of(self, watch: Watch) -> _Listing:
        """List the metadata of all objects of a kind."""
        listing = _Listing()
        for page in self._pages(watch, self._client.limits.page):
            listing.objects |= {_key(item): item.metadata for item in page.items or ()}
            listing.version = page.metadata.resource_version
        return listing

    def _objects_of(self, watch: Watch) -> _Listing:
        """List all objects of a kind, of which only those that are held otherwise are kept."""
        listing, served, limits = _Listing(whole=True), watch.served, self._client.limits
        path = served.path(watch.space)
        for page in each_page(self._client, served, path, watch.source, limits.page, attempts=1):
            metas = ((key_of(item), item.metadata) for item in page.items)
            listing.objects |= {key: _Meta(*key[::-1], meta.uid, meta.resource_version) for key, meta in metas}
            listing.unlike |= self._objects.unlike(served.kind.name, map(tidy, page.items))
            listing.version = page.meta.resource_version
        return listing

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

    def _holds(self, watch: Watch, listing: _Listing) -> bool:
        """Say whether the watch has what the list has; events on their way get `settle` seconds to come."""
        listed, version = listing.objects, listing.version
        odd = self._odd(watch, listing)
        if odd:
            self._client.cancel.wait(self._client.limits.settle)
            odd &= self._odd(watch, listing)
        # what a new list did not change is an object that cannot be read, and no reason for another list
        earlier = self._reported.get(watch.label, frozenset())
        same = odd <= earlier
        self._reported[watch.label] = odd | earlier if listing.whole else odd
        if same:
            # under the keys of the objects that are held, of which there is no second copy then
            held = self._objects.held(watch.served.kind.name, watch.space)
            found = ((key, number_of(listed[key].resource_version)) for key in held if key in listed)
            watch.agreed(version, {key: number for key, number in found if number is not None})
        return same

    def _odd(self, watch: Watch, listing: _Listing) -> frozenset[Odd]:
        """Return the objects that differ, apart from those that changed after the list."""
        listed, version, kind = listing.objects, listing.version, watch.served.kind.name
        at, base, changes = number_of(version), number_of(watch.base), dict(watch.changes)
        if at is None or base is None or base > at:
            return frozenset()
        held = self._objects.held(kind, watch.space)
        unlike = self._objects.unlike(kind, listing.unlike.values())
        later = {key for key, changed in changes.items() if changed > at}
        odd: set[Odd] = {(key, "gone") for key in held.keys() - listed.keys() - later}
        for key, meta in listed.items():
            if key in later:
                continue
            if key not in held:
                odd.add((key, "missing"))
            elif (
                key in unlike
                or held[key] != meta.uid
                or _differs(number_of(meta.resource_version), changes.get(key), base)
            ):
                odd.add((key, meta.resource_version))
        return frozenset(odd)


def _differs(listed: int | None, changed: int | None, base: int) -> bool:
    """Say whether a listed version is not the one that is known, or is after the last list where none is known."""
    if listed is None:
        return False
    return listed > base if changed is None else listed != changed


def _key(item: _Item) -> Key:
    return item.metadata.namespace, item.metadata.name
