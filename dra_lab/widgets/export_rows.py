"""The values of the Export sheet: what would be written, and what kube-scheduler or the scheduler of a gang does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from dra_lab.exports.bundle import Bundle
from dra_lab.exports.gangs.gang_files import SCHEDULERS, title_of
from dra_lab.exports.readme import EXTRA_FILES, FRAGMENTS, not_pinnable, planned_domains
from dra_lab.exports.written_files import FileChange
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangChoice, GangVerdict
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.placement import YOURS, measured_path
from dra_lab.model.queues import LocalQueue
from dra_lab.model.release import SHOWN_RELEASES
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.session import Session
from dra_lab.session.exporting import ExportChoice, Exporting
from dra_lab.session.outputs import POD_PINS
from dra_lab.sketch.claim_objects import MEANING
from dra_lab.widgets.cluster_rows import FindingRow, finding_rows
from dra_lab.widgets.gang_rows import scheduler_row
from dra_lab.widgets.session_view import Row
from dra_lab.words.facts import counted, sentence
from dra_lab.words.reason_words import path_words
from dra_lab.words.scheduler_sentences import Simulation
from dra_lab.words.workload_words import gang_words


class TickRow(Row, frozen=True):
    """A choice by its name, what it is in words: a pod template that may get the claim, or a kind of extra files."""

    name: str
    words: str
    chosen: bool = False


class FileRow(Row, frozen=True):
    """A file of the export beside the file on disk; each line begins with "+", "-" or " ", none for a picture.

    `cut` is the number of lines that are not sent. A `fragment` is a part of a configuration and is not applied.
    """

    name: str
    state: Literal["new", "changed", "unchanged", "edited", "removed"]
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()
    cut: int = 0
    fragment: bool = False


class PinRow(Row, frozen=True):
    """One pin: what it says, why, and what it excludes."""

    text: str
    reason: str
    price: str


class MeasureRow(Row, frozen=True):
    """What can be measured: the bandwidth without links in words, and the folder that the two Jobs go to."""

    words: str
    folder: str
    yours: bool = False


class GangSheetRow(Row, frozen=True):
    """The gang whose files the sheet shows, one of `gangs`, in `words`.

    `schedulers` are names with titles, `queues` the known ones of the scheduler. `domain` is the planned domain,
    `no_domain` why the gang cannot be pinned to one, "" if it can. `not_expressed` is what the scheduler cannot
    express. `others` says that the other workloads are not in these files.
    """

    name: str
    words: str = ""
    gangs: tuple[str, ...] = ()
    scheduler: str = ""
    schedulers: tuple[tuple[str, str], ...] = ()
    queue: str = ""
    queues: tuple[str, ...] = ()
    queue_hint: str = ""
    pin: bool = False
    domain: str = ""
    no_domain: str = ""
    not_expressed: tuple[str, ...] = ()
    others: str = ""


class ExportRow(Row, frozen=True):
    """The Export sheet; {} while it is closed.

    `fleet` is the number of workloads of an exported fleet, 0 for a drawing, which has the name `name`.
    `plain` is the outcome without pins, `pinned` that with them, None where there are none to choose; `price` is what
    all pins exclude. `worse` is the sentence that must stand beside the button, "" where the files achieve the plan.
    `containers` are those of the workload, `namespaces` those of the cluster. `measure` is None where no link can be
    measured. `gang` is None if ordinary pods are exported.
    """

    name: str
    choice: ExportChoice
    release: str = ""
    fleet: int = 0
    cluster: str = ""
    stage: str = ""
    problem: str = ""
    meaning: str = ""
    templates: tuple[TickRow, ...] = ()
    extras: tuple[TickRow, ...] = ()
    containers: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    plain: Simulation | None = None
    pinned: Simulation | None = None
    pins: tuple[PinRow, ...] = ()
    pin: bool = False
    price: str = ""
    worse: str = ""
    files: tuple[FileRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    written: tuple[str, ...] = ()
    releases: tuple[tuple[str, str], ...] = ()
    measure: MeasureRow | None = None
    gang: GangSheetRow | None = None


_MOST_LINES = 1500
"""Lines of a file that are sent to the browser."""

_MOST_NAMESPACES = 100
"""Namespaces that the field offers."""

_MOST_NAMED = 3
"""Workloads of a fleet up to which the sheet names each."""

_MISSED = ("replicas-unplaced", POD_PINS)
"""Findings that say what the manifests of a fleet do not achieve, whatever kube-scheduler does."""

_NO_PLAN = "These gangs are not planned yet."

_QUEUES: Mapping[str, str] = {
    "kueue": "The LocalQueue of Kueue, which needs one.",
    "kai": "The Queue of KAI, which needs one.",
    "volcano": "The Queue of Volcano; empty: default.",
    "kube-scheduler": "A PodGroup has no queue.",
}
"""The words below the field of the queue, by scheduler."""


def gang_sheet_row(session: Session) -> GangSheetRow | None:
    """Return what the sheet shows of the gang that it exports, None if it exports ordinary pods."""
    exporting = session.exporting
    if not (name := exporting.gang):
        return None
    choice, planned, gangs = exporting.choice, exporting.planned, exporting.gangs
    pod = session.fleet.workload(name)
    made, drawn = exporting.chosen, pod.gang
    reason, found = (not_pinnable(*planned), planned_domains(*planned)) if planned is not None else ("", {})
    queues = (
        [one for one in session.cluster.queues if isinstance(one, LocalQueue)] if choice.scheduler == "kueue" else []
    )
    return GangSheetRow(
        name=name,
        words=gang_words(drawn, pod.replicas) if drawn is not None else "",
        gangs=gangs,
        scheduler=choice.scheduler,
        schedulers=tuple((one, title_of(one)) for one in SCHEDULERS),
        queue=drawn.queue if drawn is not None else "",
        queues=tuple(f"{one.metadata.namespace}/{one.name}" for one in queues),
        queue_hint=_QUEUES[choice.scheduler],
        pin=bool(choice.pin) and planned is not None and not reason,
        domain=_named(["/".join(path) for path in dict.fromkeys(found[number] for number in sorted(found))], "domain"),
        no_domain=_NO_PLAN if planned is None else sentence(f"{reason[:1].upper()}{reason[1:]}") if reason else "",
        not_expressed=tuple(made.record["notExpressed"]) if made is not None else (),
        others=_others([one.pod for one in session.fleet.workloads if one.gang is None]),
    )


def _named(names: Sequence[str], noun: str) -> str:
    """Return a few names, or how many there are."""
    return ", ".join(names) if len(names) <= _MOST_NAMED else counted(len(names), noun)


def _others(names: list[str]) -> str:
    """Return that ordinary pods of the same plan are not in the files, "" if there are none."""
    if not names:
        return ""
    pods = " and ".join(names) if len(names) <= _MOST_NAMED else counted(len(names), "other workload")
    are, them = ("is", "it") if len(names) == 1 else ("are", "one")
    return f"{pods} {are} planned with the gang and not in these files. Open {them} in Plan to export it."


def _of_gang(session: Session, made: Bundle) -> Simulation:
    """Return whether the gang has its place, and what the chosen scheduler does with it, if that is known.

    It warns if the scheduler may choose a domain where the claims do not fit, or finds none.
    """
    found, chosen = made.simulation, _choice(session)
    if chosen is None or not found.achieves:
        return found
    misses = bool(chosen.trapped) or chosen.replay.verdict is GangVerdict.NO
    return msgspec.structs.replace(found, achieves=not misses, detail=scheduler_row(chosen).text)


def _choice(session: Session) -> GangChoice | None:
    """Return what the chosen scheduler does with the gang as drawn, None with a pin or if it is not known."""
    exporting, answer = session.exporting, session.fleet.answer
    if exporting.choice.pin or answer is None or answer.gangs is None or not session.fleet.is_current:
        return None
    title = title_of(exporting.choice.scheduler)
    choices = answer.gangs.choices.get(exporting.gang, ())
    return next((one for one in choices if one.replay.scheduler.startswith(title)), None)


def export_row(session: Session) -> ExportRow:
    """Return what the sheet shows of a session's export."""
    exporting, choice, release = session.exporting, session.exporting.choice, session.release
    made = exporting.chosen
    pinned_plan = exporting.pinned.pinned_plan if exporting.pinned is not None else None
    pins = tuple(_pins(exporting.pinned)) if exporting.pinned is not None else ()
    gang = gang_sheet_row(session)
    names = [workload.pod for workload in session.fleet.workloads] if exporting.of_fleet and gang is None else []
    return ExportRow(
        name=f"{gang.name}, {gang.words}" if gang is not None else _named(names, "workload") or session.sketch.name,
        fleet=len(names),
        cluster=session.cluster.name,
        choice=msgspec.structs.replace(choice, folder=exporting.folder),
        release=release.version,
        releases=SHOWN_RELEASES,
        stage=exporting.stage,
        problem=exporting.problem,
        meaning=MEANING[choice.kind],
        templates=tuple(_templates(exporting)),
        extras=tuple(_extras(exporting)),
        containers=exporting.containers,
        namespaces=_namespaces(session.cluster),
        plain=_of_gang(session, made) if gang is not None and made is not None else _outcome(exporting.plain),
        pinned=_outcome(exporting.pinned) if pins else None,
        pins=pins,
        pin=exporting.pins,
        price=_price(pinned_plan, pins) if pinned_plan is not None else "",
        worse=made.worse if made is not None else "",
        files=tuple(map(_file, exporting.changes)),
        findings=finding_rows(made.findings) if made is not None else (),
        written=tuple(str(path) for path in exporting.written),
        measure=_measure(session),
        gang=gang,
    )


