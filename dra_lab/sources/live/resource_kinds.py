"""What is read of a cluster: the kinds, where the API serves them and in which version, what is lost without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from dra_lab.manifests.versions import GROUP, KIND_VERSIONS
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.decoding import from_json
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of objects: name, model, plural, what is lost without it, group ("" for core), whether namespaced.

    `lost_there` is what is lost without the objects of one namespace.
    """

    name: str
    model: type[Any]
    plural: str
    lost: str
    group: str = GROUP
    namespaced: bool = False
    lost_there: str = ""

    @property
    def resource(self) -> str:
        """Return the resource as `kubectl auth can-i` names it: `resourceslices.resource.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS = (
    Kind("ResourceSlice", ResourceSlice, "resourceslices", "no device of the cluster is known"),
    Kind(
        "DeviceClass",
        DeviceClass,
        "deviceclasses",
        "it is not known which devices a request matches",
    ),
    Kind(
        "ResourceClaim",
        ResourceClaim,
        "resourceclaims",
        "it is not known which devices are in use; all devices look free",
        namespaced=True,
        lost_there="the devices of its claims look free",
    ),
    Kind("Node", Node, "nodes", "labels, taints and kubelet versions of nodes are unknown", ""),
    Kind(
        "DeviceTaintRule",
        DeviceTaintRule,
        "devicetaintrules",
        "the plan ignores taints that rules add to devices",
    ),
    Kind(
        "Pod",
        Pod,
        "pods",
        "the pods that hold claims, and the health of their devices, are unknown",
        "",
        namespaced=True,
        lost_there="its pods that hold claims, and the health of their devices, are unknown",
    ),
)
"""The kinds that are read, the one that everything hangs on first."""

KIND_BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Served:
    """A kind where this server has it: `version` of its group (`v1beta1`) and the path of its list."""

    kind: Kind
    version: str

    @property
    def api_version(self) -> str:
        """Return `apiVersion` of its objects."""
        return f"{self.kind.group}/{self.version}" if self.kind.group else self.version

    def path(self, namespace: str = "") -> str:
        """Return the path of the list of all objects, or of those of a namespace."""
        root = f"/apis/{self.api_version}" if self.kind.group else f"/api/{self.api_version}"
        return f"{root}/namespaces/{namespace}/{self.kind.plural}" if namespace else f"{root}/{self.kind.plural}"


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Version] = []


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


def discover(client: ReadingClient) -> tuple[Served, ...]:
    """Return where the server has each kind: of several versions the newest that is read here.

    Kinds that it does not have are left out. Where discovery itself is forbidden, the lists are asked whether they
    exist. Raises Refusal, Unreachable or SourceError.
    """
    names = _names_by_version(client)
    served = []
    for kind in KINDS:
        versions = KIND_VERSIONS.get(kind.name, ())
        if not kind.group:
            version = "v1"
        elif names is None:
            version = next((v for v in versions if _exists(client, Served(kind, v))), "")
        else:
            version = next((v for v in versions if kind.plural in names.get(v, ())), "")
        if version:
            served.append(Served(kind, version))
    return tuple(served)


def _names_by_version(client: ReadingClient) -> dict[str, frozenset[str]] | None:
    """Return the plurals in each version of the group, none where it is not served; None where that is forbidden."""
    try:
        answer = client.get(f"/apis/{GROUP}")
        there = {entry.version for entry in _decoded(answer, _Group, client.server).versions}
        wanted = {version for kind in KINDS if kind.group for version in KIND_VERSIONS[kind.name]}
        return {version: _plurals(client, version) for version in sorted(there & wanted)}
    except Refusal as error:
        if error.status == 404:
            return {}
        if error.status == 403:
            return None
        raise


def _plurals(client: ReadingClient, version: str) -> frozenset[str]:
    try:
        answer = client.get(f"/apis/{GROUP}/{version}")
    except Refusal as error:
        if error.status == 404:
            return frozenset()
        raise
    return frozenset(entry.name for entry in _decoded(answer, _Resources, client.server).resources)


def _exists(client: ReadingClient, served: Served) -> bool:
    """Say whether a list is there; what may not be listed is refused later, with the right that is missing."""
    try:
        client.get(served.path(), {"limit": 1})
    except Refusal as error:
        if error.status not in (403, 404):
            raise
        return error.status == 403
    return True


def _decoded(answer: bytes, model: type[Any], server: str) -> Any:
    try:
        return from_json(answer, model)
    except (msgspec.MsgspecError, RecursionError):
        raise not_kubernetes(answer, server) from None


def not_kubernetes(answer: bytes, server: str) -> Refusal:
    """Return the refusal of an answer that no API server returns: garbage, a login page, something in between."""
    begin = answer[:60].decode("utf-8", "replace")
    message = f"{server} does not answer like a Kubernetes API server; its answer begins with {begin!r}"
    return Refusal(200, "Garbage", "", f"{message}. Is there a proxy or a login page in between?")
