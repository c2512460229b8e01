"""Objects of Kueue, KAI and Volcano in a running cluster: most have none, and the right is optional."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.kueue_config import kueue_configuration
from dra_lab.model.custom import CUSTOM_VERSIONS, FILES_ONLY, KUEUE_CONFIG, PLURALS
from dra_lab.model.decoding import from_builtins, from_json
from dra_lab.model.queues import CUSTOM_KINDS, ClusterQueue, Configuration, CustomObject
from dra_lab.model.topologies import TOPOLOGY_KINDS
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.contexts import Context
from dra_lab.sources.live.refusals import Refusal

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


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: tuple[_Version, ...] = ()


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
