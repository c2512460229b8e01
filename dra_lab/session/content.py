"""What a person makes and can undo: the drawing, the workloads of the fleet, what-if layers and kept plans."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Addable, Layer
from dra_lab.model.sketch import ClaimSketch, Drawing, Kept, PodDrawing, claims_of
from dra_lab.session.loaded_scene import Scene
from dra_lab.topology.layered import with_possible_layers


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

    def with_sketch(self, sketch: ClaimSketch) -> Content:
        """Return the content with another drawing, which has the claims of the workload that is edited."""
        claims = claims_of(sketch)
        workloads = tuple(replace(pod, claims=claims) if pod.pod == self.editing else pod for pod in self.workloads)
        return replace(self, sketch=sketch, workloads=workloads)

    def into(self, drawing: Drawing) -> Drawing:
        """Return a drawing with this content."""
        return replace(
            drawing,
            sketch=self.sketch,
            workloads=self.workloads,
            editing=self.editing,
            layers=self.layers,
            kept=self.kept,
            addable=self.addable,
        )


MOST_KEPT = 12
"""Kept plans in a file."""


def content_of(drawing: Drawing, scene: Scene) -> Content:
    """Return the content of a drawing in a scene."""
    parts = drawing.sketch, drawing.workloads, drawing.editing, drawing.layers, drawing.kept, drawing.addable
    return Content(scene, *parts)


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
    return replace(content, layers=layers, workloads=workloads, addable=addable)
