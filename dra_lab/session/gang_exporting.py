"""The gang that the Export sheet writes: which gangs there are, and one of them with its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_bundle import PlannedGang
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.sketch.object_names import object_name
from dra_lab.topology.gang_levels import gang_with_levels

if TYPE_CHECKING:
    from dra_lab.session.session_fleet import SessionFleet


def drawn_gangs(fleet: SessionFleet) -> tuple[str, ...]:
    """Return the names of the workloads that are gangs; one without a request takes no part in a plan."""
    pods = (pod for pod in fleet.workloads if pod.gang is not None)
    return tuple(pod.pod for pod in pods if any(claim.requests for claim in pod.claims))


def exports_fleet(mode: str, fleet: SessionFleet) -> bool:
    """Say whether the workloads are exported, not the drawing as a pod: in mode Fleet, and if the drawing is a gang."""
    return mode == "fleet" or fleet.editing in drawn_gangs(fleet)


def gang_folder(name: str) -> str:
    """Return the folder of a gang's files, so that those of two gangs do not replace each other."""
    return f"manifests-{object_name(name)}"


def planned_gang(fleet: SessionFleet, name: str, read: Cluster, findings: tuple[Finding, ...] = ()) -> PlannedGang:
    """Return a gang of the latest plan as its files are made from it; `read` is the cluster that the record names.

    Raises InputError if there is no plan of it, or if the cluster lacks its levels.
    """
    answer = fleet.answer
    if answer is None or answer.gangs is None or not fleet.is_current:
        raise InputError("these gangs are not planned yet; continue planning in Fleet, then export")
    cluster, drawn = answer.question.cluster, fleet.workload(name).gang
    known = {gang.name: gang_with_levels(gang, cluster, gang.name) for gang in answer.plan.gangs}
    plan = replace(answer.plan, workloads=tuple(known.get(one.name, (one,))[0] for one in answer.plan.workloads))
    queue = drawn.queue if drawn is not None else ""
    release = answer.question.release
    return PlannedGang(*known[name], plan, cluster, read, release, queue=queue, findings=findings)


def set_queue(fleet: SessionFleet, name: str, queue: str) -> None:
    """Give a gang another queue: one undo step, because the plan file has it too. Raises InputError."""
    drawn = fleet.workload(name).gang
    if drawn is not None and drawn.queue != queue:
        fleet.set_gang(name, msgspec.structs.replace(drawn, queue=queue))
