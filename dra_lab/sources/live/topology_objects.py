"""Topology objects of Kueue, KAI and Volcano in a running cluster: most have none, and the right is optional."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.decoding import from_json
from dra_lab.model.topologies import PLURALS, TOPOLOGY_KINDS, TOPOLOGY_VERSIONS, TopologyObject
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.contexts import Context
from dra_lab.sources.live.refusals import Refusal

ATTEMPTS = 3
"""Fewer than for other kinds, so that an optional kind causes no delay, for example if a webhook of Kueue is away."""

_LOST = "dra-lab does not know whether the cluster's own labels are levels of the network"


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: tuple[_Version, ...] = ()


class _List(msgspec.Struct):
    items: tuple[msgspec.Raw, ...] = ()


def read_topologies(client: ReadingClient, context: Context) -> tuple[tuple[TopologyObject, ...], tuple[Finding, ...]]:
    """Return the topology objects of all groups, as far as the server has them, and what could not be read of them.

    Most servers lack these groups, which is no finding. Raises Refusal for credentials that are refused, Cancelled.
    """
    found: list[TopologyObject] = []
    told: list[Finding] = []
    for group, kinds in TOPOLOGY_VERSIONS.items():
        try:
            served = _served(client, group)
        except SourceError as error:
            _raise_refused(error)
            told += (_not_read(context, f"{PLURALS[kind]}.{group}", error) for kind in kinds)
            continue
        for kind, versions in kinds.items():
            version = next((version for version in versions if version in served), "")
            try:
                found += _listed(client, kind, group, version) if version else ()
            except SourceError as error:
                _raise_refused(error)
                told.append(_not_read(context, f"{PLURALS[kind]}.{group}", error))
    return tuple(found), tuple(told)


def _raise_refused(error: SourceError) -> None:
    if isinstance(error, Refusal) and error.status == 401:
        raise error


def _listed(client: ReadingClient, kind: str, group: str, version: str) -> list[TopologyObject]:
    model = TOPOLOGY_KINDS[kind]
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
    if isinstance(error, Refusal) and error.status == 403:
        who = f"the user {context.who!r}" if context.who else "the user"
        asked = f"kubectl auth can-i list {resource}{context.option}"
        advice = f"Ask for the right to list {resource}. To check it: {asked}"
        return Finding(
            "right-missing", Severity.NOTE, resource, f"{who} may not list {resource}: {_LOST}", advice, origin
        )
    message = f"{resource} could not be read: {_LOST}"
    return Finding("kind-not-read", Severity.NOTE, resource, message, error.message, origin)
