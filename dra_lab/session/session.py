"""Session: the cluster, the drawing and the answers of one notebook; it delegates and decides nothing.

How questions are answered stands in `answering`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.drivers.profiles import profile
from dra_lab.errors import DraLabError, InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import KINDS, KindRule
from dra_lab.model.goals import FIXED_GOALS, goal_order
from dra_lab.model.placement import measured_path
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import Movable
from dra_lab.model.sketch import ClaimSketch, Drawing, claims_of, pod_drawing
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.session.answering import Answering
from dra_lab.session.drawings import (
    MODES,
    READ,
    DrawingFile,
    first_cluster,
    first_drawing,
    first_question,
    mode_of,
    pinned_problem,
    view_of,
)
from dra_lab.session.fleet import Adding, SessionFleet
from dra_lab.session.history import Content, History, Loaded, Scene, content_of, on_other_cluster, with_settings
from dra_lab.session.live import LiveCluster, Pending
from dra_lab.session.preparing import (
    check_node,
    checked_findings,
    is_being_checked,
    is_counted,
    is_prepared,
    prepare,
    settled_layers,
)
from dra_lab.sources import load_cluster, own_profiles

if TYPE_CHECKING:
    from dra_lab.sources.driver_profiles import GivenProfiles
    from dra_lab.sources.live.following import Following


class Session(Answering):
    """A cluster, a drawing with its undo history and its file, and the latest answer.

    `cluster` is a Cluster or what `load_cluster` takes; without one, the drawing's file names it, else the shipped
    example is shown (`example` is True until something changes). A sample without `sketch` and `file` shows its own.
    Every change is planned in a worker thread; `wait()` waits for the answer and `plan()` returns it. `release` and
    `feature_gates` (`{"DRADerivedAttributes": True}`) are the target; what is given comes before what the drawing's
    file says. `drivers` are your own profiles of drivers, as `load_cluster` takes them, for every cluster of the
    session. Without `drawn`, the worker leaves out what only the canvas shows. The thread ends with `close`, or when
    nothing refers to the session any more. Raises SourceError or SketchError for what cannot be read.
    """

    def __init__(
        self,
        cluster: str | Path | Cluster | None = None,
        *,
        file: str | Path | None = None,
        sketch: ClaimSketch | None = None,
        release: str | KubernetesRelease = "",
        feature_gates: Mapping[str, bool] | None = None,
        node: str = "",
        goals: Sequence[str] = (),
        time_limit: float | None = 30.0,
        drivers: GivenProfiles | None = None,
        drawn: bool = True,
    ) -> None:
        """Read what is given, restore the drawing's file if there is one, and begin to plan."""
        from dra_lab.session.comparing import Comparing
        from dra_lab.session.exporting import Exporting  # which a command that only reads a plan file does not load

        self.profiles = own_profiles(drivers)
        super().__init__(time_limit, drawn=drawn)
        self.file = DrawingFile(Path(file)) if file else None
        self.highlight, self.shown, self.looked_at = "", "best", ("", "")
        self._live = LiveCluster(
            self._take_live,
            lambda: self.stale or is_being_checked(self.cluster) or (self.mode == "fleet" and self.fleet.stale),
            lambda: self.events.emit("following"),
        )
        kept = self.file.read() if self.file else None
        version, own = (release.version, release.gates) if isinstance(release, KubernetesRelease) else (release, {})
        drawing, self.example = first_drawing(kept, cluster, sketch, version, node, goals, examples=self.file is None)
        found, self.drawing, self.problem = first_cluster(cluster, drawing, node)
        self.snapshot = found.with_profiles(self.profiles)
        self.ask: Mapping[str, Any] = {} if cluster else first_question(drawing)
        self.history: History[Content] = History(content_of(drawing, Scene(Loaded(self.snapshot), drawing)))
        self.mode = mode_of(drawing)
        self._layers = drawing.layers
        self.cluster, self.refused_layers, self.layer_notes = settled_layers(self.snapshot, drawing.layers)
        self.fleet: SessionFleet = SessionFleet(self)
        self.adding = Adding(self, self.fleet)
        self.pending = Pending(self)
        self.exporting = Exporting(self, self.fleet)
        self.comparing = Comparing(self)
        gates = {**own, **(feature_gates or {})}
        self.feature_gates = KubernetesRelease(drawing.release or self.cluster.default_release, gates).gates
        self.replan()

    @property
    def is_prepared(self) -> bool:
        """Say whether what views ask of the cluster is known: if not, the worker finds it out and tells `cluster`."""
        return is_prepared(self.cluster)

    @property
    def is_counted(self) -> bool:
        """Say whether the devices that the drawing may mean are known: if not, the worker looks and tells `status`."""
        return is_counted(self.cluster, self.sketch, self.release)

    def edit(self, sketch: ClaimSketch) -> None:
        """Replace the drawing: one undo step. Raises SketchError, keeping everything, when it is inconsistent."""
        check_sketch(sketch)
        self.change(self.history.present.with_sketch(pod_drawing(sketch.name, claims_of(sketch))))

    def change(self, content: Content) -> None:
        """Replace drawing, workloads, layers and kept plans: one undo step, nothing if they are the present ones."""
        self._step(lambda: self.history.push(content))

    def complete(self, content: Content) -> None:
        """Replace the content without an undo step: what a person kept got numbers."""
        self.history.present = content
        self._drawing_changed("fleet", asks=False)

    def undo(self) -> bool:
        """Undo the latest edit, load or opened file; returns False when there is none."""
        return self._step(self.history.undo)

    def redo(self) -> bool:
        """Redo the latest undone step; returns False when there is none."""
        return self._step(self.history.redo)

    def clear(self) -> None:
        """Begin with an empty drawing; can be undone."""
        self.edit(replace(self.sketch, requests=(), links=(), config=(), claims=()))

    def move(self, layout: Mapping[str, tuple[float, float]]) -> None:
        """Keep where the boxes stand; no undo step, no new answer."""
        self.drawing = replace(self.drawing, layout=dict(layout))
        self._save()
        self.events.emit("layout")

    def load(self, source: str | Path | Cluster) -> None:
        """Take another cluster and keep the drawing: one undo step.

        Raises like `load_cluster`, keeping the present one.
        """
        cluster = source if isinstance(source, Cluster) else load_cluster(source)
        self._enter(self.history.present, cluster, self.drawing.layout)

    def open(self, drawing: Drawing, cluster: Cluster | None = None, *, whole: bool = False) -> None:
        """Show another drawing with its places, and with `cluster` on that one: one undo step.

        `whole` takes all that a plan file says: node, release, goals, workloads, layers, mode, and kept plans if it has
        some. Raises SketchError, keeping everything, when the drawing is inconsistent.
        """
        check_sketch(drawing.sketch)
        present = self.history.present
        if whole:
            loaded = present.scene.loaded if cluster is None else Loaded(cluster.with_profiles(self.profiles))
            content = content_of(replace(drawing, kept=drawing.kept or present.kept), Scene(loaded, drawing))
            self._step(lambda: self.history.push(content))
            self.show_mode(mode_of(drawing))
        else:
            self._enter(present.with_sketch(drawing.sketch), cluster, drawing.layout)

    def follow(self) -> None:
        """Let the running cluster's changes reach the answer as they happen, until `unfollow` or another cluster.

        Raises InputError when the cluster is none of `context:NAME`.
        """
        self._live.begin(self.snapshot)

    def unfollow(self) -> None:
        """Keep the cluster as it is now; returns when nothing is connected any more."""
        self._live.end()

    @property
    def following(self) -> Following:
        """Return whether the cluster is followed: a state and, when events are missing, why."""
        return self._live.following

    def set_release(self, version: str) -> None:
        """Plan and write for another release ("" for the cluster's own). Raises InputError when it is unknown."""
        if version:
            KubernetesRelease(version)
        self.drawing = replace(self.drawing, release=version)
        rest = tuple(layer for layer in self.drawing.layers if layer.change != "release")
        if rest != self.drawing.layers:
            self.change(replace(self.history.present, layers=rest))
        else:
            self._drawing_changed("cluster")

    def set_kind(self, driver: str, kind: str) -> None:
        """Take the devices of a driver for this kind, for every cluster of the session; no undo step.

        Raises InputError for a kind that is not known.
        """
        if kind not in KINDS:
            raise InputError(f"{kind!r} is not a kind; use one of {', '.join(KINDS)}")
        known = profile(driver, self.snapshot.profiles)
        self.profiles = {**self.profiles, driver: replace(known, kinds=(KindRule(kind),))}
        self._take_live(self.snapshot)

    def set_movable(self, movable: Movable | None) -> None:
        """Let other running pods move to make room, None for the usual ones; one undo step."""
        self.change(replace(self.history.present, movable=None if movable == Movable() else movable))

    def pin(self, node: str) -> None:
        """Plan on this node only; "" for the best node. Raises InputError when the cluster has no such node."""
        check_node(self.cluster, node)
        self.drawing = replace(self.drawing, node=node)
        self._drawing_changed()

    def order_goals(self, goals: Sequence[str] = ()) -> None:
        """Put goals in front of the others, after the fixed first two; none for the usual order. Raises InputError."""
        order = goal_order(goals)
        named = () if order == goal_order(()) else order[len(FIXED_GOALS) :]
        if named != self.drawing.goals:
            self.drawing = replace(self.drawing, goals=named)
            self._drawing_changed()

    def measured(self, with_link: float, without_link: float) -> None:
        """Use a person's own bandwidths in place of the published range: with the drawn links, and without them.

        They are of the path that kube-scheduler allocates without links. Raises InputError for numbers that are not
        above 0, and if the answer has no such path.
        """
        if not (0 < with_link < math.inf and 0 < without_link < math.inf):
            raise InputError("give two bandwidths above 0, in the same unit: with the link, then without it")
        path = measured_path(self.answer.regrets) if self.answer is not None and self.is_answered else ""
        if not path:
            raise InputError("without the link kube-scheduler allocates no GPU and NIC whose path can be measured")
        own = {**self.drawing.measured, path: (float(with_link), float(without_link))}
        self.drawing = replace(self.drawing, measured=own)
        self._drawing_changed()

    def light(self, subject: str) -> None:
        """Light up a request or a device everywhere; "" for nothing."""
        if subject != self.highlight:
            self.highlight = subject
            self.events.emit("highlight")

    def look_at(self, node: str, device: str = "") -> None:
        """Look at a node, or at one of its devices (`driver/pool/device`): the views show why it does not serve."""
        if (node, device) != self.looked_at:
            self.looked_at = node, device
            self.events.emit("look")

    def show_allocation(self, show: str) -> None:
        """Show another allocation on the picture: `best`, `scheduler`, `plain` or `both`."""
        self.shown = show
        self.events.emit("show")

    def show_mode(self, mode: str) -> None:
        """Show another mode of the planner screen. Raises InputError when there is no such mode."""
        if mode not in MODES:
            raise InputError(f"there is no mode {mode!r}; modes: {', '.join(MODES)}")
        if mode != self.mode:
            self.mode = mode
            self.drawing = replace(self.drawing, view=view_of(mode))
            if not self.example:
                self._save()
            self.ask_fleet()
            self.events.emit("mode")

    def choose(self, option: str) -> None:
        """Answer the open question: `read` a running cluster; `reload` or `overwrite` a file that changed on disk."""
        if self.file is None or not self.ask:
            return
        self.ask = {}
        if option == READ:
            self.load(self.drawing.cluster)
        elif option == "reload":
            self.drawing = self.file.read() or Drawing()
            self.history.push(content_of(self.drawing, self.history.present.scene))
            self._layer(self.snapshot)
            self._drawing_changed("cluster", "sketch", "layout", "fleet", "history", save=False)
        else:
            self.file.overwrite(self.drawing)
        self.events.emit("ask")

    def __repr__(self) -> str:
        """Return a line; `plan()` returns the answer."""
        return f"<Session: {self.sketch.name or 'an empty drawing'} on {self.cluster.name!r}>"

    def close(self, timeout: float = 5.0) -> None:
        """Stop following and solving; waits at most `timeout` seconds for each thread."""
        self.exporting.end()
        self._live.end()
        for job in (self.comparing, self.pending, self.fleet.stranding, self.adding):
            job.close()
        super().close(timeout)

    def on(self, event: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each event of that name (see EVENTS); returns a function that ends it."""
        return self.events.on(event, callback)

    def _take_live(self, snapshot: Cluster) -> None:
        self.cancel()  # what is still sought of the answer before takes the time of this one
        snapshot = snapshot.with_profiles(self.profiles)
        cluster = settled_layers(snapshot, self.drawing.layers).cluster
        prepare(cluster, self._release_for(cluster, self.drawing))
        # checked after the answer, because a person waits for that; until then the earlier findings stay
        with self.lock:
            self._findings_before = checked_findings(self.cluster, self._findings_before)
            self._layer(snapshot)
            self.history.present.scene.loaded.cluster = snapshot
            if self.drawing.node and self.drawing.node not in cluster.node_by_name:
                self.problem = f"The chosen node {self.drawing.node} is no longer in the cluster; planning on all nodes"
                self.drawing = replace(self.drawing, node="")
                self.events.emit("problem")
        self.events.emit("cluster")
        self.replan()

    def _layer(self, snapshot: Cluster) -> None:
        """Plan on a snapshot with the layers that apply to it."""
        layers = self.history.present.layers
        if snapshot is not self.snapshot or layers != self._layers:
            self.cluster, self.refused_layers, self.layer_notes = settled_layers(snapshot, layers)
        self.snapshot, self._layers = snapshot, layers

    def _enter(self, content: Content, cluster: Cluster | None, layout: Mapping[str, tuple[float, float]]) -> None:
        """Begin a scene, as one undo step; without a cluster on the present one."""
        loaded, drawing = self.history.present.scene.loaded, replace(self.drawing, layout=dict(layout))
        if cluster is not None:
            loaded, drawing = Loaded(cluster.with_profiles(self.profiles)), replace(drawing, node="")
            content = on_other_cluster(content, loaded.cluster)
        scene = Scene(loaded, drawing)
        self._step(lambda: self.history.push(replace(content, scene=scene)))

    def _step(self, move: Callable[[], bool]) -> bool:
        before = self.history.present
        before.scene.drawing = self.drawing
        if not move():
            return False
        now = self.history.present
        events = ["sketch"] if now.sketch != before.sketch else []
        if now.scene is not before.scene:
            events += self._show_scene(before.scene)
        elif now.layers != before.layers:
            self._findings_before = checked_findings(self.cluster, self._findings_before)
            self._layer(self.snapshot)
            events.append("cluster")
        # workloads and kept plans are no part of the question about the claim
        changes_claim = bool(events) or now.movable != before.movable
        if replace(now, sketch=before.sketch, scene=before.scene) != before:
            events.append("fleet")
        self._drawing_changed(*events, "history", asks=changes_claim)
        return True

    def _show_scene(self, before: Scene) -> list[str]:
        """Take over what the history's present step stands on, which is another scene; return what has changed."""
        scene = self.history.present.scene
        self.drawing = with_settings(self.drawing, scene)
        if scene.loaded is not before.loaded:
            self._live.end()
            self.fleet.forget()
            self._findings_before = ()
        scene.loaded.cluster = scene.loaded.cluster.with_profiles(self.profiles)
        self._layer(scene.loaded.cluster)
        self.problem = pinned_problem(self.cluster, self.drawing.node)
        return ["cluster", "layout", "problem"]

    def _drawing_changed(self, *events: str, save: bool = True, asks: bool = True) -> None:
        self.example = False
        self.drawing = self.history.present.into(self.drawing)
        if save:
            self._save()
        self.events.emit(*events)
        if asks:
            self.replan()
        else:
            self.ask_fleet()

    def _save(self) -> None:
        if self.file is None:
            return
        try:
            if not self.file.write(self.drawing):
                name = self.file.path.name
                text = f"{name} changed outside this planner. Use its content, or overwrite it with this drawing?"
                self.ask = {"text": text, "options": [["reload", "Use the file"], ["overwrite", "Overwrite it"]]}
                self.events.emit("ask")
        except DraLabError as error:
            self.problem = str(error)
            self.events.emit("problem")
