"""The small file in a snapshot that says what it is: when and from what it was captured, what is missing, places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import cast

import msgspec

from dra_lab.errors import ManifestError
from dra_lab.findings import Finding, Origin, Rule, Severity
from dra_lab.index.not_read import UNREAD
from dra_lab.model.decoding import from_json
from dra_lab.model.nodes import FilePlace, FilePlaces


class KeptPlace(msgspec.Struct, frozen=True, rename="camel"):
    """A place of a device that no slice publishes."""

    driver: str
    device: str
    level: str
    value: str | int
    source: str


class KeptAttribute(msgspec.Struct, frozen=True, rename="camel"):
    """Where an attribute of a slice that was made from files comes from."""

    driver: str
    device: str
    attribute: str
    source: str


class KeptPlaces(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The places of some nodes that share them, sorted."""

    source: str
    nodes: tuple[str, ...]
    places: tuple[KeptPlace, ...] = ()
    made: tuple[KeptAttribute, ...] = ()


def kept_places(file_places: Mapping[str, FilePlaces]) -> tuple[KeptPlaces, ...]:
    """Return the places of a cluster's nodes, each once, by the first of its nodes."""
    nodes: dict[int, list[str]] = defaultdict(list)
    known: dict[int, FilePlaces] = {}
    for node, item in sorted(file_places.items()):
        nodes[id(item)].append(node)
        known[id(item)] = item
    return tuple(_kept(known[key], tuple(names)) for key, names in nodes.items())


def file_places_of(kept: tuple[KeptPlaces, ...]) -> dict[str, FilePlaces]:
    """Return the places by node, as they were captured."""
    found: dict[str, FilePlaces] = {}
    for item in kept:
        places: dict[tuple[str, str], dict[str, FilePlace]] = defaultdict(dict)
        made: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for place in item.places:
            places[place.driver, place.device][place.level] = FilePlace(place.value, place.source)
        for attribute in item.made:
            made[attribute.driver, attribute.device][attribute.attribute] = attribute.source
        found.update(dict.fromkeys(item.nodes, FilePlaces(item.source, dict(places), dict(made))))
    return found


def renamed_places(
    file_places: Mapping[str, FilePlaces], node: Callable[[str], str], device: Callable[[str, str], str]
) -> dict[str, FilePlaces]:
    """Return places under pseudonyms of nodes and devices; the names of the files go."""
    new: dict[int, FilePlaces] = {}
    for item in file_places.values():
        if id(item) not in new:
            new[id(item)] = FilePlaces(
                "file",
                {
                    (driver, device(driver, name)): {k: FilePlace(p.value, "file") for k, p in places.items()}
                    for (driver, name), places in item.places.items()
                },
            )
    return {node(name): new[id(item)] for name, item in file_places.items()}


def _kept(item: FilePlaces, nodes: tuple[str, ...]) -> KeptPlaces:
    places = tuple(
        KeptPlace(driver, device, level, place.value, place.source)
        for (driver, device), levels in sorted(item.places.items())
        for level, place in sorted(levels.items())
    )
    made = tuple(
        KeptAttribute(driver, device, attribute, source)
        for (driver, device), attributes in sorted(item.made.items())
        for attribute, source in sorted(attributes.items())
    )
    return KeptPlaces(item.source, nodes, places, made)


FILE = "snapshot.json"
KIND = "ClusterSnapshot"
FORMAT_VERSION = 1
OLD_DAYS = 30
"""Days after which a snapshot is reported as old."""


