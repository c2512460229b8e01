"""One undo history for mouse, keyboard, Python and YAML."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Addable, Layer
from dra_lab.model.running import Movable
from dra_lab.model.sketch import ClaimSketch, Drawing, Kept, PodDrawing, claims_of
from dra_lab.topology.layered import with_possible_layers


class Loaded:
    """A cluster that was loaded. While it is followed, `cluster` is its latest state."""

    def __init__(self, cluster: Cluster) -> None:
        """Hold a cluster."""
        self.cluster = cluster


class Scene:
    """What a load or an opened file begins: a loaded cluster, and the settings of a drawing (`with_settings`).

    `drawing` is kept up to date when another scene takes its place, and is used when it is undone to.
    """

    def __init__(self, loaded: Loaded, drawing: Drawing) -> None:
        """Begin on a loaded cluster with the settings of a drawing."""
        self.loaded = loaded
        self.drawing = drawing


class Content(Struct, frozen=True):
    """One step of the undo history: parts of a `Drawing`, and the scene that they stand in.

    `editing` names the workload on the canvas. Two steps are equal if they show the same in the same scene.
    """

    scene: Scene
    sketch: ClaimSketch = ClaimSketch()
    workloads: tuple[PodDrawing, ...] = ()
    editing: str = ""
    layers: tuple[Layer, ...] = ()
    kept: tuple[Kept, ...] = ()
    addable: Addable = Addable()
    movable: Movable | None = None

    def with_sketch(self, sketch: ClaimSketch) -> Content:
        """Return the content with another drawing, which has the claims of the workload that is edited."""
        claims = claims_of(sketch)
        workloads = tuple(replace(pod, claims=claims) if pod.pod == self.editing else pod for pod in self.workloads)
        return replace(self, sketch=sketch, workloads=workloads)

    def into(self, drawing: Drawing) -> Drawing:
        """Return a drawing with this content."""
        return replace(drawing, **{name: getattr(self, name) for name in _PARTS})


_PARTS = Content.__struct_fields__[1:]
"""The parts of a drawing that a step has."""

MOST_KEPT = 12
"""Kept plans in a file."""


def content_of(drawing: Drawing, scene: Scene) -> Content:
    """Return the content of a drawing in a scene."""
    return Content(scene, **{name: getattr(drawing, name) for name in _PARTS})


def on_other_cluster(content: Content, cluster: Cluster) -> Content:
    """Return the content for another cluster, without what names nodes and devices that it does not have."""
    refused = with_possible_layers(cluster, content.layers).refused
    layers = tuple(layer for number, layer in enumerate(content.layers) if number not in refused)
    nodes = cluster.node_by_name
    workloads = tuple(
        replace(pod, pins={node: count for node, count in pod.pins.items() if node in nodes}) if pod.pins else pod
        for pod in content.workloads
    )
    types = tuple(one for one in content.addable.types if one.node in nodes)
    addable = content.addable if types == content.addable.types else Addable(types=types)
    movable = content.movable
    if movable is not None and movable.namespaces:
        there = {pod.metadata.namespace for pod in cluster.pods}
        movable = replace(movable, namespaces=tuple(one for one in movable.namespaces if one in there))
    return replace(content, layers=layers, workloads=workloads, addable=addable, movable=movable)


def with_settings(drawing: Drawing, scene: Scene) -> Drawing:
    """Return a drawing with the cluster of a scene, and the settings that go with it."""
    kept = scene.drawing
    return replace(
        drawing,
        cluster=scene.loaded.cluster.name,
        layout=kept.layout,
        node=kept.node,
        release=kept.release,
        goals=kept.goals,
        measured=kept.measured,
    )


T = TypeVar("T")
MAX_STEPS = 200


class History(Generic[T]):
    """The present value and up to MAX_STEPS values before it; a new value forgets what was undone."""

    def __init__(self, present: T) -> None:
        """Begin with a value and nothing to undo."""
        self.present = present
        self._past: list[T] = []
        self._future: list[T] = []

    def push(self, value: T) -> bool:
        """Make a value the present one; returns False, and keeps everything, when it equals the present one."""
        if value == self.present:
            return False
        self._past = [*self._past, self.present][-MAX_STEPS:]
        self._future = []
        self.present = value
        return True

    def undo(self) -> bool:
        """Go one step back; returns False when there is none."""
        if not self._past:
            return False
        self._future.append(self.present)
        self.present = self._past.pop()
        return True

    def redo(self) -> bool:
        """Take one undone step again; returns False when there is none."""
        if not self._future:
            return False
        self._past.append(self.present)
        self.present = self._future.pop()
        return True

    @property
    def can_undo(self) -> bool:
        """Say whether there is a step to undo."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Say whether there is a step to redo."""
        return bool(self._future)
