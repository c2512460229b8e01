"""Lab: the planner screen: one session, its four views, and one method for each thing a person does."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ipywidgets

from dra_lab.course.progress_file import LESSONS
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.session.drawings import LEARN, read_sketch
from dra_lab.session.fleet import SessionFleet
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.hardware_view import HardwareView
from dra_lab.widgets.lesson import Lesson
from dra_lab.widgets.plan_view import PlanView
from dra_lab.widgets.session_view import SessionView, on_kernel_loop
from dra_lab.widgets.stored_output import show_answer_with_picture, wait_for_answer, with_stored

if TYPE_CHECKING:
    from dra_lab.sources.driver_profiles import GivenProfiles

DRAWING_FILE = "plan.dralab.yaml"
_OPEN: weakref.WeakValueDictionary[Path, Lab] = weakref.WeakValueDictionary()


class Lab(ipywidgets.Box):  # type: ignore[misc]  # ipywidgets has no types
    """The planner: draw what a workload needs, see where it fits best, take the manifests away.

    `cluster` is a Cluster or what `load_cluster` takes (`sample:NAME`, a file, a folder); without one, the drawing's
    file names it, else the shipped example opens. `file` holds the drawing and is written after every change; None
    keeps nothing. `sketch` is a drawing, or a file that `read_sketch` reads: a claim, a Pod, a Deployment. `release` is
    the target release, "" for the cluster's own, and `feature_gates` its gates that differ. `drivers` are your own
    profiles of drivers, as `load_cluster` takes them, for every cluster of this planner. With `session`, that one is
    shown and the other arguments must be left out. Raises SourceError or SketchError for what cannot be read.

    `session`, `bar`, `canvas`, `plan_view` and `hardware` are the parts.

    Example:
        >>> from dra_lab import Lab
        >>> lab = Lab("sample:two-sockets", "sample:two-sockets/lesson", file=None)
        >>> lab.plan().node
        'lab-1'
        >>> lab.close()
    """

    def __init__(
        self,
        cluster: str | Path | Cluster | None = None,
        sketch: ClaimSketch | str | Path | None = None,
        *,
        file: str | Path | None = DRAWING_FILE,
        release: str | KubernetesRelease = "",
        feature_gates: Mapping[str, bool] | None = None,
        drivers: GivenProfiles | None = None,
        session: Session | None = None,
    ) -> None:
        """Open the session and show it."""
        self._take_over(file if session is None else None)
        drawn = read_sketch(sketch) if isinstance(sketch, str | Path) else sketch
        self.session = session or Session(
            cluster, file=file, sketch=drawn, release=release, feature_gates=feature_gates, drivers=drivers
        )
        self.session.replay_delay = 1.0
        self.session.count_copies()
        self.session.prepares_export = True
        show_answer_with_picture(self.session)
        on_kernel_loop(self.session)
        self.bar = ClusterBar(self.session)
        # In the order in which an answer reaches them: the picture is what a person waits for.
        self.canvas = ClaimCanvas(self.session, height=0)
        self.hardware = HardwareView(self.session)
        self.plan_view = PlanView(self.session)
        self._views: tuple[SessionView, ...] = (self.bar, self.canvas, self.hardware, self.plan_view)
        for view, name in zip(self._views, ("bar", "canvas", "hardware", "plan"), strict=True):
            view.add_class(f"dra-lab-{name}")
        # One of them speaks for the cell that shows them all.
        for view in (self.bar, self.canvas, self.hardware):
            view.is_part = True
        # Two boxes: the outer one is the container whose width decides, the inner one the grid. The Tab key follows the
        # order in the inner one; the dock of the plan view moves behind the others (widgets/src/view/grid.tsx).
        self._grid = ipywidgets.Box((self.bar, self.plan_view, self.canvas, self.hardware))
        self._grid.add_class("dra-lab-grid")
        self._mode = ""
        self._learn: Lesson | None = None
        self._kept: TemporaryDirectory[str] | None = None
        self._show_mode()
        self.session.on("mode", self._show_mode)
        super().__init__([self._grid])
        self.add_class("dra-lab")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:
        shown: dict[str, Any] | None = super()._repr_mimebundle_(**options)
        if shown is None or not self._views:
            return shown
        wait_for_answer(self.session)
        return with_stored(shown, self.plan_view.stored_parts())

    def _show_mode(self) -> None:
        # The grid's class decides which views are seen, and where.
        self._grid.remove_class(f"is-{self._mode}")
        self._mode = self.session.mode
        self._grid.add_class(f"is-{self._mode}")
        if self._mode == LEARN and self._learn is None:
            self._learn = Lesson(folder=self._lesson_folder())
            pane = ipywidgets.Box([self._learn])
            for name in ("dra-mode-pane", "dra-learn"):
                pane.add_class(name)
            self._grid.children = [*self._grid.children, pane]

    def _lesson_folder(self) -> Path:
        """Return the folder for the files of lessons; without a plan file, one that ends with the planner."""
        file = self.session.file
        if file is not None:
            return file.path.parent / LESSONS
        self._kept = TemporaryDirectory(prefix="dra-lab-")
        return Path(self._kept.name)

    def _take_over(self, file: str | Path | None) -> None:
        # Running the cell again makes a second planner of the same file: the first one ends, or both would write it.
        if file is None:
            return
        path = Path(file).absolute()
        before = _OPEN.pop(path, None)
        if before is not None:
            before.end(f"This planner has ended because another cell opened {path.name} again.")
        _OPEN[path] = self

    def end(self, why: str = "") -> None:
        """End the session's worker and the views.

        Args:
            why: The text that is shown in their place; default "": nothing.
        """
        if self.comm is None or not self._views:
            return
        self.children = [ipywidgets.Label(why)] if why else []
        learn = (self._learn,) if self._learn is not None else ()
        for view in (*self._views, *learn, self._grid):
            view.close()
        self._views, self._learn = (), None
        if self._kept is not None:
            self._kept.cleanup()
        self.session.close()

    @property
    def cluster(self) -> Cluster:
        """Return the cluster that is planned on."""
        return self.session.cluster

    @property
    def sketch(self) -> ClaimSketch:
        """Return what is drawn; setting it is one step that can be undone. Raises SketchError when inconsistent."""
        return self.session.sketch

    @sketch.setter
    def sketch(self, sketch: ClaimSketch) -> None:
        self.session.edit(sketch)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was noticed about the cluster and the answer, errors first."""
        return self.session.findings

    def plan(self, *, time_limit: float | None = None) -> Plan:
        """Return the answer to the present drawing, and wait for it.

        Args:
            time_limit: The most seconds of solving; default None: the session's limit.

        Returns:
            The plan, which may be one that does not fit.
        """
        return self.session.plan(time_limit=time_limit)

    def order_goals(self, *goals: str) -> None:
        """Put goals in front of the others, such as `lab.order_goals("roots", "numa")`.

        Args:
            *goals: Names of goals; none for the usual order.

        Raises:
            InputError: A goal is unknown or cannot be moved.
        """
        self.session.order_goals(goals)

    def load(self, source: str | Path | Cluster) -> None:
        """Take another cluster and keep the drawing.

        Args:
            source: A Cluster, or what `load_cluster` takes.

        Raises:
            SourceError: The cluster cannot be read; the present one stays. `load_cluster` has the other errors.
        """
        self.session.load(source)

    @property
    def fleet(self) -> SessionFleet:
        """Return the workloads: `lab.fleet.set_replicas(name, 8)`, `lab.fleet.pin(name, node)`, `lab.fleet.plan()`."""
        return self.session.fleet

    def what_if(self, *changes: Layer | str) -> None:
        """Add what-if changes of the cluster; `undo` removes them again.

        Args:
            *changes: Layers, or texts such as "drain node-1", "add 4=node-2" and "idle".

        Raises:
            InputError: With the most similar name, for a node, device or release that does not exist.
        """
        self.session.fleet.what_if(*changes)

    def follow(self) -> None:
        """Let changes of a running cluster (`context:NAME`) reach picture and answer as they happen.

        Raises InputError for another source. `lab.session.following` says how it goes.
        """
        self.session.follow()

    def unfollow(self) -> None:
        """Keep the cluster as it is now; returns when nothing is connected any more."""
        self.session.unfollow()

    def undo(self) -> bool:
        """Undo the latest edit; returns False if there is none."""
        return self.session.undo()

    def redo(self) -> bool:
        """Make the latest undone edit again; returns False when there is none."""
        return self.session.redo()

    def export(
        self,
        folder: str | Path = "manifests",
        *,
        pin: bool = False,
        allow_worse: bool = False,
        overwrite: bool = False,
        api_version: str = "v1",
        kind: str = "template",
        namespace: str = "",
        workload: str | Path = "",
        templates: Sequence[str] = (),
    ) -> tuple[Path, ...]:
        """Write the manifests to a folder and return the files, as `dra-lab export` does.

        Args:
            folder: The folder, which is made if need be.
            pin: Add the pins with which kube-scheduler allocates the plan.
            allow_worse: Write the manifests also if kube-scheduler does not allocate the plan with them.
            overwrite: Replace files that a person edited.
            api_version: `v1`, `v1beta2` or `v1beta1` of resource.k8s.io.
            kind: `template` (each pod gets its own devices) or `claim` (pods share them).
            namespace: Namespace of the claim; "" leaves it out.
            workload: File of a workload that gets the claim; "" writes an example pod.
            templates: Paths of its pod templates that get the claim; none for those that clearly do.

        Returns:
            The files.

        Raises:
            ExportError: kube-scheduler does something else than the plan, or a file cannot be written.
            InputError: The target or the workload cannot be written.
        """
        from dra_lab.exports.bundle import Wanted
        from dra_lab.exports.workload_file import read_workload
        from dra_lab.session.outputs import export

        self.plan()
        return export(
            self.session,
            folder,
            pin=pin,
            allow_worse=allow_worse,
            overwrite=overwrite,
            api_version=api_version,
            kind=kind,
            namespace=namespace,
            wanted=Wanted(workload=read_workload(Path(workload), templates) if workload else None),
        )

    def measured(self, with_link: float, without_link: float) -> None:
        """Replace the published range of bandwidth by your own two numbers; see `Session.measured`.

        Args:
            with_link: The bandwidth with the drawn links, above 0.
            without_link: The bandwidth without them, in the same unit.

        Raises:
            InputError: A number is not above 0, or the answer has no such path.
        """
        self.session.measured(with_link, without_link)

    def measure(self, folder: str | Path = "measure", *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write two Jobs that measure what the link is worth, with a README.

        Args:
            folder: The folder, which is made if need be.
            overwrite: Replace files that a person edited.

        Returns:
            The files.

        Raises:
            InputError: The answer has no link to measure.
            ExportError: A file cannot be written.
        """
        from dra_lab.session.outputs import measure

        self.plan()
        return measure(self.session, folder, overwrite=overwrite)

    def draw(self, path: str | Path, *, node: str = "") -> Path:
        """Write the picture (`.svg`) or the whole answer (`.html`) to a file.

        Args:
            path: The file, whose ending decides.
            node: The node to draw; default "": the plan's.

        Returns:
            The file.

        Raises:
            ExportError: The file cannot be written.
        """
        from dra_lab.session.outputs import manifest, picture_page

        plan, session = self.plan(), self.session
        picture_page(
            self.cluster, plan, node, Path(path), manifest(session), session.drawing, snapshot=session.snapshot
        )
        return Path(path)

    def close(self) -> None:
        """End the session's worker and take the views away; the drawing stays in its file."""
        self.end()
        for child in self.children:
            child.close()
        super().close()

    def __repr__(self) -> str:
        """Say what is planned, for places without widgets."""
        from dra_lab.words.answer_sentence import answer_sentence

        answer = self.session.answer
        words = answer_sentence(answer) if answer is not None and not self.session.stale else "planning ..."
        return f"Lab({self.cluster.name!r}): {words}"