class NotedFinding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A finding of the capture; the text is empty where it could name what was replaced."""

    rule: str
    severity: str
    subject: str = ""
    message: str = ""
    advice: str = ""


class SnapshotInfo(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a snapshot says of itself.

    `format_version` counts the layout of the folder and belongs to no tool's release. `captured_at` is the ISO time at
    which the cluster was read, "" if that is not known (a shipped sample). `source` is the context, the file's name or
    the sample. `counts` has a number for each kind. `left_out` and `replaced` count what did not leave. `file_places`
    is what a topology file contained in addition to the slices. `server_version` is that of the API server.
    """

    kind: str = KIND
    format_version: int = FORMAT_VERSION
    captured_at: str = ""
    source: str = ""
    anonymised: bool = False
    claims_known: bool = True
    counts: dict[str, int] = {}
    left_out: dict[str, int] = {}
    replaced: dict[str, int] = {}
    findings: tuple[NotedFinding, ...] = ()
    file_places: tuple[KeptPlaces, ...] = ()
    server_version: str = ""


class _Head(msgspec.Struct, rename="camel"):
    kind: str = ""
    format_version: int = 0


def decode_info(data: bytes, source: str) -> SnapshotInfo | None:
    """Return what a `snapshot.json` says, None where the file is something else of that name.

    Raises ManifestError for a snapshot of a later format, and for a broken one.
    """
    try:
        head = from_json(data, _Head)
    except (msgspec.MsgspecError, RecursionError):
        if KIND.encode() in data[:4096]:
            raise ManifestError("the description of the snapshot is broken", origin=Origin(source)) from None
        return None
    if head.kind != KIND:
        return None
    if head.format_version != FORMAT_VERSION:
        text = f"the snapshot has format version {head.format_version}, and this dra-lab reads {FORMAT_VERSION}"
        raise ManifestError(f"{text}; capture the cluster again, or use a later dra-lab", origin=Origin(source))
    try:
        info = from_json(data, SnapshotInfo)
        if info.captured_at:
            datetime.fromisoformat(info.captured_at)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ManifestError(f"the description of the snapshot is broken: {error}", origin=Origin(source)) from None
    return info


def encode_info(info: SnapshotInfo) -> bytes:
    """Return the text of a `snapshot.json`, the same for equal values."""
    return msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n"


def noted(findings: tuple[Finding, ...], *, anonymised: bool) -> tuple[NotedFinding, ...]:
    """Return a reader's findings as they are kept; of an anonymised snapshot only what was the matter, not where.

    A kind that could not be read keeps its name, which is one of the API's: without it nothing is known to fit.
    """
    if anonymised:
        kept = (NotedFinding(f.rule, f.severity.value, f.subject if f.rule in UNREAD else "") for f in findings)
        return tuple(dict.fromkeys(kept))
    return tuple(NotedFinding(f.rule, f.severity.value, f.subject, f.message, f.advice) for f in findings)


def findings_of(info: SnapshotInfo, name: str) -> tuple[Finding, ...]:
    """Return what was noticed when a snapshot was captured, and that names were replaced in it."""
    found = []
    for note in info.findings:
        known = note.severity in Severity.__members__.values()
        severity = Severity(note.severity) if known else Severity.NOTE
        message = (
            note.message or f"noticed when this was captured: {note.rule}; its text was removed together with the names"
        )
        where = Origin(name, object=FILE)
        # the dra-lab that captured it may have other rules
        found.append(Finding(cast("Rule", note.rule), severity, note.subject or name, message, note.advice, where))
    if info.anonymised:
        message = "names and identifiers were replaced when this snapshot was captured"
        found.append(Finding("snapshot-anonymised", Severity.NOTE, name, message, "Its node names are pseudonyms."))
    return tuple(found)


def check_age(read_at: str, name: str, now: datetime) -> tuple[Finding, ...]:
    """Return a finding where a cluster was read, or its file was last changed, more than OLD_DAYS days ago."""
    if not read_at:
        return ()
    moment = datetime.fromisoformat(read_at)
    days = (now - (moment if moment.tzinfo else moment.astimezone())).days
    if days <= OLD_DAYS:
        return ()
    message = f"the cluster was read on {read_at[:10]}, {days:,} days ago; the free devices may have changed since"
    return (Finding("snapshot-old", Severity.WARNING, name, message, "Capture the cluster again: dra-lab capture."),)
