"""What objects among the manifests say of the cluster: DeviceClasses come before its own, slices show gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dra_lab.errors import DraLabError
from dra_lab.index.documented_classes import with_given_classes
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import has_lists
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.topologies import TOPOLOGY_KINDS, TopologyObject

if TYPE_CHECKING:
    from dra_lab.gitops.folder import Manifests

K = TypeVar("K", DeviceClass, ResourceSlice, TopologyObject)


def with_classes(cluster: Cluster, manifests: Manifests) -> Cluster:
    """Return the cluster with the DeviceClasses among the manifests, which come before its own of the same name."""
    written = {one.metadata.name: one for one in _given(manifests, DeviceClass)}
    return with_given_classes(cluster, written.values())


def with_topologies(cluster: Cluster, manifests: Manifests) -> Cluster:
    """Return the cluster with the objects among the manifests that say which nodes are close, before its own."""
    given = tuple(found for kind in TOPOLOGY_KINDS.values() for found in _given(manifests, kind))
    names = {(one.resource, one.name) for one in given}
    kept = tuple(one for one in cluster.topologies if (one.resource, one.name) not in names)
    return replace(cluster, topologies=(*kept, *given)) if given else cluster


def shows_lists(manifests: Manifests) -> bool:
    """Say whether a ResourceSlice among the manifests shows a list-typed attribute: then its gate is on."""
    return any(has_lists(device) for one in _given(manifests, ResourceSlice) for device in one.spec.devices or ())


def _given(manifests: Manifests, kind: type[K]) -> Iterator[K]:
    name = kind.__name__
    for document in manifests.documents:
        if document.kind == name and is_read(name, document.value.get("apiVersion")):
            try:
                yield decode_object(hub_document(dict(document.value), name), kind, document.origin)
            except DraLabError:
                continue  # the API's validation says it


def with_own_classes(source: str | Path, cluster: Cluster) -> Cluster:
    """Return the cluster with the DeviceClasses that stand beside a claim in its file or folder."""
    if not Path(source).exists():
        return cluster
    from dra_lab.gitops.folder import read_manifests

    return with_classes(cluster, read_manifests([source]))
