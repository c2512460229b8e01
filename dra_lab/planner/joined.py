"""Several claims as one drawing: a pod with several claims, or the pods of several workloads on one node."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dra_lab.model.names import MARK, part_of
from dra_lab.model.sketch import ClaimSketch

__all__ = ["MARK", "join_sketches", "part_of"]


def join_sketches(parts: Mapping[str, ClaimSketch], name: str = "joined") -> ClaimSketch:
    """Return one drawing with every request and link of all parts, each named `part:name`.

    Constraints of a claim never reach into another (`spec.devices.constraints[].requests` names requests of its own
    claim), so the parts share nothing but the devices. The result is for the planner: such names cannot be exported.
    """
    requests, links = [], []
    for part, sketch in parts.items():
        requests += [replace(request, name=f"{part}{MARK}{request.name}") for request in sketch.requests]
        for link in sketch.links:
            tied = tuple(f"{part}{MARK}{reference}" for reference in link.requests)
            links.append(replace(link, name=f"{part}{MARK}{link.name}", requests=tied))
    return ClaimSketch(name, tuple(requests), tuple(links))
