"""The export of a session while a person looks at it: what would be written, simulated in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dra_lab.errors import Cancelled, DraLabError, ExportError, InputError, did_you_mean
from dra_lab.exports.bundle import Bundle, Wanted, write_bundle
from dra_lab.exports.gangs.gang_files import SCHEDULERS
from dra_lab.exports.readme import not_pinnable
from dra_lab.exports.workload_file import container_names, pod_templates, read_workload
from dra_lab.exports.written_files import FileChange, file_changes
from dra_lab.manifests.pod_templates import PodField
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.session.job import Job, Run
from dra_lab.session.outputs import Planned, Runs, bundle, drawn_of, fleet_of
from dra_lab.sketch.claim_objects import Target
from dra_lab.sketch.object_names import object_name

if TYPE_CHECKING:
    from dra_lab.session.answering import Answering
    from dra_lab.session.fleet import SessionFleet

DEFAULT_FOLDER = "manifests"
FLEET_FOLDER = "manifests-fleet"


class ExportChoice(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a person chose for an export.

    `workload` is the path of a workload's file, "" for an `example` of a kind. `templates` are those of its pod
    templates that get the claim, () for those that clearly do. `container` gets the devices, "" for the one that
    requests devices, else the first. With `patch`, a kustomize component changes the workload in place of a copy. `pin`
    is None until a person decides: then pins are on where kube-scheduler allocates something else without them, and off
    for a gang. `extra` are names of `EXTRA_FILES`. `scheduler` is that of a gang, one of `SCHEDULERS`.
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
    scheduler: str = next(iter(SCHEDULERS))


class Exporting:
    """An export before it is written: its files with and without pins, what each comes to, and their changes on disk.

    `of_fleet` says that it is that of all workloads of the fleet, not of the drawing. With gangs among them, it is that
    of one `gang`. Each has a choice of its own. `planned` is the gang with its plan, None before that. `stage` says
    what goes on in the worker, "" if nothing does; `problem` why there are no files; `written` are the files of the
    last write. Every change raises the session's event "export".
    """

    def __init__(self, session: Answering, fleet: SessionFleet) -> None:
        """Take a session; nothing is simulated before `open`."""
        self._session, self._fleet = session, fleet
        self._job = Job[None](self._ended)
        self._off: Callable[[], None] | None = None
        self._about: tuple[object, ...] = ()
        self._asked: tuple[object, ...] = ()
        self._runs: Runs = {}
        self.of_fleet = False
        self._choices: dict[str, ExportChoice] = {}
        self._wanted_gang = ""
        self._forget()

    def _forget(self) -> None:
        self.planned: tuple[Workload, Plan] | None = None
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
        example = "deployment" if self.of_fleet else "pod"
        return self._choices.get(self._subject, ExportChoice(example=example, folder=self._default_folder))

    @choice.setter
    def choice(self, choice: ExportChoice) -> None:
        self._choices[self._subject] = choice

    @property
    def gangs(self) -> tuple[str, ...]:
        """Return the gangs of which one is written, () if ordinary pods are written."""
        return drawn_gangs(self._fleet) if self.of_fleet else ()

    @property
    def gang(self) -> str:
        """Return the gang that is written, "" if ordinary pods are: the chosen one, the drawn one, or the first."""
        gangs = self.gangs
        return next((name for name in (self._wanted_gang, self._fleet.editing, *gangs) if name in gangs), "")

    @property
    def folder(self) -> str:
        """Return the folder that is written to."""
        return self.choice.folder or self._default_folder

    @property
    def _subject(self) -> str:
        """Return what is written: the fleet, the drawing, or a gang by its name."""
        return f"gang {self.gang}" if self.gang else "fleet" if self.of_fleet else "drawing"

    @property
    def _default_folder(self) -> str:
        if self.gang:  # a folder for each, so that the files of two gangs do not replace each other
            return f"{DEFAULT_FOLDER}-{object_name(self.gang)}"
        return FLEET_FOLDER if self.of_fleet else DEFAULT_FOLDER

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
        """Simulate the export after each answer until `close`.

        It is that of all workloads in mode Fleet and if the drawing is a gang, else that of the drawing.
        """
        self._leave()
        self.of_fleet = self._session.mode == "fleet" or self._fleet.editing in drawn_gangs(self._fleet)
        if self.gang:
            self._fleet.is_exported = True
            self._session.ask_fleet()
        self._off = self._session.events.on("fleet" if self.of_fleet else "plan", self.simulate)
        self.simulate()

    @property
    def is_present(self) -> bool:
        """Say whether what is known is that of the present drawing, cluster, answer and release."""
        return self.plain is not None and not self.of_fleet and self._about == self._about_now

    def close(self) -> None:
        """Stop simulating; what was chosen, and what is known of the drawing, stays."""
        self._leave()
        self._job.drop()
        self.stage, self.written = "", ()
        if self.of_fleet:
            self.of_fleet = False
            self._forget()
        self._session.events.emit("export")

    def _leave(self) -> None:
        self._fleet.is_exported, self._wanted_gang, self._asked = False, "", ()
        if self._off is not None:
            self._off()
            self._off = None

    def choose(self, choice: ExportChoice) -> None:
        """Take another choice. Raises InputError for a target that cannot be written, keeping the present choice."""
        Target(self._session.release, choice.api_version, choice.kind, choice.namespace)
        if choice.scheduler not in SCHEDULERS:
            similar = did_you_mean(choice.scheduler, SCHEDULERS)
            raise InputError(f"there is no scheduler {choice.scheduler!r}{similar}")
        other = choice.workload != self.choice.workload
        self.choice = msgspec.structs.replace(choice, templates=(), container="") if other else choice
        self.simulate()

    def choose_gang(self, name: str) -> None:
        """Write another gang, with its own choices. Raises InputError if there is none of that name."""
        if name not in self.gangs:
            raise InputError(f"there is no gang {name!r}{did_you_mean(name, self.gangs)}")
        self._wanted_gang = name
        self.simulate()

    def set_queue(self, queue: str) -> None:
        """Give the gang another queue: one undo step, because the plan file has it too. Raises InputError."""
        drawn = self._fleet.workload(self.gang).gang
        if drawn is not None and drawn.queue != queue:
            self._fleet.set_gang(self.gang, msgspec.structs.replace(drawn, queue=queue))

    def cancel(self) -> None:
        """Stop looking for pins, or planning the fleet; what is known stays."""
        if self.of_fleet and self._fleet.stale:
            self._session.cancel()
            return
        self._asked = ()
        self._job.drop()
        self.stage = ""
        self._session.events.emit("export")

    def write(
        self, *, overwrite: bool = False, allow_worse: bool = False, without: Collection[str] = ()
    ) -> tuple[Path, ...]:
        """Write what is shown, except `without`, and return the files. Raises ExportError if nothing may be written."""
        made = self.chosen
        if made is None:
            raise ExportError("there is nothing to write yet; wait until kube-scheduler is simulated")
        if made.is_worse and not allow_worse:
            raise ExportError(f"nothing is written. {made.worse}")
        self.written = write_bundle(self.folder, made, overwrite=overwrite, without=without)
        self.changes = file_changes(self.folder, made.texts)
        self._session.events.emit("export")
        return self.written

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is simulated; returns False when the time (in seconds) is over before."""
        return self._job.wait(timeout)

    def end(self) -> None:
        """End the worker thread."""
        self._job.close()

    def simulate(self) -> None:
        """Simulate the export as it is now; what is shown stays until its successor is known."""
        session, choice = self._session, self.choice
        about = self._about_now
        if self.gang and not self._is_planning and self._asked == (about, choice):
            session.events.emit("export")  # the answer of a fleet grows after its plan, which alone is written
            return
        self._job.drop()
        self._asked = ()
        if about != self._about:
            self._about, self._runs = about, {}
            self.plain = self.pinned = self.planned = None
        self.problem, self.written = "", ()
        if self._is_planning:
            self.stage = "Planning"
        else:
            self.stage = "Writing the files" if self.gang else "Simulating kube-scheduler"
            try:
                asked, wanted = self._question()
            except DraLabError as error:
                self._refuse(error)
            else:
                self._asked = about, choice
                self._job.start(lambda run: self._make(run, asked, wanted, choice))
        session.events.emit("export")

    @property
    def _is_planning(self) -> bool:
        """Say whether the plan may still change; that of gangs is final before all is known of it."""
        if not self.of_fleet:
            return self._session.stale
        answer = self._fleet.answer if self.gang and self._fleet.is_current else None
        return self._fleet.stale and not (answer is not None and answer.is_planned)

    @property
    def _about_now(self) -> tuple[object, ...]:
        session = self._session
        if self.gang:
            answer = self._fleet.answer
            plan = answer.plan if answer is not None and answer.gangs is not None else None
            return self._fleet.workload(self.gang), id(plan), self._fleet.is_current, session.release
        if self.of_fleet:
            return id(self._fleet.answer), session.release
        drawn = drawn_of(session)
        return drawn.sketch, id(drawn.cluster), id(drawn.plan), session.release

    def _question(self) -> tuple[Planned, Wanted]:
        """Return what is exported, and what is wanted of a gang. Raises what planning refused."""
        if not self.of_fleet:
            return drawn_of(self._session), Wanted()
        asked, wanted = fleet_of(self._fleet, self.gang)
        if wanted.gang is not None and asked.plan is not None:
            self.planned = wanted.gang, asked.plan
        return asked, wanted

    def _make(self, run: Run[None], asked: Planned, wanted: Wanted, choice: ExportChoice) -> None:
        templates = pod_templates(Path(choice.workload)) if choice.workload else ()
        self._report(run, templates=templates, containers=container_names(templates))
        workload = read_workload(Path(choice.workload), choice.templates) if choice.workload else None
        wanted = replace(
            wanted,
            example=choice.example,
            workload=workload,
            container=choice.container,
            patch=choice.patch and workload is not None,
            extra=choice.extra,
            scheduler=choice.scheduler if wanted.gang is not None else "",
        )
        target = Target(self._session.release, choice.api_version, choice.kind, choice.namespace)

        def made(*, pin: bool) -> Bundle:
            return bundle(asked, target, wanted, pin=pin, cancel=run.stop, runs=self._runs)

        plain = made(pin=self.planned is not None and bool(choice.pin) and not not_pinnable(*self.planned))
        self._report(run, plain=plain, changes=self._changes(choice, plain), stage="")
        if wanted.gang is None and asked.plan is not None and asked.plan.fits and plain.is_worse:
            self._report(run, stage="Looking for pins")
            self._report(run, pinned=made(pin=True))
        else:
            self._report(run, pinned=None)
        if run.is_latest and self.chosen is not None:
            self._report(run, changes=self._changes(choice, self.chosen))

    def _ended(self) -> None:
        """Take over why there are no files; what was found by a simulation that was cancelled stays."""
        self.stage, refusal = "", self._job.refusal
        if refusal is not None and not isinstance(refusal, Cancelled):
            self._refuse(refusal)
        self._session.events.emit("export")

    def _refuse(self, error: DraLabError) -> None:
        self.plain = self.pinned = None
        self.changes, self.stage, self.problem = (), "", str(error)

    def _changes(self, choice: ExportChoice, made: Bundle) -> tuple[FileChange, ...]:
        return file_changes(choice.folder or self._default_folder, made.texts)

    def _report(self, run: Run[None], **values: object) -> None:
        """Set what is known, if nothing newer was asked for."""
        if run.is_latest:
            for name, value in values.items():
                setattr(self, name, value)
            self._session.events.emit("export")


def drawn_gangs(fleet: SessionFleet) -> tuple[str, ...]:
    """Return the names of the workloads that are gangs; one without a request takes no part in a plan."""
    pods = (pod for pod in fleet.workloads if pod.gang is not None)
    return tuple(pod.pod for pod in pods if any(claim.requests for claim in pod.claims))
