"""The gang of the pod that is drawn: pods like it that a person keeps in one rack or other domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.model.sketch import ClaimSketch, GangDrawing, PodDrawing, claims_of
from dra_lab.model.sketch_rules import check_pods
from dra_lab.session.session_fleet import free_name

if TYPE_CHECKING:
    from dra_lab.session.session import Session


def drawn_gang(session: Session) -> GangDrawing | None:
    """Return the gang of the workload that is drawn, None if it is none."""
    content = session.history.present
    return next((pod.gang for pod in content.workloads if pod.pod == content.editing), None)


def set_drawn_gang(session: Session, gang: GangDrawing | None) -> None:
    """Make the drawn pod one gang, change it, or with None make it ordinary pods again; one undo step.

    A drawing that is no workload becomes one. Raises InputError if nothing is drawn, SketchError for a wrong size.
    """
    name, content = session.fleet.editing, session.history.present
    if name:
        session.fleet.set_gang(name, gang)
        return
    if not content.sketch.requests:
        raise InputError("nothing is drawn; draw a request first, then keep its pods together")
    if gang is not None:
        pod = _workload(content.sketch, gang, [other.pod for other in content.workloads])
        workloads = (*content.workloads, pod)
        check_pods(workloads)
        session.change(replace(content, workloads=workloads, editing=pod.pod))


def _workload(sketch: ClaimSketch, gang: GangDrawing, taken: list[str]) -> PodDrawing:
    return PodDrawing(pod=free_name(sketch.name, taken), claims=claims_of(sketch), gang=gang)
