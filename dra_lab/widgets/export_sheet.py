"""What is exported: its words in the dock of `PlanView`, the Export sheet, the page that is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import traitlets

from dra_lab.findings import Finding, Severity
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.session import Session
from dra_lab.session.exporting import ExportChoice, Exporting
from dra_lab.session.preparing import is_small
from dra_lab.sources.files import confined
from dra_lab.widgets.export_rows import (
    ExportRow,
    _measure_folder,
    export_row,
)
from dra_lab.widgets.session_view import Pane, Row, calls, on
from dra_lab.words.facts import EXPORT_TERMS
from dra_lab.words.scheduler_sentences import Simulation, scheduler_sentences
from dra_lab.words.verdict import Tone

_REST = 1.0
"""Seconds without an edit after which the export is simulated."""


class OutgoingRow(Row, frozen=True):
    """One line about what is exported, and whether it is good news."""

    text: str
    tone: Tone = "ok"


class PinOffer(Row, frozen=True):
    """Whether the pins are written, what kube-scheduler allocates with them, and their price; "" for no pins."""

    text: str = ""
    on: bool = False
    tone: Tone = "ok"


class Outgoing(Pane):
    """The words about the manifests, and the offer to write pins."""

    outgoing: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[OutgoingRow])
    pin_offer = traitlets.Dict().tag(sync=True, value=PinOffer)

    def _begin(self) -> None:
        self.when(self.soon(self._simulate, _REST), "plan", "mode")
        self.when(self._show, "plan", "findings", "progress", "export")
        self.watch(self._show, "yaml")

    def _simulate(self) -> None:
        """Find out what kube-scheduler does with the manifests; a large cluster waits until Export is opened."""
        session = self.session
        if session.mode != "plan" or not session.prepares_export or not session.is_answered:
            return
        if is_small(session.cluster) and not (session.exporting.is_open or session.exporting.is_present):
            session.exporting.simulate()

    def _show(self) -> None:
        session = self.session
        known = session.exporting if "exporting" in vars(session) and session.exporting.is_present else None
        self.assign(
            pin_offer=pin_offer(known) if known is not None else {},
            outgoing=outgoing_rows(
                session.answer if session.is_answered else None,
                self.view.yaml,
                session.release,
                session.manifest_findings,
                searching=session.searching,
                simulated=simulated_of(session),
            ),
        )


def outgoing_rows(
    plan: Plan | None,
    text: str,
    release: KubernetesRelease,
    findings: Sequence[Finding],
    *,
    searching: bool,
    simulated: Simulation | None = None,
) -> tuple[OutgoingRow, ...]:
    """Return what is exported: kind and lines of `text`, its release, and what kube-scheduler does with it.

    `findings` are those of the manifests, and `searching` says that more may be found. Without `simulated`, it is not
    known what kube-scheduler does on every node that it may choose.
    """
    kinds = [line.removeprefix("kind: ") for line in text.splitlines() if line.startswith("kind: ")]
    if not kinds:
        return (OutgoingRow(text="There is nothing to export yet.", tone="plain"),)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    valid = not errors
    head = f"{', '.join(dict.fromkeys(kinds))}, {len(text.splitlines())} lines"
    head += f", valid for Kubernetes {release.version}" if valid else f", not valid for Kubernetes {release.version}"
    rows = [OutgoingRow(text=head, tone="ok" if valid else "error")]
    if plan is not None and plan.fits:
        rows.append(_pod_outcome(simulated) if simulated is not None else _simulated(plan, searching=searching))
    elif plan is not None and plan.status is PlanStatus.INFEASIBLE:
        rows.append(OutgoingRow(text="No node can serve this claim now, so its pods would wait.", tone="warn"))
    rows += [
        OutgoingRow(text=f.message, tone="error" if f.severity is Severity.ERROR else "warn") for f in findings[:2]
    ]
    return tuple(rows)


def pin_offer(exporting: Exporting) -> PinOffer:
    """Return the pins of an export, if they change what kube-scheduler allocates."""
    made = exporting.pinned if exporting.is_present else None
    if made is None or made.pinned_plan is None or not made.pinned_plan.pins:
        return PinOffer()
    price = f" Price: {made.pinned_plan.price}." if made.pinned_plan.price else ""
    found = _pod_outcome(made.simulation)
    return PinOffer(text=f"{found.text}{price}", on=exporting.pins, tone=found.tone)


def simulated_of(session: Session) -> Simulation | None:
    """Return what an export of the present drawing was simulated to do, None while that is not known."""
    known = session.exporting if "exporting" in vars(session) and session.exporting.is_present else None
    if known is None or known.plain is None or known.of_fleet:
        return None
    return known.plain.simulation


def _pod_outcome(simulated: Simulation) -> OutgoingRow:
    tones: dict[bool | None, Tone] = {True: "ok", False: "warn", None: "plain"}
    return OutgoingRow(text=simulated.sentence, tone=tones[simulated.achieves])


def _simulated(plan: Plan, *, searching: bool) -> OutgoingRow:
    """Return what kube-scheduler does with the manifest on the node of the plan."""
    if searching:
        return OutgoingRow(text="Trying the manifest on every kind of node, as kube-scheduler would ...", tone="plain")
    if plan.first_fit is None:
        return OutgoingRow(text="The effect on kube-scheduler is not known.", tone="plain")
    same = next(iter(scheduler_sentences(plan)), "")
    if same.startswith(("With this YAML", "kube-scheduler")) and "equally good" not in same:
        return OutgoingRow(text=same, tone="warn")
    return OutgoingRow(text="Simulated: kube-scheduler picks an equally good set on the best node.")


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

    show_export = calls(Exporting.open, "exporting", tag="show-export")
    close_export = calls(Exporting.close, "exporting", tag="close-export")
    cancel_export = calls(Exporting.cancel, "exporting", tag="cancel-export")
    use_measured = calls(Session.measured, tag="use-measured")

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
    def write_export(
        self, *, overwrite: bool = False, allow_worse: bool = False, without: tuple[str, ...] = ()
    ) -> None:
        """Write the shown files except `without`; `overwrite` replaces edits, `allow_worse` accepts the sentence."""
        _check_link(self.session.exporting.folder)
        self.session.exporting.write(overwrite=overwrite, allow_worse=allow_worse, without=without)

    @on
    def write_measure(self) -> None:
        """Write the two Jobs that measure the link, to a folder beside that of the export."""
        from dra_lab.session.outputs import measure

        exporting = self.session.exporting
        folder = _measure_folder(exporting)
        _check_link(folder)
        exporting.written = measure(self.session, folder, namespace=exporting.choice.namespace)
        self._show_export()


class PrintedRow(Row, frozen=True):
    """A page to print, with the number of the message that asked for it."""

    page: str = ""
    number: int = 0


class Printing(Pane):
    """The page of the answer, made when a person prints it."""

    printed = traitlets.Dict().tag(sync=True, value=PrintedRow)

    @on(tag="print")
    def print_answer(self, number: int = 0) -> None:
        """Make the page of the present answer; `number` is repeated with it, so that one view prints."""
        from dra_lab.session.outputs import printed_answer

        page = printed_answer(self.session, self.session.fleet)
        self.assign(printed=PrintedRow(page=page, number=number))


def _check_link(folder: str) -> None:
    """Raise InputError if a relative folder is a link to another place; only Python code chooses an absolute one."""
    if not Path(folder).is_absolute():
        confined(folder)
