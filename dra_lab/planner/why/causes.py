"""The parts of a drawing that keep it from fitting, by the names that the drawing gives them."""

from __future__ import annotations

from msgspec import Struct

from dra_lab.model.names import split_request
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Element
from dra_lab.model.sketch import ClaimSketch


class Causes(Struct, frozen=True):
    """The requests and links of a drawing that keep it from fitting, in the order of the drawing."""

    requests: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


def causes(plan: Plan) -> Causes:
    """Return the requests and links that keep a plan from fitting; none for a plan that fits or is not decided.

    They are the parts that cannot hold together on any node, else those on the nearest node. As long as these are not
    known, they are what the sentences of the answer are about; a link then comes with its requests.
    """
    if plan.status is not PlanStatus.INFEASIBLE:
        return Causes()
    conflicts = plan.reasons.conflicts if plan.reasons is not None else ()
    if conflicts:
        return _named(plan.sketch, {_name(element) for element in conflicts[-1].elements})
    subjects = {name for shortfall in plan.shortfalls for name in shortfall.subject.split(", ")}
    ends = {end for link in plan.sketch.links if link.name in subjects for end in link.requests}
    return _named(plan.sketch, {split_request(name)[0] for name in (*subjects, *ends)})


def _name(element: Element) -> str:
    return element.subject if element.kind == "link" else split_request(element.subject)[0]


def _named(sketch: ClaimSketch, names: set[str]) -> Causes:
    return Causes(
        tuple(request.name for request in sketch.requests if request.name in names),
        tuple(link.name for link in sketch.links if link.name in names),
    )
