"""trace_claims: what kube-scheduler's search for the claims of a pod on a node does, step by step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from dra_lab.errors import Cancelled, InputError
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.model.trace import Check, Counts, DeviceTest, Held, Reason, Step, StepKind, Trace, Window
from dra_lab.scheduler.allocating import SIMPLE, Books, Judge
from dra_lab.scheduler.candidates import view_node
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.scheduler.recorder import Recorder, RecordingFull, WindowEnd
from dra_lab.scheduler.requests import Need, claim_needs
from dra_lab.scheduler.search_limits import AttemptAborted

MOST_STEPS = 200_000
"""Steps that are run to record a search, and again for each of its steps: a quarter of a second."""


def trace_claims(
    cluster: Cluster,
    node_name: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    *,
    step_limit: int = 5_000_000,
    time_limit: float = 10.0,
    most_steps: int = MOST_STEPS,
    cancel: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace[Verdict]:
    """Return the trace of `first_fit` for the unallocated claims of one pod on a node.

    Parts of the search that repeat are run once, and `most_steps` are run for the record. The steps of a longer search
    are left out up to its end, for which it is run without a record. `progress` gets the number of candidates so far.
    Raises as `first_fit` does; Cancelled only if nothing is recorded by then.
    """
    search = partial(first_fit, cluster, node_name, tuple(claims), release, step_limit=step_limit)
    recorder, begun = Recorder(most=most_steps), time.monotonic()
    tail: tuple[Step, ...] = ()
    try:
        verdict = search(time_limit=time_limit, cancel=cancel, recorder=recorder, progress=progress)
    except RecordingFull:
        left = time_limit - (time.monotonic() - begun)
        try:
            verdict = search(time_limit=left, cancel=cancel, progress=progress)
        except Cancelled as stopped:
            verdict = Verdict(FirstFitStatus.STOPPED, message=str(stopped))
        left_out, end = recorder.counts.steps + 1, recorder.counts.steps + 2
        tail = (
            Step(left_out, left_out, StepKind.LEFT_OUT, counts=Counts(1)),
            Step(end, end, StepKind.END, detail=verdict.message, counts=Counts(1)),
        )
    recorded, held_last = recorder.counts.steps, _held(verdict, claims, recorder.counts.steps + len(tail))

    def look(first: int, last: int, folded: bool) -> Window:  # noqa: FBT001
        later = tuple(step for step in tail if first <= step.first <= last)
        until = min(last, recorded) if tail else last
        window = Recorder(first, until, folded=folded)
        with suppress(WindowEnd):
            # it ends with the window, so that no more time is needed than the first time
            search(time_limit=10 * time_limit, recorder=window)
        counts = window.counts.plus(Counts(len(later)))
        held = held_last if tail and last > recorded + 1 else window.held
        return Window((*window.rows, *later), held, counts)

    test = partial(test_device, cluster, node_name, tuple(claims), release)
    counts = recorder.counts.plus(Counts(len(tail)))
    return Trace(node_name, release.version, verdict, counts, (*recorder.rows, *tail), look, test)


def _held(verdict: Verdict, claims: Sequence[ResourceClaim], step: int) -> tuple[Held, ...]:
    """Return the devices that a search allocates in the end; `step` is its last one."""
    held: list[Held] = []
    for claim, allocation in zip(claims, verdict.allocations or (), strict=False):
        for result in allocation.devices.results:
            where = claim.metadata.name, result.request
            held.append(Held(*where, 1 + sum(one[:2] == where for one in held), result.id, step))
    return tuple(held)


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
    view = view_node(cluster, node_name, gates)
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
