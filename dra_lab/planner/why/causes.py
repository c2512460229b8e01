"""The parts of a drawing that keep it from fitting, by the names that the drawing gives them."""

from __future__ import annotations

from dra_lab.model.names import split_request
from dra_lab.model.plan import Plan, PlanStatus


def causes(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return ("request" or "link", name) of what keeps a plan from fitting; () for one that fits or is not decided.

    They are the parts that cannot hold together on any node, else those on the nearest node. As long as these are not
    known, they are what the sentences of the answer are about; a link then comes with its requests.
    """
    if plan.status is not PlanStatus.INFEASIBLE:
        return ()
    conflicts, sketch = plan.reasons.conflicts if plan.reasons is not None else (), plan.sketch
    if conflicts:
        parts = {(part.kind == "link", part.subject) for part in conflicts[-1].elements}
        names = {subject if is_link else split_request(subject)[0] for is_link, subject in parts}
    else:
        subjects = {name for shortfall in plan.shortfalls for name in shortfall.subject.split(", ")}
        ends = {end for link in sketch.links if link.name in subjects for end in link.requests}
        names = {split_request(name)[0] for name in subjects | ends}
    requests = (("request", request.name) for request in sketch.requests if request.name in names)
    return (*requests, *(("link", link.name) for link in sketch.links if link.name in names))
