"""trace_claims: what kube-scheduler's search for the claims of a pod on a node does, step by step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.trace import Held, Step, Trace
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.scheduler.recorder import Recorder, WindowEnd


def trace_claims(
    cluster: Cluster,
    node_name: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    *,
    step_limit: int = 5_000_000,
    time_limit: float = 10.0,
    cancel: threading.Event | None = None,
) -> Trace[Verdict]:
    """Return the trace of `first_fit` for the unallocated claims of one pod on a node. Raises as `first_fit` does."""
    search = partial(first_fit, cluster, node_name, tuple(claims), release, step_limit=step_limit)
    recorder = Recorder()
    verdict = search(time_limit=time_limit, cancel=cancel, recorder=recorder)

    def look(first: int, last: int, folded: bool) -> tuple[tuple[Step, ...], tuple[Held, ...]]:  # noqa: FBT001
        window = Recorder(first, last, folded=folded)
        with suppress(WindowEnd):
            # it ends with the window, so that no more time is needed than the first time
            search(time_limit=10 * time_limit, recorder=window)
        return tuple(window.rows), window.held

    return Trace(node_name, release.version, verdict, recorder.counts, tuple(recorder.rows), look)
