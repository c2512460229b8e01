"""DeviceClasses that stand among the manifests that are planned or checked; they come before the cluster's own."""

from __future__ import annotations

from pathlib import Path

from dra_lab.errors import DraLabError
from dra_lab.gitops.folder import Manifests, read_manifests
from dra_lab.index.documented_classes import with_given_classes
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster


def with_classes(cluster: Cluster, manifests: Manifests) -> Cluster:
    """Return the cluster with the DeviceClasses among the manifests, which come before its own of the same name."""
    written: dict[str, DeviceClass] = {}
    for document in manifests.documents:
        if document.kind == "DeviceClass" and is_read("DeviceClass", document.value.get("apiVersion")):
            try:
                value = hub_document(dict(document.value), "DeviceClass")
                written[document.name] = decode_object(value, DeviceClass, document.origin)
            except DraLabError:
                continue  # the API's validation says it
    return with_given_classes(cluster, written.values())


def classes_beside(source: str | Path, cluster: Cluster) -> Cluster:
    """Return the cluster with the DeviceClasses that stand beside a claim in its file or folder."""
    return with_classes(cluster, read_manifests([source])) if Path(source).exists() else cluster