@once_per_snapshot
def _namespaces(cluster: Cluster) -> tuple[str, ...]:
    """Return the namespaces of claims and pods, the most used first."""
    every = [claim.metadata for claim in cluster.claims] + [pod.metadata for pod in cluster.pods]
    counts = Counter(one.namespace for one in every if one.namespace)
    return tuple(name for name, _ in counts.most_common(_MOST_NAMESPACES))


def _pins(made: Bundle) -> Iterator[PinRow]:
    """Yield the pins of an export; each of a fleet with the workload that has it, if there are several."""
    recorded = made.record.get("pins", ())
    several = len({pin.get("workload") for pin in recorded}) > 1
    for pin in recorded:
        text = f"{pin['workload']}: {pin['pin']}" if several else pin["pin"]
        yield PinRow(text=text, reason=pin["reason"], price=pin["price"])


def _price(pinned_plan: PinnedPlan, pins: Sequence[PinRow]) -> str:
    """Return what all pins exclude; for several workloads, the price of the one pin, or where each stands."""
    if pinned_plan.price or not pins:
        return pinned_plan.price
    return pins[0].price if len(pins) == 1 else f"that of each of the {len(pins)} pins is below"


def _outcome(made: Bundle | None) -> Simulation | None:
    if made is None:
        return None
    missed = (f"{one.subject}: {one.message}." for one in made.findings if one.rule in _MISSED)
    return msgspec.structs.replace(made.simulation, detail=" ".join(filter(None, (made.simulation.detail, *missed))))


