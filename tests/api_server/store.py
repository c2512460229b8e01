"""Objects with resource versions, the history of their changes, and what lists of an earlier moment look like."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dra_lab.manifests.versions import downgrade

GROUP = "resource.k8s.io"
KINDS = {
    "nodes": ("Node", "v1", False),
    "pods": ("Pod", "v1", True),
    "events": ("Event", "v1", True),
    "resourceslices": ("ResourceSlice", f"{GROUP}/v1", False),
    "deviceclasses": ("DeviceClass", f"{GROUP}/v1", False),
    "resourceclaims": ("ResourceClaim", f"{GROUP}/v1", True),
    "resourceclaimtemplates": ("ResourceClaimTemplate", f"{GROUP}/v1", True),
    "devicetaintrules": ("DeviceTaintRule", f"{GROUP}/v1", False),
}
"""Plural to kind, the version of stored documents, and whether it is namespaced."""

PLURALS = {kind: plural for plural, (kind, _, _) in KINDS.items()}


class Expired(Exception):
    """The history does not go back that far."""


@dataclass(frozen=True)
class Event:
    """One change."""

    version: int
    type: str
    plural: str
    namespace: str
    body: bytes


@dataclass
class Store:
    """All objects, by plural and key; every change gets the next resource version."""

    version: int = 100
    oldest: int = 0
    objects: dict[str, dict[tuple[str, str], bytes]] = field(default_factory=lambda: defaultdict(dict))
    history: list[Event] = field(default_factory=list)
    moments: dict[tuple[str, str, int], list[tuple[tuple[str, str], bytes]]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, document: dict[str, Any]) -> None:
        """Add or replace an object; its metadata gets the new resource version."""
        plural = PLURALS[document["kind"]]
        meta = document["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        with self.changed:
            self.version += 1
            bare = {name: value for name, value in document.items() if name not in ("kind", "apiVersion")}
            body = msgspec.json.encode({**bare, "metadata": {**meta, "resourceVersion": str(self.version)}})
            type_ = "MODIFIED" if key in self.objects[plural] else "ADDED"
            self.objects[plural][key] = body
            self._notify(Event(self.version, type_, plural, key[0], body))

    def delete(self, plural: str, name: str, namespace: str = "") -> None:
        """Remove an object."""
        with self.changed:
            self.version += 1
            body = self.objects[plural].pop((namespace, name))
            self._notify(Event(self.version, "DELETED", plural, namespace, body))

    def compact(self) -> None:
        """Forget everything but the present: older lists cannot be continued, older watches not resumed."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.history.clear()
            self.moments.clear()

    def moment(self, plural: str, namespace: str, version: int | None) -> tuple[int, list[Any]]:
        """Return the version and the sorted objects of a list, now or as it was at `version`."""
        with self.changed:
            if version is not None:
                found = self.moments.get((plural, namespace, version))
                if found is None:
                    raise Expired
                return version, found
            items = sorted(self.objects[plural].items())
            if namespace:
                items = [(key, body) for key, body in items if key[0] == namespace]
            return self.version, items

    def remember(self, plural: str, namespace: str, version: int, items: list[Any]) -> None:
        """Keep a list for its next pages."""
        with self.changed:
            if version >= self.oldest:
                self.moments[plural, namespace, version] = items

    def after(self, plural: str, namespace: str, version: int) -> list[Event]:
        """Return the changes after a version, in order."""
        if version < self.oldest:
            raise Expired
        first = bisect_right(self.history, version, key=lambda event: event.version)
        found = self.history[first:]
        return [event for event in found if event.plural == plural and namespace in ("", event.namespace)]

    def _notify(self, event: Event) -> None:
        self.history.append(event)
        self.changed.notify_all()


def in_version(body: bytes, kind: str, version: str) -> bytes:
    """Return a stored object as another version of its API has it."""
    if version == "v1":
        return body
    whole = {**msgspec.json.decode(body), "kind": kind, "apiVersion": f"{GROUP}/v1"}
    found = downgrade(whole, version)
    return msgspec.json.encode({k: v for k, v in found.items() if k not in ("kind", "apiVersion")})
