"""What a session knows, as the rows that `ClaimCanvas` shows: palette, states of requests, places of links."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec

from dra_lab.errors import DraLabError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.names import MARK, split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, claims_of
from dra_lab.session import Session
from dra_lab.sketch.kind_counts import free_words, left_words, partition_words
from dra_lab.sketch.links import LinkOption, link_options
from dra_lab.sketch.object_names import claim_objects
from dra_lab.widgets.part_rows import ConfigRow, PartRow, config_rows, missing_fields, part_rows, without_text
from dra_lab.widgets.session_view import Row, latest_plan

if TYPE_CHECKING:
    from dra_lab.sketch.compile import CompiledClaim
    from dra_lab.sketch.request_status import RequestStatus


class PaletteRow(Row, frozen=True):
    """One thing that can be dragged onto the canvas.

    `kind` is gpu, nic, cpu, memory or other; `selectors` are CEL texts; where `capacity_key` is given the devices are
    shared by amount and the box's stepper changes `default_capacity` instead of `default_count`. `use` is a text: how
    many are free of how many, and whether the class is missing. `chip` is only the first number, "" if `use` is to be
    shown. `in_cluster` is False for a documented class that the cluster does not have.
    """

    key: str
    label: str
    device_class: str
    kind: str = "other"
    selectors: tuple[str, ...] = ()
    capacity_key: str = ""
    default_count: int = 1
    default_capacity: str = ""
    use: str = ""
    chip: str = ""
    in_cluster: bool = True
    note: str = ""


class RequestRow(Row, frozen=True):
    """What is known of a drawn request: its letter and colours in every picture, and which devices match it.

    `label` is the model of the devices if they have one, `text` the sentence under it ("12 of 64 match; 3 lack the
    attribute"), and `error` the selector's message. `matching_ids` are at most 200 device ids, printed
    `driver/pool/device`, for lighting up. `field` is where it stands in the claim ("devices.requests[0]"), `note` what
    a release or the cluster cannot do of it.
    """

    letter: str = ""
    colour: str = ""
    text_colour: str = ""
    kind: str = "other"
    label: str = ""
    matching: int = 0
    total: int = 0
    text: str = ""
    error: str = ""
    matching_ids: tuple[str, ...] = ()
    field: str = ""
    note: str = ""
    parts: tuple[PartRow, ...] = ()


class LinkRow(Row, frozen=True):
    """What is known of a drawn link: what is wrong, what else is worth saying, where it could hold.

    `field` is what it writes into the claim ("matchAttribute: resource.kubernetes.io/pcieRoot, one per pair").
    """

    field: str = ""
    problem: str = ""
    note: str = ""
    options: tuple[LinkOption, ...] = ()


class ClaimRow(Row, frozen=True):
    """The form of a claim of a pod: the field with its name, and the name of its template."""

    field: str
    template: str


class ProblemRow(Row, frozen=True):
    """A request or link (`kind`) that is part of the cause why the claim fits nowhere, and that cause in a sentence."""

    kind: str
    name: str
    text: str


class CanvasStatus(Row, frozen=True):
    """The state of every request and link by name.

    `pairs` is optional: the places at which two requests that are not linked yet could be, by their names sorted and
    joined with "|". A new link starts at the first enabled one. `counting`: the devices of a large cluster are still
    being counted, so that an empty palette says nothing yet. `claims` are those of a pod with several. `config` are
    the entries of the sketch's `config`; `gates` maps a field of the API that the target release does not have to the
    reason in words.
    """

    requests: dict[str, RequestRow] = {}
    links: dict[str, LinkRow] = {}
    pairs: dict[str, tuple[LinkOption, ...]] = {}
    counting: bool = False
    claims: dict[str, ClaimRow] = {}
    config: tuple[ConfigRow, ...] = ()
    gates: dict[str, str] = {}


MAX_MATCHING_IDS = 200
"""The most devices of a request that the browser gets to light up; more would only make the message long."""

MAX_PAIRS = 120
"""The most pairs of requests whose places are sent in advance (16 requests); another link starts at a plain default."""


def palette_rows(cluster: Cluster) -> tuple[PaletteRow, ...]:
    """Return what can be drawn for a cluster, as `dra_lab.sketch.palette` offers it."""
    from dra_lab.sketch.palette import palette

    rows = []
    for entry in (one for one in palette(cluster) if not one.again):
        words = (partition_words if entry.split else free_words)(cluster, entry.free, entry.total)
        counts = bool(entry.free) and entry.in_cluster and cluster.claims_known
        row = msgspec.structs.replace(
            from_builtins(entry, PaletteRow, from_attributes=True),
            use=words if entry.in_cluster else f"{words}; {entry.missing}",
            chip=left_words(cluster, entry.free, split=entry.split) if counts else "",
        )
        rows.append(row)
    return tuple(rows)


def status_rows(session: Session, before: Mapping[str, Any] | None = None) -> CanvasStatus:
    """Return the state of every request and link of a session's drawing; requests not counted yet have no text.

    Where the devices of a large cluster are still being counted for the drawing, links are as they were `before`.
    """
    cluster, sketch, release = session.cluster, session.sketch, session.release
    rows = _request_rows(cluster, sketch, session.status)
    found = CanvasStatus(claims=_claim_rows(sketch), config=config_rows(sketch), gates=missing_fields(release))
    if not session.is_counted:
        known, counting = from_builtins(before or {}, CanvasStatus), not session.is_prepared
        links = {link.name: known.links.get(link.name, LinkRow()) for link in sketch.links}
        return msgspec.structs.replace(found, requests=rows, links=links, pairs=known.pairs, counting=counting)
    linked: dict[str, LinkRow] = {}
    pairs: dict[str, tuple[LinkOption, ...]] = {}
    for claim in claims_of(sketch):
        mark = f"{claim.name}{MARK}" if sketch.claims else ""
        compiled = _compiled(cluster, claim, release)
        findings = compiled.findings if compiled else ()
        for request in claim.requests:
            rows[f"{mark}{request.name}"] = msgspec.structs.replace(
                rows[f"{mark}{request.name}"],
                field=_field(compiled, request.name),
                note=" ".join(_sentence(one) for one in findings if split_request(one.subject)[0] == request.name),
                parts=part_rows(cluster, request, release),
            )
        linked |= {f"{mark}{name}": row for name, row in _link_rows(cluster, claim, release, compiled).items()}
        for one, other in [*combinations(sorted(request.name for request in claim.requests), 2)][:MAX_PAIRS]:
            options = link_options(cluster, claim, Link(name="new", requests=(one, other)), release)
            pairs[f"{mark}{one}|{mark}{other}"] = options
    return msgspec.structs.replace(found, requests=rows, links=linked, pairs=pairs)


def _claim_rows(sketch: ClaimSketch) -> dict[str, ClaimRow]:
    """Return what each claim of a pod is written as, by its name."""
    objects = claim_objects(sketch) if sketch.claims else ()
    return {
        name: ClaimRow(field=f"spec.resourceClaims[{number}].name", template=own)
        for number, (name, own) in enumerate(zip(sketch.claims, objects, strict=True))
    }


def problem_rows(session: Session) -> tuple[ProblemRow, ...]:
    """Return the requests and links of the drawing that keep it from fitting, each with the cause in a sentence."""
    from dra_lab.planner.why.misfit import causes
    from dra_lab.words.verdict import cause

    plan = latest_plan(session)
    if plan is None or plan.fits:
        return ()
    first = cause(plan, session.cluster)
    texts = [(short, short.message) for short in reversed(plan.shortfalls[1:])]
    texts += [(short, first) for short in plan.shortfalls[:1]]
    text_of = {name: text for short, text in texts for name in short.subject.split(", ")}
    return tuple(ProblemRow(kind=kind, name=name, text=text_of.get(name, first)) for kind, name in causes(plan))


def _request_rows(cluster: Cluster, sketch: ClaimSketch, known: Mapping[str, Any]) -> dict[str, RequestRow]:
    from dra_lab.pictures.letters import colours, letters

    letter, colour = letters(sketch), colours(sketch)
    rows = {}
    for request in sketch.requests:
        status = known.get(request.name)
        badge = colour[request.name]
        rows[request.name] = RequestRow(
            letter=letter[request.name],
            colour=badge.fill,
            text_colour=badge.text,
            kind=status.kind if status else "other",
            label=status.model if status else "",
            matching=len(status.matching) if status else 0,
            total=status.total if status else 0,
            text=_with_free(cluster, status) if status else "",
            error=without_text(status.error) if status else "",
            matching_ids=tuple(str(device) for device in status.matching[:MAX_MATCHING_IDS]) if status else (),
        )
    return rows


def _with_free(cluster: Cluster, status: RequestStatus) -> str:
    if not status.matching or status.error:
        return status.text
    cpus = status.free_cpus
    left = left_words(cluster, status.free if cpus is None else cpus, split=status.split, cpus=cpus is not None)
    return f"{status.text}, {left}"


def _link_rows(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, compiled: CompiledClaim | None
) -> dict[str, LinkRow]:
    fields = _link_fields(cluster, sketch, release)
    rows = {}
    for link in sketch.links:
        options = link_options(cluster, sketch, link, release)
        here = next((option for option in options if option.where == link.where), None)
        findings = [finding for finding in compiled.findings if finding.subject == link.name] if compiled else []
        problems = [here.reason] if here and not here.enabled else []
        problems += [_sentence(finding) for finding in findings if finding.severity is Severity.ERROR]
        rows[link.name] = LinkRow(
            field=fields.get(link.name, ""),
            problem=" ".join(problems),
            note=" ".join(_sentence(finding) for finding in findings if finding.severity is not Severity.ERROR),
            options=options,
        )
    return rows


def _link_fields(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> dict[str, str]:
    """Return what every link that can be written becomes in the claim."""
    from dra_lab.sketch.compile_links import writable_links

    fields = {}
    for item in writable_links(sketch, cluster, release)[0]:
        each = f", one per pair ({item.groups})" if item.link.kind.paired and item.groups > 1 else ""
        text = f"{item.link.kind.constraint}: {item.attribute}{each}"
        fields[item.link.name] = f"firstAvailable, the first with {text}" if item.soft else text
    return fields


def _compiled(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> CompiledClaim | None:
    """Return the claim of the drawing; None for a drawing that cannot be written, which is the plan's to explain."""
    from dra_lab.sketch.compile import compile_claim

    try:
        return compile_claim(sketch, cluster, release)
    except DraLabError:
        return None


def _field(compiled: CompiledClaim | None, name: str) -> str:
    """Return where a drawn request stands in the claim: as one request, or as several that are numbered."""
    if compiled is None:
        return ""
    written = [request.name for request in compiled.spec.devices.requests]
    at = [number for number, own in enumerate(written) if split_request(compiled.origin.get(own, own))[0] == name]
    if not at:
        return ""
    if len(at) > 2 and at[-1] - at[0] == len(at) - 1:
        return f"devices.requests[{at[0]}] to [{at[-1]}]"
    return f"devices.requests{', '.join(f'[{number}]' for number in at)}"


def _sentence(finding: Finding) -> str:
    message = finding.message if finding.message.endswith(".") else f"{finding.message}."
    return f"{message} {finding.advice}".strip()
