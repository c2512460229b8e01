"""The kinds that are read of a cluster: where the API serves them, what is lost without them, custom resources."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import kueue_configuration
from dra_lab.manifests.versions import GROUP, KIND_VERSIONS
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.queues import CUSTOM_KINDS, ClusterQueue, Configuration, CustomObject
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import CUSTOM_VERSIONS, FILES_ONLY, KUEUE_CONFIG, PLURALS, TOPOLOGY_KINDS
from dra_lab.sources.live.client import ReadingClient, Refusal
from dra_lab.sources.live.connection import Context


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of objects: name, model, plural, its field in a Cluster, what is lost without it, group ("" for core).

    `lost_there` is what is lost without the objects of one namespace.
    """

    name: str
    model: type[Any]
    plural: str
    field: str
    lost: str
    group: str = GROUP
    namespaced: bool = False
    lost_there: str = ""

    @property
    def resource(self) -> str:
        """Return the resource as `kubectl auth can-i` names it: `resourceslices.resource.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS = (
    Kind("ResourceSlice", ResourceSlice, "resourceslices", "slices", "no device of the cluster is known"),
    Kind("DeviceClass", DeviceClass, "deviceclasses", "classes", "it is not known which devices a request matches"),
    Kind(
        "ResourceClaim",
        ResourceClaim,
        "resourceclaims",
        "claims",
        "it is not known which devices are in use; all devices look free",
        namespaced=True,
        lost_there="the devices of its claims look free",
    ),
    Kind("Node", Node, "nodes", "nodes", "labels, taints and kubelet versions of nodes are unknown", ""),
    Kind(
        "DeviceTaintRule",
        DeviceTaintRule,
        "devicetaintrules",
        "taint_rules",
        "the plan ignores taints that rules add to devices",
    ),
    Kind(
        "Pod",
        Pod,
        "pods",
        "pods",
        "the pods that hold claims, and the health of their devices, are unknown",
        "",
        namespaced=True,
        lost_there="its pods that hold claims, and the health of their devices, are unknown",
    ),
)
"""The kinds that are read, the one that everything hangs on first."""

KIND_BY_NAME = {kind.name: kind for kind in KINDS}

T = TypeVar("T")


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


class _Named(msgspec.Struct):
    version: str = ""
    name: str = ""


class _Group(msgspec.Struct):
    versions: tuple[_Named, ...] = ()


class _Resources(msgspec.Struct):
    resources: tuple[_Named, ...] = ()


def discover(client: ReadingClient) -> tuple[Served, ...]:
    """Return where the server has each kind: of several versions the newest that is read here.

    Kinds that it does not have are left out. Where discovery itself is forbidden, the lists are asked whether they
    exist. Raises Refusal, Unreachable or SourceError.
    """
    try:
        group = _got(client, f"/apis/{GROUP}", _Group, _Group())
    except Refusal as error:
        if error.status != 403:
            raise
        group = None
    names: dict[str, set[str]] = {}
    known = {version for kind in KINDS if kind.group for version in KIND_VERSIONS[kind.name]}
    for version in sorted(known & {one.version for one in group.versions} if group is not None else ()):
        found = _got(client, f"/apis/{GROUP}/{version}", _Resources, _Resources())
        names[version] = {one.name for one in found.resources}
    served = []
    for kind in KINDS:
        for version in KIND_VERSIONS.get(kind.name, ()) if kind.group else ("v1",):
            one = Served(kind, version)
            if not kind.group or (_exists(client, one) if group is None else kind.plural in names.get(version, ())):
                served.append(one)
                break
    return tuple(served)


def _got(client: ReadingClient, path: str, model: type[T], absent: T) -> T:
    """Return an answer of discovery, `absent` for 404."""
    try:
        answer = client.get(path)
    except Refusal as error:
        if error.status == 404:
            return absent
        raise
    try:
        return from_json(answer, model)
    except (msgspec.MsgspecError, RecursionError):
        raise not_kubernetes(answer, client.server) from None


def _exists(client: ReadingClient, served: Served) -> bool:
    """Say whether a list is there; what may not be listed is refused later, with the right that is missing."""
    try:
        client.get(served.path(), {"limit": 1})
    except Refusal as error:
        if error.status not in (403, 404):
            raise
        return error.status == 403
    return True


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


class _List(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] = ()


def read_custom(client: ReadingClient, context: Context) -> tuple[tuple[CustomObject, ...], tuple[Finding, ...]]:
    """Return the objects of all groups, as far as the server has them, and what could not be read of them.

    Most servers lack these groups, which is no finding. Raises Refusal for credentials that are refused, Cancelled.
    """
    found: list[CustomObject] = []
    findings: list[Finding] = []

    def tried(resources: Iterable[str], path: str, what: str, read: Callable[[bytes], T], *missing: int) -> T | None:
        """Return what is read of an answer, None if the server has it not or refuses it."""
        try:
            return read(client.get(path, attempts=ATTEMPTS))
        except Refusal as error:
            if error.status == 401:
                raise
            findings.extend(_not_read(context, one, error) for one in resources if error.status not in missing)
        except (msgspec.MsgspecError, RecursionError):
            broken = SourceError(f"{client.server} does not answer with {what}")
            findings.extend(_not_read(context, one, broken) for one in resources)
        except SourceError as error:
            findings.extend(_not_read(context, one, error) for one in resources)
        return None

    for group, every in CUSTOM_VERSIONS.items():
        kinds = {kind: versions for kind, versions in every.items() if kind not in FILES_ONLY}
        if not kinds:
            continue
        resources = {kind: f"{PLURALS[kind]}.{group}" for kind in kinds}
        read = partial(from_json, kind=_Group)
        served = tried(resources.values(), f"/apis/{group}", f"the versions of {group}", read, 403, 404) or _Group()
        for kind, versions in kinds.items():
            version = next((v for v in versions if v in {one.version for one in served.versions}), "")
            if version:
                path, api_version = f"/apis/{group}/{version}/{PLURALS[kind]}", f"{group}/{version}"
                listed = partial(_listed, model=CUSTOM_KINDS[kind], api_version=api_version)
                found += tried([resources[kind]], path, f"a list of {resources[kind]}", listed, 404) or ()
    if any(isinstance(item, ClusterQueue) for item in found):
        what = "a Configuration of Kueue"
        found += tried([_CONFIGURATION], CONFIG_MAP, what, _configuration, 404) or ()
    return tuple(found), tuple(findings)


def _listed(answer: bytes, model: type[CustomObject], api_version: str) -> list[CustomObject]:
    items = [from_json(item, model) for item in from_json(answer, _List).items]
    return [replace(one, metadata=replace(one.metadata, annotations={}), api_version=api_version) for one in items]


def _configuration(answer: bytes) -> list[Configuration]:
    """Return Kueue's Configuration; none if it is kept elsewhere."""
    value = kueue_configuration(from_json(answer, dict))
    return [from_builtins(value, Configuration)] if value is not None else []


