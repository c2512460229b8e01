"""The objects of a cluster that is followed: changed one by one, made into a snapshot on demand."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.queues import ClusterQueue, Configuration, CustomObject, QueueObject
from dra_lab.model.topologies import CUSTOM_RESOURCES, TopologyObject
from dra_lab.sources.live.kinds import KIND_BY_NAME, KINDS, Kind
from dra_lab.sources.live.pages import Key, ListedObjects, key_of, tidy, wanted


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
