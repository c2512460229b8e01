"""The Export sheet of `PlanView`: what would be written, what kube-scheduler does with it, and the write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import traitlets

from dra_lab.exports.bundle import Bundle
from dra_lab.exports.gangs.gang_files import FRAGMENTS
from dra_lab.exports.readme import EXTRA_FILES
from dra_lab.exports.simulation import Simulation
from dra_lab.exports.written_files import FileChange
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.regret import YOURS, measured_path
from dra_lab.model.release import RELEASES
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.session import Session
from dra_lab.session.exporting import ExportChoice, Exporting
from dra_lab.session.outputs import POD_PINS
from dra_lab.sketch.manifest_target import MEANING
from dra_lab.sources.confined import confined
from dra_lab.widgets.export_values import (
    ChoiceRow,
    ExportRow,
    ExtraRow,
    FileRow,
    MeasureRow,
    OutcomeRow,
    PinRow,
    TemplateRow,
    Verdict,
)
from dra_lab.widgets.finding_rows import finding_rows
from dra_lab.widgets.gang_sheet import gang_sheet_row, plan_outcome_row
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane
from dra_lab.words.facts import counted
from dra_lab.words.glossary import EXPORT_TERMS
from dra_lab.words.reason_words import path_words

_MOST_LINES = 1500
"""Lines of a file that are sent to the browser."""

_MOST_NAMESPACES = 100
"""Namespaces that the field offers."""

_MOST_NAMED = 3
"""Workloads of a fleet up to which the sheet names each."""

_MISSED = ("replicas-unplaced", POD_PINS)
"""Findings that say what the manifests of a fleet do not achieve, whatever kube-scheduler does."""

_VERDICTS: dict[bool | None, Verdict] = {True: "ok", False: "warn", None: "unknown"}


class ExportSheet(Pane):
    """The part of a view that shows the export of its session; `export` is {} while the sheet is closed."""

    export = traitlets.Dict().tag(sync=True, value=ExportRow)
    export_terms = traitlets.Dict(EXPORT_TERMS, read_only=True).tag(sync=True, value=dict[str, str])

    def _begin(self) -> None:
        self.when(self._show_export, "export")

    def _show_export(self) -> None:
        open_ = "exporting" in vars(self.session) and self.session.exporting.is_open
        self.assign(export=export_row(self.session) if open_ else {})

    # ------------------------------------------------------------ what the person did

    @on
    def show_export(self) -> None:
        """Show the Export sheet."""
        self.session.exporting.open()

    @on
    def close_export(self) -> None:
        """Close the Export sheet."""
        self.session.exporting.close()

    @on
    def cancel_export(self) -> None:
        """Stop looking for pins."""
        self.session.exporting.cancel()

    @on(choice=ExportChoice)
    def choose_export(self, release: str | None = None, **choice: Any) -> None:
        """Choose something of the export; what is absent stays as it was chosen."""
        for path in filter(None, (choice.get("folder"), choice.get("workload"))):
            confined(path)
        if release is not None and release != self.session.release.version:
            self.session.set_release(release)
        exporting = self.session.exporting
        exporting.choose(msgspec.structs.replace(exporting.choice, **choice))

    @on
    def choose_gang_export(
        self, name: str | None = None, scheduler: str | None = None, queue: str | None = None
    ) -> None:
        """Choose the gang that is exported, its scheduler or its queue; None leaves what was chosen."""
        exporting = self.session.exporting
        if name is not None:
            exporting.choose_gang(name)
        if scheduler is not None:
            exporting.choose(msgspec.structs.replace(exporting.choice, scheduler=scheduler))
        if queue is not None:
            exporting.set_queue(queue.strip())

    @on
    def write_export(self, *, overwrite: bool = False, allow_worse: bool = False) -> None:
        """Write the shown files; `overwrite` replaces edited ones, `allow_worse` accepts the sentence of the sheet."""
        _check_link(self.session.exporting.folder)
        self.session.exporting.write(overwrite=overwrite, allow_worse=allow_worse)

    @on
    def write_measure(self) -> None:
        """Write the two Jobs that measure the link, to a folder beside that of the export."""
        from dra_lab.session.outputs import measure

        exporting = self.session.exporting
        folder = _measure_folder(exporting)
        _check_link(folder)
        exporting.written = measure(self.session, folder, namespace=exporting.choice.namespace)
        self._show_export()

    @on
    def use_measured(self, near: float, far: float) -> None:
        """Use these bandwidths, with the link and without it, in place of the published range."""
        self.session.measured(near, far)


def _check_link(folder: str) -> None:
    """Raise InputError if a relative folder is a link to another place; only Python code chooses an absolute one."""
    if not Path(folder).is_absolute():
        confined(folder)


def export_row(session: Session) -> ExportRow:
    """Return what the sheet shows of a session's export."""
    exporting, choice, release = session.exporting, session.exporting.choice, session.release
    made = exporting.chosen
    pinned_plan = exporting.pinned.pinned_plan if exporting.pinned is not None else None
    pins = tuple(_pins(exporting.pinned)) if exporting.pinned is not None else ()
    gang = gang_sheet_row(session)
    names = [workload.pod for workload in session.fleet.workloads] if exporting.of_fleet and gang is None else []
    return ExportRow(
        name=f"{gang.name}, {gang.words}" if gang is not None else _title(names) if names else session.sketch.name,
        fleet=len(names),
        cluster=session.cluster.name,
        choice=msgspec.structs.replace(
            from_builtins(choice, ChoiceRow, from_attributes=True), release=release.version, folder=exporting.folder
        ),
        releases=RELEASES,
        stage=exporting.stage,
        problem=exporting.problem,
        meaning=MEANING[choice.kind],
        templates=tuple(_templates(exporting)),
        extras=tuple(_extras(exporting)),
        containers=exporting.containers,
        namespaces=_namespaces(session.cluster),
        plain=plan_outcome_row(session, made) if gang is not None and made is not None else _outcome(exporting.plain),
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


def _title(names: Sequence[str]) -> str:
    """Return the names of the workloads of a fleet, or how many there are."""
    return ", ".join(names) if len(names) <= _MOST_NAMED else counted(len(names), "workload")


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


def _outcome(made: Bundle | None) -> OutcomeRow | None:
    if made is None:
        return None
    found: Simulation = made.simulation
    missed = (f"{one.subject}: {one.message}." for one in made.findings if one.rule in _MISSED)
    detail = " ".join(filter(None, (found.detail, *missed)))
    return OutcomeRow(verdict=_VERDICTS[found.achieves], sentence=found.sentence, detail=detail)


def _measure(session: Session) -> MeasureRow | None:
    plan = session.answer if session.is_answered and not session.exporting.of_fleet else None
    if plan is None or not plan.sketch.links or not measured_path(plan.regrets):
        return None
    theirs = next(regret.theirs for regret in plan.regrets if regret.against == "plain")
    yours = any(share.kind == YOURS for share in theirs)
    return MeasureRow(words=path_words(theirs), folder=_measure_folder(session.exporting), yours=yours)


def _measure_folder(exporting: Exporting) -> str:
    return f"{exporting.folder}-measure"


def _templates(exporting: Exporting) -> Iterator[TemplateRow]:
    chosen = exporting.choice.templates
    for field in exporting.templates:
        pods = "one pod per node" if field.per_node else counted(field.pods, "pod")
        words = ", ".join(filter(None, (pods, field.helper)))
        yield TemplateRow(path=field.template, words=words, chosen=field.template in chosen)


def _extras(exporting: Exporting) -> Iterator[ExtraRow]:
    for name, extra in EXTRA_FILES.items():
        words = extra.of_fleet if exporting.of_fleet and extra.of_fleet else extra.words
        yield ExtraRow(name=name, words=words, chosen=name in exporting.choice.extra)


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
