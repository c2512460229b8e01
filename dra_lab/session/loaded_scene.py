"""The context of a step of the undo history: the cluster, and the settings that are not undo steps themselves."""

from __future__ import annotations

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import Drawing


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
