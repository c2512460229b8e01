"""What must hold of the workloads of a plan file."""

from __future__ import annotations

from dra_lab.errors import SketchError
from dra_lab.model.sketch import PodDrawing, check_names, check_sketch

MOST_PODS = 1_000_000
"""Most pods of one workload."""


def check_pods(pods: tuple[PodDrawing, ...]) -> None:
    """Raise SketchError, naming the pod, for a workload that cannot be planned or a name that is there twice."""
    names = [pod.pod for pod in pods]
    for pod in pods:
        _check_pod(pod, names)


def _check_pod(pod: PodDrawing, names: list[str]) -> None:
    check_names("pod", [pod.pod])
    if names.count(pod.pod) > 1:
        raise SketchError(f"there are two workloads {pod.pod!r}; give each its own name")
    if not pod.claims:
        raise SketchError(f"the pod {pod.pod!r} has no claim; add one, or remove the workload")
    for claim in pod.claims:
        if claim.claims:
            raise SketchError(f"pod {pod.pod!r}: {claim.name!r} is a pod with claims of its own; list its claims here")
        try:
            check_sketch(claim)
        except SketchError as error:
            raise SketchError(f"pod {pod.pod!r}: {error.message}") from None
    if not 0 <= pod.replicas <= MOST_PODS:
        raise SketchError(f"the pod {pod.pod!r} has {pod.replicas:,} replicas; give 0 to {MOST_PODS:,}")
    if any(count < 1 for count in pod.pins.values()) or sum(pod.pins.values()) > pod.replicas:
        raise SketchError(
            f"the pins of {pod.pod!r} must be for 1 pod or more each, and for at most {pod.replicas:,} in all"
        )
