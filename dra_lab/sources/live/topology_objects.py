"""Topology objects of Kueue and KAI in a running cluster: most have none, and the right to read them is optional."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dra_lab.errors import Cancelled, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.decoding import from_json
from dra_lab.model.topologies import TOPOLOGY_VERSIONS, Topology
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
    items: tuple[Topology, ...] = ()


def read_topologies(client: ReadingClient, context: Context) -> tuple[tuple[Topology, ...], tuple[Finding, ...]]:
    """Return the Topology objects of both groups, as far as the server has them, and what could not be read of them.

    That a group is not there is normal and nothing to tell. Raises Refusal for credentials that are refused, Cancelled.
    """
    found: list[Topology] = []
    told: list[Finding] = []
    for group, versions in TOPOLOGY_VERSIONS.items():
        try:
            found += _of_group(client, group, versions)
        except Cancelled:
            raise
        except SourceError as error:
            if isinstance(error, Refusal) and error.status == 401:
                raise
            told.append(_not_read(context, group, error))
    return tuple(found), tuple(told)


def _of_group(client: ReadingClient, group: str, versions: tuple[str, ...]) -> list[Topology]:
    try:
        version = _served(client, group, versions)
        if not version:
            return []
        listed = from_json(client.get(f"/apis/{group}/{version}/topologies", attempts=ATTEMPTS), _List)
    except Refusal as error:
        if error.status == 404:
            return []
        raise
    except (msgspec.MsgspecError, RecursionError):
        raise SourceError(f"{client.server} does not answer with a list of topologies.{group}") from None
    return [
        replace(item, metadata=replace(item.metadata, annotations={}), api_version=f"{group}/{version}")
        for item in listed.items
    ]


def _served(client: ReadingClient, group: str, versions: tuple[str, ...]) -> str:
    """Return the newest version that is served and read here, "" for none and for a missing right."""
    try:
        answer = client.get(f"/apis/{group}", attempts=ATTEMPTS)
        served = {entry.version for entry in from_json(answer, _Group).versions}
    except Refusal as error:
        if error.status in (403, 404):
            return ""
        raise
    return next((version for version in versions if version in served), "")


def _not_read(context: Context, group: str, error: SourceError) -> Finding:
    resource, origin = f"topologies.{group}", Origin(context.source)
    if isinstance(error, Refusal) and error.status == 403:
        who = f"the user {context.who!r}" if context.who else "the user"
        asked = f"kubectl auth can-i list {resource}{context.option}"
        advice = f"Ask for the right to list {resource}. To check it: {asked}"
        return Finding(
            "right-missing", Severity.NOTE, resource, f"{who} may not list {resource}: {_LOST}", advice, origin
        )
    message = f"{resource} could not be read: {_LOST}"
    return Finding("kind-not-read", Severity.NOTE, resource, message, error.message, origin)
