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
from dra_lab.exports.targets import Target
from dra_lab.exports.workload_file import container_names, pod_templates, read_workload
from dra_lab.manifests.pod_templates import PodField
from dra_lab.session.outputs import Drawn, Runs, bundle, drawn_of
from dra_lab.session.worker import Worker

if TYPE_CHECKING:
    from dra_lab.session.answering import Answering

DEFAULT_FOLDER = "manifests"


class ExportChoice(msgspec.Struct, frozen=True):
    """What a person chose for an export.

    `workload` is the path of a workload's file, "" for an `example` of a kind; `templates` are those of its pod
    templates that get the claim, () for those that clearly do; `container` gets the devices, "" for the one that asks
    for devices, else the first; with `patch` a kustomize component changes the workload in place of a copy. `pin` is
    None until a person decides: then pins are on where kube-scheduler allocates something else without them.
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
    report: bool = True
    pin: bool | None = None


class Exporting:
    """An export before it is written: its files with and without pins, what each comes to, and their changes on disk.

    `stage` says what goes on in the worker, "" if nothing does; `problem` why there are no files; `written` are the
    files of the last write. Every change raises the session's event "export".
    """

    def __init__(self, session: Answering) -> None:
        """Take a session; nothing is simulated before `open`."""
        self._session = session
        self._worker = Worker("dra-lab-export", owner=self)
        self._off: Callable[[], None] | None = None
        self._about: tuple[object, ...] = ()
        self._runs: Runs = {}
        self._number = 0
        self.choice = ExportChoice()
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
    def is_open(self) -> bool:
        """Say whether a person looks at it."""
        return self._off is not None

    @property
    def pins(self) -> bool:
        """Say whether pins are written: as a person decided, else where they bring what the manifests alone do not."""
        if self.pinned is None or self.pinned.tightened is None or not self.pinned.tightened.pins:
            return False
        return not self.pinned.is_worse if self.choice.pin is None else self.choice.pin

    @property
    def chosen(self) -> Bundle | None:
        """Return what would be written now, None while it is not known."""
        return self.pinned if self.pins else self.plain

    def open(self) -> None:
        """Begin to simulate the present drawing's export, and again after each new answer, until `close`."""
        if self._off is None:
            self._off = self._session.events.on("plan", self._renew)
        self._renew()

    def simulate(self) -> None:
        """Simulate the present drawing's export once, as `open` does again and again."""
        if self._off is None:
            self._renew()

    @property
    def is_present(self) -> bool:
        """Say whether what is known is that of the present drawing, cluster, answer and release."""
        return self.plain is not None and self._about == self._about_now(drawn_of(self._session))

    def close(self) -> None:
        """Stop simulating; what was chosen, and what is known, stays."""
        if self._off is not None:
            self._off()
            self._off = None
        self._number += 1
        self._worker.cancel()
        self.stage, self.written = "", ()
        self._session.events.emit("export")

    def choose(self, choice: ExportChoice) -> None:
        """Take another choice. Raises InputError for a target that cannot be written, keeping the present choice."""
        Target(self._session.release, choice.api_version, choice.kind, choice.namespace)
        other = choice.workload != self.choice.workload
        self.choice = msgspec.structs.replace(choice, templates=(), container="") if other else choice
        self._renew()

    def cancel(self) -> None:
        """Stop looking for pins; what is known stays."""
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

    def _renew(self) -> None:
        session = self._session
        self._number += 1
        number, drawn, choice = self._number, drawn_of(session), self.choice
        about = self._about_now(drawn)
        if about != self._about:
            self._about, self._runs = about, {}
            self.plain = self.pinned = None
        self.problem, self.written = "", ()
        if session.stale:
            self.stage = "Planning"
        else:
            self.stage = "Simulating kube-scheduler"
            target = Target(session.release, choice.api_version, choice.kind, choice.namespace)
            runs = self._runs
            self._worker.submit(lambda stop: self._make(number, drawn, target, choice, runs, stop))
        session.events.emit("export")

    def _about_now(self, drawn: Drawn) -> tuple[object, ...]:
        return drawn.sketch, id(drawn.cluster), id(drawn.plan), self._session.release

    def _make(
        self, number: int, drawn: Drawn, target: Target, choice: ExportChoice, runs: Runs, stop: threading.Event
    ) -> None:
        problem = ""
        try:
            workload = None
            if choice.workload:
                templates = pod_templates(Path(choice.workload))
                self._tell(number, templates=templates, containers=container_names(templates))
                workload = read_workload(Path(choice.workload), choice.templates)
            else:
                self._tell(number, templates=(), containers=())
            patch = choice.patch and workload is not None
            wanted = Wanted(choice.example, workload, choice.container, patch=patch, report=choice.report)
            plain = bundle(drawn, target, wanted, cancel=stop, runs=runs)
            self._tell(number, plain=plain, changes=self._changes(choice, plain), stage="")
            if drawn.plan is not None and drawn.plan.fits and plain.is_worse:
                self._tell(number, stage="Looking for pins")
                pinned = bundle(drawn, target, wanted, pin=True, cancel=stop, runs=runs)
                self._tell(number, pinned=pinned)
            else:
                self._tell(number, pinned=None)
            if number == self._number and self.chosen is not None:
                self._tell(number, changes=self._changes(choice, self.chosen))
        except Cancelled:
            pass
        except DraLabError as error:
            problem = str(error)
            self._tell(number, plain=None, pinned=None, changes=())
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen in the sheet and not end the thread
            problem = f"this is a defect of dra_lab: {type(error).__name__}: {error}"
            self._tell(number, plain=None, pinned=None, changes=())
        self._tell(number, stage="", problem=problem)

    def _changes(self, choice: ExportChoice, made: Bundle) -> tuple[FileChange, ...]:
        return file_changes(choice.folder or DEFAULT_FOLDER, made.texts)

    def _tell(self, number: int, **values: object) -> None:
        """Set what is known, if nothing newer was asked for."""
        if number != self._number:
            return
        for name, value in values.items():
            setattr(self, name, value)
        self._session.events.emit("export")