def _not_read(context: Context, resource: str, error: SourceError) -> Finding:
    origin = Origin(context.source)
    plural = resource.partition(".")[0]
    lost = _LOST_BUDGET if plural == PLURALS["PodDisruptionBudget"] else _LOST_QUOTA
    lost = _LOST if plural in {PLURALS[kind] for kind in TOPOLOGY_KINDS} else lost
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


# --------------------------------------------------------------------- what could not be read
# Findings about what could not be read of a running cluster: the right that is missing, what the answer lacks.

_ROLE = "dra-lab-reader"
_USER = re.compile('User "([^"]+)" cannot ')
_RANKS = {"ResourceSlice": Severity.ERROR, "Pod": Severity.NOTE, "DeviceTaintRule": Severity.NOTE}


def can_i(context: Context, kind: Kind, namespace: str = "", verb: str = "list") -> str:
    """Return the command that says whether the context's user has the right to read a kind."""
    where = f" --namespace {namespace}" if namespace else " --all-namespaces" if kind.namespaced else ""
    return f"kubectl auth can-i {verb} {kind.resource}{where}{context.option}"


def right_missing(
    context: Context, kind: Kind, error: Refusal, namespace: str = "", verb: str = "list", lost: str = ""
) -> Finding:
    """Return what a 403 means for the plans made on the cluster; `lost` in place of what is lost without the kind."""
    where = f" in the namespace {namespace!r}" if namespace else ""
    who = f"the user {context.who!r}" if context.who else "the user"
    advice = f"Ask for the right to {verb} {kind.resource}{where}. To check it: {can_i(context, kind, namespace, verb)}"
    if kind.name == "ResourceClaim" and not namespace and verb == "list":
        name = context.namespace or "NAME"
        advice += f". To read one namespace that you may list: --read-namespace {name} (in Python namespaces=)"
    if error.detail:
        advice += f". The server says: {error.detail}"
    rank = _RANKS.get(kind.name, Severity.WARNING)
    if lost and rank is Severity.ERROR:  # the kind itself was read
        rank = Severity.WARNING
    message = f"{who} may not {verb} {kind.resource}{where}: {lost or _lost(kind, namespace)}"
    return Finding("right-missing", rank, kind.resource, message, advice, Origin(context.source))


