"""What a step of the undo history stands on: the cluster, the node that is pinned, and the places of the boxes."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.model.cluster import Cluster


class Loaded:
    """A cluster that was loaded. While it is followed, `cluster` is its latest state."""

    def __init__(self, cluster: Cluster) -> None:
        """Hold a cluster."""
        self.cluster = cluster


class Scene:
    """What a load or an opened file begins: a loaded cluster, the node that is pinned, the places of the boxes.

    `node` and `layout` are kept up to date when another scene takes its place, and are used when it is undone to.
    """

    def __init__(self, loaded: Loaded, node: str = "", layout: Mapping[str, tuple[float, float]] | None = None) -> None:
        """Begin on a loaded cluster."""
        self.loaded = loaded
        self.node = node
        self.layout = dict(layout or {})
