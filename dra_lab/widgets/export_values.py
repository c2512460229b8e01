"""The values of the Export sheet."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.finding_rows import FindingRow
from dra_lab.widgets.wire import Row

Verdict = Literal["ok", "warn", "unknown"]


class TemplateRow(Row, frozen=True):
    """A pod template of the workload's file: its path, how many pods of what kind, and whether they get the claim."""

    path: str
    words: str
    chosen: bool = False


class ExtraRow(Row, frozen=True):
    """A choice of extra files: its name, what they are, and whether the export has them."""

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


class OutcomeRow(Row, frozen=True):
    """What kube-scheduler does with manifests, in a sentence, and why."""

    verdict: Verdict
    sentence: str
    detail: str = ""


class PinRow(Row, frozen=True):
    """One pin: what it says, why, and what it excludes."""

    text: str
    reason: str
    price: str


class ChoiceRow(Row, frozen=True):
    """What a person chose for the export."""

    release: str = ""
    api_version: str = "v1"
    kind: str = "template"
    namespace: str = ""
    example: str = "pod"
    workload: str = ""
    container: str = ""
    patch: bool = False
    folder: str = ""


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
    choice: ChoiceRow
    fleet: int = 0
    cluster: str = ""
    stage: str = ""
    problem: str = ""
    meaning: str = ""
    templates: tuple[TemplateRow, ...] = ()
    extras: tuple[ExtraRow, ...] = ()
    containers: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    plain: OutcomeRow | None = None
    pinned: OutcomeRow | None = None
    pins: tuple[PinRow, ...] = ()
    pin: bool = False
    price: str = ""
    worse: str = ""
    files: tuple[FileRow, ...] = ()
    findings: tuple[FindingRow, ...] = ()
    written: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    measure: MeasureRow | None = None
    gang: GangSheetRow | None = None
