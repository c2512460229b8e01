"""The kinds that are read of a cluster: where the API serves them, what is lost without them, custom resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.kueue_config import kueue_configuration
from dra_lab.manifests.versions import GROUP, KIND_VERSIONS
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.queues import CUSTOM_KINDS, ClusterQueue, Configuration, CustomObject
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import CUSTOM_VERSIONS, FILES_ONLY, KUEUE_CONFIG, PLURALS, TOPOLOGY_KINDS
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.kubeconfig import Context
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


ATTEMPTS = 3
"""Fewer than for other kinds, so that an optional kind causes no delay, for example if a webhook of Kueue is away."""

CONFIG_MAP = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
"""Where an installation of Kueue keeps its Configuration."""

_CONFIGURATION = f"{PLURALS['Configuration']}.{KUEUE_CONFIG}"
_LOST = "dra-lab does not know whether the cluster's own labels are levels of the network"
_LOST_BUDGET = "dra-lab does not know how many pods may be evicted"
_LOST_QUOTA = "dra-lab does not know whether a quota of Kueue stops a gang"

_BUDGETS = PLURALS["PodDisruptionBudget"]
_LEVELS = tuple(PLURALS[kind] for kind in TOPOLOGY_KINDS)


class _List(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] = ()


def read_custom(client: ReadingClient, context: Context) -> tuple[tuple[CustomObject, ...], tuple[Finding, ...]]:
    """Return the objects of all groups, as far as the server has them, and what could not be read of them.

    Most servers lack these groups, which is no finding. Raises Refusal for credentials that are refused, Cancelled.
    """
    found: list[CustomObject] = []
    findings: list[Finding] = []
    for group, every in CUSTOM_VERSIONS.items():
        kinds = {kind: versions for kind, versions in every.items() if kind not in FILES_ONLY}
        if not kinds:
            continue
        try:
            served = _served(client, group)
        except SourceError as error:
            _raise_refused(error)
            findings += (_not_read(context, f"{PLURALS[kind]}.{group}", error) for kind in kinds)
            continue
        for kind, versions in kinds.items():
            version = next((version for version in versions if version in served), "")
            try:
                found += _listed(client, kind, group, version) if version else ()
            except SourceError as error:
                _raise_refused(error)
                findings.append(_not_read(context, f"{PLURALS[kind]}.{group}", error))
    if any(isinstance(item, ClusterQueue) for item in found):
        try:
            found += _configuration(client)
        except SourceError as error:
            _raise_refused(error)
            findings.append(_not_read(context, _CONFIGURATION, error))
    return tuple(found), tuple(findings)


def _configuration(client: ReadingClient) -> list[Configuration]:
    """Return Kueue's Configuration; none if it is kept elsewhere."""
    try:
        value = kueue_configuration(from_json(client.get(CONFIG_MAP, attempts=ATTEMPTS), dict))
        return [from_builtins(value, Configuration)] if value is not None else []
    except Refusal as error:
        if error.status == 404:
            return []
        raise
    except (msgspec.MsgspecError, RecursionError):
        raise SourceError(f"{client.server} does not answer with a Configuration of Kueue") from None


def _raise_refused(error: SourceError) -> None:
    if isinstance(error, Refusal) and error.status == 401:
        raise error


def _listed(client: ReadingClient, kind: str, group: str, version: str) -> list[CustomObject]:
    model = CUSTOM_KINDS[kind]
    try:
        listed = from_json(client.get(f"/apis/{group}/{version}/{PLURALS[kind]}", attempts=ATTEMPTS), _List)
        items = [from_json(item, model) for item in listed.items]
    except Refusal as error:
        if error.status == 404:
            return []
        raise
    except (msgspec.MsgspecError, RecursionError):
        raise SourceError(f"{client.server} does not answer with a list of {PLURALS[kind]}.{group}") from None
    return [
        replace(item, metadata=replace(item.metadata, annotations={}), api_version=f"{group}/{version}")
        for item in items
    ]


def _served(client: ReadingClient, group: str) -> set[str]:
    """Return the versions of a group that are served; none without the group or the right to ask."""
    try:
        answer = client.get(f"/apis/{group}", attempts=ATTEMPTS)
        return {entry.version for entry in from_json(answer, _Group).versions}
    except Refusal as error:
        if error.status in (403, 404):
            return set()
        raise
    except (msgspec.MsgspecError, RecursionError):
        raise SourceError(f"{client.server} does not answer with the versions of {group}") from None


def _not_read(context: Context, resource: str, error: SourceError) -> Finding:
    origin = Origin(context.source)
    plural = resource.partition(".")[0]
    lost = _LOST if plural in _LEVELS else _LOST_BUDGET if plural == _BUDGETS else _LOST_QUOTA
    if isinstance(error, Refusal) and error.status == 403:
        who = f"the user {context.who!r}" if context.who else "the user"
        right = f"list {resource}"
        if resource == _CONFIGURATION:
            right = "get configmaps/kueue-manager-config --namespace kueue-system"
        advice = f"Ask for the right. To check it: kubectl auth can-i {right}{context.option}"
        message = f"{who} may not {right.partition(' --')[0]}: {lost}"
        return Finding("right-missing", Severity.NOTE, resource, message, advice, origin)
    message = f"{resource} could not be read: {lost}"
    return Finding("kind-not-read", Severity.NOTE, resource, message, error.message, origin)