def _measure(session: Session) -> MeasureRow | None:
    plan = session.answer if session.is_answered and not session.exporting.of_fleet else None
    if plan is None or not plan.sketch.links or not measured_path(plan.regrets):
        return None
    theirs = next(regret.theirs for regret in plan.regrets if regret.against == "plain")
    yours = any(share.kind == YOURS for share in theirs)
    return MeasureRow(words=path_words(theirs), folder=_measure_folder(session.exporting), yours=yours)


def _measure_folder(exporting: Exporting) -> str:
    return f"{exporting.folder}-measure"


def _templates(exporting: Exporting) -> Iterator[TickRow]:
    chosen = exporting.choice.templates
    for field in exporting.templates:
        pods = "one pod per node" if field.per_node else counted(field.pods, "pod")
        words = ", ".join(filter(None, (pods, field.helper)))
        yield TickRow(name=field.template, words=words, chosen=field.template in chosen)


def _extras(exporting: Exporting) -> Iterator[TickRow]:
    for name, extra in EXTRA_FILES.items():
        words = extra.of_fleet if exporting.of_fleet and extra.of_fleet else extra.words
        yield TickRow(name=name, words=words, chosen=name in exporting.choice.extra)


def _file(change: FileChange) -> FileRow:
    lines = () if change.name.endswith(".svg") else change.lines
    added, removed = (sum(line.startswith(sign) for line in change.lines) for sign in "+-")
    return FileRow(
        name=change.name,
        state=change.state,
        added=added,
        removed=removed,
        lines=lines[:_MOST_LINES],
        cut=max(0, len(lines) - _MOST_LINES),
        fragment=change.name in FRAGMENTS,
    )
