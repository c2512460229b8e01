"""The export of a session while a person looks at it: what would be written, simulated in a worker thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dra_lab.errors import Cancelled, DraLabError, ExportError
from dra_lab.exports.bundle import Bundle, Wanted, write_bundle
from dra_lab.exports.file_changes import FileChange, file_changes
from dra_lab.exports.workload_file import container_names, pod_templates, read_workload
from dra_lab.manifests.pod_templates import PodField
from dra_lab.session.outputs import Runs, bundle, drawn_of, fleet_bundle, fleet_of
from dra_lab.session.worker import Worker
from dra_lab.sketch.manifest_target import Target

if TYPE_CHECKING:
    from dra_lab.session.planner_worker import PlannerWorker
    from dra_lab.session.session_fleet import SessionFleet

DEFAULT_FOLDER = "manifests"
FLEET_FOLDER = "manifests-fleet"

Made = Callable[[Wanted, bool, threading.Event], Bundle]
"""Returns an export with what else it shall hold, with or without pins; ends early when the event is set."""


class ExportChoice(msgspec.Struct, frozen=True):
    """What a person chose for an export.

    `workload` is the path of a workload's file, "" for an `example` of a kind. `templates` are those of its pod
    templates that get the claim, () for those that clearly do. `container` gets the devices, "" for the one that
    requests devices, else the first. With `patch`, a kustomize component changes the workload in place of a copy. `pin`
    is None until a person decides: then pins are on where kube-scheduler allocates something else without them. `split`
    lets a workload of a fleet become several if one template cannot serve every replica as planned. `extra` are names
    of `EXTRA_FILES`.
    """

    api_version: str = "v1"
    kind: str = "template"
    namespace: str = ""
    example: str = "pod"
    workload: str = ""
    templates: tuple[str, ...] = ()
    container: str = ""
    patch: bool = False
    folder: str = DEFAULT_FOLDER
    extra: tuple[str, ...] = ("report",)
    pin: bool | None = None
    split: bool = False


class Exporting:
    """An export before it is written: its files with and without pins, what each comes to, and their changes on disk.

    `of_fleet` says that it is that of all workloads of the fleet, not of the drawing; each has a choice of its own.
    `stage` says what goes on in the worker, "" if nothing does; `problem` why there are no files; `written` are the
    files of the last write. Every change raises the session's event "export".
    """

    def __init__(self, session: PlannerWorker, fleet: SessionFleet, shows_fleet: Callable[[], bool]) -> None:
        """Take a session, its fleet, and what says whether it is shown; nothing is simulated before `open`."""
        self._session, self._fleet, self._shows_fleet = session, fleet, shows_fleet
        self._worker = Worker("dra-lab-export", owner=self)
        self._off: Callable[[], None] | None = None
        self._about: tuple[object, ...] = ()
        self._runs: Runs = {}
        self._number = 0
        self.of_fleet = False
        self._choices = {False: ExportChoice(), True: ExportChoice(example="deployment", folder=FLEET_FOLDER)}
        self._forget()

    def _forget(self) -> None:
        self.plain: Bundle | None = None
        self.pinned: Bundle | None = None
        self.templates: tuple[PodField, ...] = ()
        self.containers: tuple[str, ...] = ()
        self.changes: tuple[FileChange, ...] = ()
        self.stage = self.problem = ""
        self.written: tuple[Path, ...] = ()

    @property
    def choice(self) -> ExportChoice:
        """Return what a person chose; setting it simulates nothing, as `choose` does."""
        return self._choices[self.of_fleet]

    @choice.setter
    def choice(self, choice: ExportChoice) -> None:
        self._choices[self.of_fleet] = choice

    @property
    def is_open(self) -> bool:
        """Say whether a person looks at it."""
        return self._off is not None

    @property
    def pins(self) -> bool:
        """Say whether pins are written: as a person decided, else where they bring what the manifests alone do not."""
        if self.pinned is None or self.pinned.pinned_plan is None or not self.pinned.pinned_plan.pins:
            return False
        return not self.pinned.is_worse if self.choice.pin is None else self.choice.pin

    @property
    def chosen(self) -> Bundle | None:
        """Return what would be written now, None while it is not known."""
        return self.pinned if self.pins else self.plain

    def open(self) -> None:
        """Simulate the export of the drawing, or of all workloads in mode Fleet, after each answer until `close`."""
        self._leave()
        self.of_fleet = self._shows_fleet()
        self._off = self._session.events.on("fleet" if self.of_fleet else "plan", self.simulate)
        self.simulate()

    @property
    def is_present(self) -> bool:
        """Say whether what is known is that of the present drawing, cluster, answer and release."""
        return self.plain is not None and not self.of_fleet and self._about == self._about_now

    def close(self) -> None:
        """Stop simulating; what was chosen, and what is known of the drawing, stays."""
        self._leave()
        self._number += 1
        self._worker.cancel()
        self.stage, self.written = "", ()
        if self.of_fleet:
            self.of_fleet = False
            self._forget()
        self._session.events.emit("export")

    def _leave(self) -> None:
        if self._off is not None:
            self._off()
            self._off = None

    def choose(self, choice: ExportChoice) -> None:
        """Take another choice. Raises InputError for a target that cannot be written, keeping the present choice."""
        Target(self._session.release, choice.api_version, choice.kind, choice.namespace)
        other = choice.workload != self.choice.workload
        self.choice = msgspec.structs.replace(choice, templates=(), container="") if other else choice
        self.simulate()

    def cancel(self) -> None:
        """Stop looking for pins, or planning the fleet; what is known stays."""
        if self.of_fleet and self._fleet.stale:
            self._fleet.cancel()
            return
        self._number += 1
        self._worker.cancel()
        self.stage = ""
        self._session.events.emit("export")

    def write(self, *, overwrite: bool = False, allow_worse: bool = False) -> tuple[Path, ...]:
        """Write what is shown and return the files. Raises ExportError if nothing may be written."""
        made = self.chosen
        if made is None:
            raise ExportError("there is nothing to write yet; wait until kube-scheduler is simulated")
        if made.is_worse and not allow_worse:
            raise ExportError(f"nothing is written. {made.simulation.sentence}")
        self.written = write_bundle(self.choice.folder or DEFAULT_FOLDER, made, overwrite=overwrite)
        self.changes = file_changes(self.choice.folder or DEFAULT_FOLDER, made.texts)
        self._session.events.emit("export")
        return self.written

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is simulated; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def end(self) -> None:
        """End the worker thread."""
        self._number += 1
        self._worker.close()

    def simulate(self) -> None:
        """Simulate the export as it is now; what is shown stays until its successor is known."""
        session, choice = self._session, self.choice
        self._number += 1
        number, about = self._number, self._about_now
        if about != self._about:
            self._about, self._runs = about, {}
            self.plain = self.pinned = None
        self.problem, self.written = "", ()
        if self._fleet.stale if self.of_fleet else session.stale:
            self.stage = "Planning"
        else:
            self.stage = "Simulating kube-scheduler"
            try:
                made, is_placed = self._question(choice)
                self._worker.submit(lambda stop: self._make(number, made, choice, stop, is_placed=is_placed))
            except DraLabError as error:
                self._report(number, plain=None, pinned=None, changes=(), stage="", problem=str(error))
        session.events.emit("export")

    @property
    def _about_now(self) -> tuple[object, ...]:
        session = self._session
        if self.of_fleet:
            return id(self._fleet.answer), session.release
        drawn = drawn_of(session)
        return drawn.sketch, id(drawn.cluster), id(drawn.plan), session.release

    def _question(self, choice: ExportChoice) -> tuple[Made, bool]:
        """Return what makes the files, and whether there is a place for a pod. Raises what planning refused."""
        session, runs = self._session, self._runs
        target = Target(session.release, choice.api_version, choice.kind, choice.namespace)
        if not self.of_fleet:
            drawn = drawn_of(session)
            fits = drawn.plan is not None and drawn.plan.fits
            return lambda wanted, pin, stop: bundle(drawn, target, wanted, pin=pin, cancel=stop, runs=runs), fits
        cluster, plan = fleet_of(self._fleet)

        def made(wanted: Wanted, pin: bool, stop: threading.Event) -> Bundle:  # noqa: FBT001
            split = choice.split and pin and wanted.workload is None
            return fleet_bundle(cluster, plan, target, wanted, pin=pin, split=split, cancel=stop, runs=runs)

        return made, bool(plan.replicas)

    def _make(self, number: int, made: Made, choice: ExportChoice, stop: threading.Event, *, is_placed: bool) -> None:
        problem = ""
        try:
            workload = None
            if choice.workload:
                templates = pod_templates(Path(choice.workload))
                self._report(number, templates=templates, containers=container_names(templates))
                workload = read_workload(Path(choice.workload), choice.templates)
            else:
                self._report(number, templates=(), containers=())
            patch = choice.patch and workload is not None
            wanted = Wanted(choice.example, workload, choice.container, patch=patch, extra=choice.extra)
            plain = made(wanted, False, stop)
            self._report(number, plain=plain, changes=self._changes(choice, plain), stage="")
            if is_placed and plain.is_worse:
                self._report(number, stage="Looking for pins")
                self._report(number, pinned=made(wanted, True, stop))
            else:
                self._report(number, pinned=None)
            if number == self._number and self.chosen is not None:
                self._report(number, changes=self._changes(choice, self.chosen))
        except Cancelled:
            pass
        except DraLabError as error:
            problem = str(error)
            self._report(number, plain=None, pinned=None, changes=())
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen in the sheet and not end the thread
            problem = f"this is a defect of dra_lab: {type(error).__name__}: {error}"
            self._report(number, plain=None, pinned=None, changes=())
        self._report(number, stage="", problem=problem)

    def _changes(self, choice: ExportChoice, made: Bundle) -> tuple[FileChange, ...]:
        return file_changes(choice.folder or DEFAULT_FOLDER, made.texts)

    def _report(self, number: int, **values: object) -> None:
        """Set what is known, if nothing newer was asked for."""
        if number != self._number:
            return
        for name, value in values.items():
            setattr(self, name, value)
        self._session.events.emit("export")
