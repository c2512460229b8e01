"""Nodes that fill up with a manifest's own pods: is kube-scheduler's search for the next one short all the way?"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation
from dra_lab.sketch.claim_objects import Affinity

MOST_PODS = 110
"""Pods of one node that are followed: kubelet takes no more unless it is told to (`maxPods`)."""


@dataclass(frozen=True)
class FilledNodes:
    """The nodes on which a search is too long once some of the pods run there, the longest search, what was not run.

    `longest` is in seconds of kube-scheduler. `skipped` counts the kinds of nodes that there was no time for.
    """

    long: frozenset[str] = frozenset()
    longest: float = 0.0
    skipped: int = 0


def fill_nodes(
    drawn: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    leave_out: frozenset[str] = frozenset(),
    seconds: float = 10.0,
    cancel: threading.Event | None = None,
) -> FilledNodes:
    """Let pods of the drawings arrive on each kind of node until none fits, from what is in use now and from nothing.

    `leave_out` are nodes that are not looked at, `seconds` the time for all of it. Raises UnsupportedFeature and
    Cancelled.
    """
    end = time.monotonic() + seconds
    long: set[str] = set()
    seconds_needed, skipped = 0.0, 0
    pod = pod_kind(cluster, release, "pod", drawn)
    for idle in (False, True):
        left = max(0.0, end - time.monotonic())
        simulation = SchedulerSimulation(
            cluster, [pod], release, affinity=[affinity], seconds=left, idle=idle, cancel=cancel
        )
        for every in simulation.kinds.values():
            names = [name for name in every if name not in leave_out]
            if not names:
                continue
            history: History = ()
            taken = simulation.taken(names[0], history, 0)
            while taken.status is FirstFitStatus.ALLOCATED and len(history) < MOST_PODS:
                history = (*history, (names[0] if simulation.shared else "", 0))
                taken = simulation.taken(names[0], history, 0)
            if taken.cut_off:
                skipped += 1
            elif taken.status is FirstFitStatus.STOPPED:
                long.update(names)
        seconds_needed = max(seconds_needed, simulation.longest)
    return FilledNodes(frozenset(long), seconds_needed, skipped)