def rights_missing(context: Context, refused: Mapping[str, Refusal], counts: Mapping[str, int]) -> str:
    """Return a table with a row for each kind, and the command that grants a user the missing rights.

    `refused` has the 403 of each kind that may not be listed, `counts` the number of objects of those that were read.
    """
    kinds = [kind for kind in KINDS if kind.name in refused or kind.name in counts]
    width = max(len(kind.resource) for kind in kinds)
    sentences = {
        kind: f"no      {kind.lost}" if kind.name in refused else f"yes     {counts[kind.name]:,} read"
        for kind in kinds
    }
    rows = [f"  {kind.resource:<{width}}  {words}" for kind, words in sentences.items()]
    found = next((match for error in refused.values() if (match := _USER.search(error.detail))), None)
    who = " ".join((found[1] if found else context.user).split())
    named = f"the user {who!r}" if who else "the user"
    table = (
        f"{context.source}: {named} may read neither ResourceSlices nor Nodes, so there is nothing to plan on.",
        "",
        f"  {'KIND':<{width}}  LIST    WITHOUT IT",
        *rows,
        "",
    )
    other = next((error.detail for error in refused.values() if " cannot list " not in error.detail), "")
    detail = " ".join(other.split())
    if detail:  # another right than those in the table, such as that to act as another user
        return "\n".join((*table, f"The server says: {detail}. To see it:", can_i(context, kinds[0])))
    wanted = ",".join(kind.resource for kind in kinds)
    grant = f"kubectl create clusterrole {_ROLE} --verb=get,list,watch --resource={wanted}"
    bind = f"kubectl create clusterrolebinding {_ROLE} --clusterrole={_ROLE} --user={shlex.quote(who or 'NAME')}"
    advice = "Ask an administrator of the cluster to grant the rights with this command, then load the cluster again:"
    return "\n".join((*table, advice, f"{grant}{context.option} && {bind}{context.option}"))


def _lost(kind: Kind, namespace: str) -> str:
    return kind.lost_there if namespace and kind.lost_there else kind.lost


def not_read(context: Context, kind: Kind, error: SourceError, namespace: str = "") -> Finding:
    """Return what a kind means that could not be read for another reason than a missing right."""
    where = f" of the namespace {namespace!r}" if namespace else ""
    message = f"{kind.plural}{where} could not be read: {_lost(kind, namespace)}"
    advice = f"{error.message}. Read the cluster again when the server works again."
    return Finding("kind-not-read", Severity.WARNING, kind.resource, message, advice, Origin(context.source))


def not_served(context: Context, served: Sequence[Served], release: str) -> tuple[Finding, ...]:
    """Return the finding about an API server without the kinds of DRA; taint rules are optional and may be missing."""
    there = {entry.kind.name for entry in served}
    lacking = [k for k in KINDS if k.group and k.name not in there and k.name != "DeviceTaintRule"]
    if not lacking:
        return ()
    of = f" of Kubernetes {release}" if release else ""
    message = (
        f"the API server{of} does not serve {', '.join(kind.plural for kind in lacking)} in a version that "
        f"dra-lab reads ({GROUP} v1, v1beta2, v1beta1), so there is no Dynamic Resource Allocation to plan for"
    )
    advice = (
        "DRA is on from Kubernetes 1.34. In 1.32 and 1.33, turn it on with the gate DynamicResourceAllocation "
        f"and --runtime-config. To check: kubectl api-resources --api-group {GROUP}{context.option}"
    )
    return (Finding("dra-not-served", Severity.ERROR, GROUP, message, advice, Origin(context.source)),)


def namespaces_only(context: Context, namespaces: Sequence[str]) -> Finding:
    """Return what it means that a person asked for the claims of some namespaces only."""
    names = ", ".join(namespaces)
    message = f"only the ResourceClaims of {names} were read, so devices in use by other namespaces look free"
    advice = "Read the cluster without namespaces to see all devices in use."
    place = Origin(context.source)
    return Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", message, advice, place)


def namespace_empty(context: Context, namespace: str) -> Finding:
    """Return what it means that nothing is in a namespace: the server says the same of one that does not exist."""
    message = (
        f"the namespace {namespace!r} has no ResourceClaims or does not exist; the server gives the same "
        "answer for both"
    )
    advice = f"Check the name: kubectl get namespace {namespace}{context.option}"
    return Finding("namespace-empty", Severity.NOTE, namespace, message, advice, Origin(context.source))


def server_not_verified(context: Context, server: str) -> Finding:
    """Return what insecure-skip-tls-verify means."""
    message = (
        f"the certificate of {server} is not checked (insecure-skip-tls-verify), so another server could "
        "answer in its place"
    )
    advice = "Use certificate-authority-data in the kubeconfig instead."
    return Finding("server-not-verified", Severity.NOTE, server, message, advice, Origin(context.source))


def refused_credentials(context: Context, error: Refusal) -> SourceError:
    """Return the error of a 401: who was refused, and what to do."""
    who = f"of the user {context.who!r} " if context.user else ""
    return SourceError(
        f"{context.source}: the server refuses the credentials {who}(401 {error.detail or 'Unauthorized'}). Log in "
        f"again, then check: kubectl get resourceslices{context.option}"
    )
