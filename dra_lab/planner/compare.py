"""What kube-scheduler's first fit takes on the plan's node, valued with the plan's own goals."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from dra_lab.errors import Cancelled, UnsupportedFeature
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import FirstFit, FirstFitStatus, Placement
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.placement_values import Scale, value_placements
from dra_lab.planner.pod_claims import CompiledPod
from dra_lab.scheduler.first_fit import first_fit


def compare_first_fit(
    cluster: Cluster,
    node_name: str,
    compiled: CompiledPod,
    release: KubernetesRelease,
    scale: Scale,
    order: Sequence[str],
    *,
    time_limit: float = 10.0,
    cancel: threading.Event | None = None,
) -> FirstFit | None:
    """Return what first fit takes for the claims of a pod on one node, with the goals' values of it.

    A search that was cut off, that meets a rule it does not know, or that would give up the pod, is reported as such
    and has no placements; None comes back once `cancel` is set.
    """
    claims = [
        ResourceClaim(metadata=ObjectMeta(name=name or "plan"), spec=one.spec) for name, one in compiled.claims.items()
    ]
    try:
        verdict = first_fit(cluster, node_name, claims, release, time_limit=time_limit, cancel=cancel)
    except Cancelled:
        return None
    except UnsupportedFeature as error:
        # The planner looks at the devices that match, the scheduler at all: what it cannot know there is not known.
        return FirstFit(FirstFitStatus.STOPPED, (), (), str(error), 0, recorded=False)
    if verdict.status is not FirstFitStatus.ALLOCATED or not verdict.allocations:
        return FirstFit(verdict.status, (), (), verdict.message, verdict.steps, verdict.recorded)
    placements = tuple(
        Placement(
            compiled.reference(name, result.request),
            result.id,
            result.request,
            {key: str(amount) for key, amount in result.consumed_capacity.items()},
        )
        for name, allocation in zip(compiled.claims, verdict.allocations, strict=True)
        for result in allocation.devices.results
    )
    goals = value_placements(scale, placements, order)
    return FirstFit(verdict.status, placements, goals, verdict.message, verdict.steps, verdict.recorded)
