"""What a person makes and can undo: the drawing, the workloads of the fleet, what-if layers and kept plans."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Layer, with_possible_layers
from dra_lab.model.sketch import ClaimSketch, Drawing, Kept, PodDrawing


class Content(Struct, frozen=True):
    """The parts of a `Drawing` that are steps of the undo history; `editing` names the workload on the canvas."""

    sketch: ClaimSketch = ClaimSketch()
    workloads: tuple[PodDrawing, ...] = ()
    editing: str = ""
    layers: tuple[Layer, ...] = ()
    kept: tuple[Kept, ...] = ()

    def with_sketch(self, sketch: ClaimSketch) -> Content:
        """Return the content with another drawing, which is the claim of the workload that is edited."""
        workloads = tuple(replace(pod, claims=(sketch,)) if pod.pod == self.editing else pod for pod in self.workloads)
        return replace(self, sketch=sketch, workloads=workloads)

    def into(self, drawing: Drawing) -> Drawing:
        """Return a drawing with this content."""
        return replace(drawing, **{name: getattr(self, name) for name in self.__struct_fields__})


def content_of(drawing: Drawing) -> Content:
    """Return the content of a drawing."""
    return Content(*(getattr(drawing, name) for name in Content.__struct_fields__))


def on_other_cluster(content: Content, cluster: Cluster) -> Content:
    """Return the content for another cluster: without layers and pins of nodes and devices that it does not have."""
    refused = with_possible_layers(cluster, content.layers).refused
    layers = tuple(layer for number, layer in enumerate(content.layers) if number not in refused)
    nodes = cluster.node_by_name
    workloads = tuple(
        replace(pod, pins={node: count for node, count in pod.pins.items() if node in nodes}) if pod.pins else pod
        for pod in content.workloads
    )
    return replace(content, layers=layers, workloads=workloads)
