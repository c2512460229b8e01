"""trace_claims: what kube-scheduler's search for the claims of a pod on a node does, step by step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from dra_lab.errors import InputError
from dra_lab.index.pools import pools_of
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.gates import gates_of
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.trace import Check, DeviceTest, Reason, Trace, Window
from dra_lab.scheduler.candidates import held_devices, view_node
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.scheduler.judging import SIMPLE, Judge
from dra_lab.scheduler.limits import AttemptAborted
from dra_lab.scheduler.placing import Books
from dra_lab.scheduler.recorder import Recorder, WindowEnd
from dra_lab.scheduler.requests import Need, claim_needs


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

    def look(first: int, last: int, folded: bool) -> Window:  # noqa: FBT001
        window = Recorder(first, last, folded=folded)
        with suppress(WindowEnd):
            # it ends with the window, so that no more time is needed than the first time
            search(time_limit=10 * time_limit, recorder=window)
        return Window(tuple(window.rows), window.held, window.counts)

    test = partial(test_device, cluster, node_name, tuple(claims), release)
    return Trace(node_name, release.version, verdict, recorder.counts, tuple(recorder.rows), look, test)


def test_device(
    cluster: Cluster,
    node_name: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    device: DeviceID,
) -> tuple[DeviceTest, ...]:
    """Return, for each request of claims, the first test that a device fails while the search holds nothing.

    A selector that fails on the device, which ends kube-scheduler's attempt, is a failed test as well. Raises
    InputError for a device that the node does not have.
    """
    gates, recorder = gates_of(release), Recorder()
    view = view_node(cluster, node_name, pools_of(cluster, node_name, gates), held_devices(cluster, gates), gates)
    at = next((candidate.index for candidate in view.candidates if candidate.id == device), None)
    if at is None:
        raise InputError(f"there is no device {device} on {node_name}")
    recorder.begin(view.candidates)
    judge, found = Judge(view, gates, recorder), []
    for number, claim in enumerate(claims):
        for need in (need for request in claim_needs(number, claim, view, gates).requests for need in request):
            books = Books(view, gates, len(claims), recorder)
            reason = _first_failed(need, at, judge, books, recorder)
            found.append(DeviceTest(need.claim_name, need.reference, reason))
    return tuple(found)


def _first_failed(need: Need, at: int, judge: Judge, books: Books, recorder: Recorder) -> Reason | None:
    recorder.begin_scan()
    try:
        verdict = judge.judge(need, at)
    except AttemptAborted as error:
        return Reason(Check.SELECTOR, str(error))
    try:
        if verdict < SIMPLE or (need.everything and books.in_use(need, at)) or not books.place(need, at, verdict):
            return recorder.reason(need, at)
    except AttemptAborted as error:
        return Reason(Check.CONSTRAINT, str(error))
    books.take_back(need, at)
    return None
