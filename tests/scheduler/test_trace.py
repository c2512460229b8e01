"""The trace of a search: none of its steps is lost by folding, and the end is the verdict."""

from __future__ import annotations

import gzip
import json
import random
import threading
from pathlib import Path

import msgspec
import pytest
from random_searches import random_claim, random_node

from dra_lab import KubernetesRelease
from dra_lab.model.claims import AllocationResult
from dra_lab.model.release import RECORDED_RELEASE, gates_of
from dra_lab.model.trace import Counts, StepKind
from dra_lab.scheduler.candidates import view_node
from dra_lab.scheduler.first_fit import first_fit, search_node
from dra_lab.scheduler.node_trace import trace_claims
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.replay_allocator import read_case
from dra_lab.scheduler.search_limits import SearchLimits

CONFORMANCE = Path(__file__).parents[1] / "conformance"
EVERY = 16
MOST_STEPS = 3_000
R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")


def recorded():
    """Yield every k-th recorded case with its gates."""
    with gzip.open(CONFORMANCE / "allocation.ndjson.gz") as lines:
        for number, line in enumerate(lines):
            if number % EVERY == 0:
                document = json.loads(line)
                case = read_case(document)
                release = KubernetesRelease(RECORDED_RELEASE, case.features)
                gates = gates_of(release, list_attributes=release.enabled("DRAListTypeAttributes"))
                yield document, case, gates


def traced(cluster, node, claims, gates):
    """Return the steps of a search one by one, its verdict, and the recorder."""
    recorder = Recorder(folded=False)
    view = view_node(cluster, node, gates)
    verdict = search_node(view, claims, gates, SearchLimits(MOST_STEPS, 60.0), recorder, recorded=True)
    return recorder.rows, verdict, recorder


@pytest.mark.long
def test_the_last_state_of_a_trace_is_the_recorded_verdict():
    """The devices that are held after the last step are those of the recorded allocation, in their order."""
    differing = []
    for document, case, gates in recorded():
        for node, expected in document["expect"].items():
            steps, verdict, recorder = traced(case.cluster, node, case.claims, gates)
            assert steps[-1].kind is StepKind.END
            if expected["error"] or verdict.status == "stopped":
                continue
            held = [(held.claim, held.request, held.device) for held in recorder.held]
            named = zip(case.claims, expected["allocation"] or [], strict=False)
            results = ((c, r) for c, one in named for r in msgspec.convert(one, AllocationResult).devices.results)
            if held != [(claim.metadata.name, result.request, result.id) for claim, result in results]:
                differing.append((case.id, node))
    assert not differing


def random_searches(seeds=50):
    for seed in range(seeds):
        rng = random.Random(seed)
        yield seed, random_node(rng), [random_claim(rng, number) for number in range(rng.choice((1, 1, 1, 2)))]


@pytest.mark.parametrize("release", [R136, R137], ids=str)
def test_recording_changes_no_verdict(release):
    """A search that records takes the same devices in the same number of steps."""
    for seed, node, claims in random_searches():
        plain = first_fit(node, "n1", claims, release, step_limit=20_000, time_limit=60)
        found = first_fit(node, "n1", claims, release, step_limit=20_000, time_limit=60, recorder=Recorder())
        assert found == plain, seed


def unfolded(trace, row):
    """Return the steps of a row, from the rows inside it and theirs."""
    inside = trace.inside(row)
    if inside == (row,):
        return list(trace.steps(row.first, row.last))
    return [step for one in inside for step in unfolded(trace, one)]


@pytest.mark.long
def test_folding_loses_no_step():
    """The rows follow each other without a gap, their counts add up, and what is inside them are all the steps."""
    compared = 0
    for seed, node, claims in random_searches():
        trace = trace_claims(node, "n1", claims, R137, step_limit=1_000)
        if trace.end.status == "stopped" or trace.counts.steps > 500:
            continue
        compared += sum(row.kind is StepKind.GIVEN_BACK for row in trace.rows)
        assert [row.first for row in trace.rows] == [1, *(row.last + 1 for row in trace.rows[:-1])], seed
        assert tuple(map(sum, zip(*(row.counts for row in trace.rows), strict=True))) == trace.counts, seed
        steps = [step for row in trace.rows for step in unfolded(trace, row)]
        assert steps == list(trace.steps(1, trace.counts.steps)), seed
    assert compared > 20


def test_the_devices_held_after_a_step_are_those_that_the_steps_give():
    """`held` agrees with the steps followed one by one, at each step."""
    for seed, node, claims in random_searches(12):
        trace = trace_claims(node, "n1", claims, R137, step_limit=300)
        held = []
        for step in trace.steps(1, min(200, trace.counts.steps)):
            held += [step.devices[0]] if step.kind is StepKind.ALLOCATED else []
            del held[len(held) - (step.kind is StepKind.GIVEN_BACK) :]
            if trace.end.status != "stopped":
                assert [one.device for one in trace.held(step.first)] == held, (seed, step.first)


def test_the_counts_after_a_step_are_those_of_the_steps_up_to_it():
    """The counts of a window add up the steps before its end, also if more devices are rejected after it."""
    for seed, node, claims in random_searches(12):
        trace = trace_claims(node, "n1", claims, R137, step_limit=300)
        if trace.end.status != "stopped":
            counts = Counts()
            for step in trace.steps(1, min(200, trace.counts.steps)):
                counts = counts.plus(step.counts)
                assert trace.window(step.first, step.first).counts == counts, (seed, step.first)


def test_the_rows_shown_at_a_step_are_all_that_came_before_it():
    """The rows follow each other up to the step, and each is as deep as devices were held before it."""
    for seed, node, claims in random_searches(12):
        trace = trace_claims(node, "n1", claims, R137, step_limit=300)
        for step in range(1, min(60, trace.counts.steps - 1)):
            shown = trace.shown_at(step)
            assert [row.first for _, row in shown] == [1, *(row.last + 1 for _, row in shown[:-1])], (seed, step)
            assert shown[-1][1].last == step, (seed, step)


def test_a_search_that_is_longer_than_its_record_is_the_same_up_to_there():
    """Each recorded step, and what is held after it, is that of the whole search; the end is that of first fit."""
    compared = 0
    for seed, node, claims in random_searches():
        whole = trace_claims(node, "n1", claims, R137, step_limit=1_000)
        if whole.end.status == "stopped" or not 40 < whole.counts.steps < 1_000:
            continue
        cut = trace_claims(node, "n1", claims, R137, step_limit=1_000, most_steps=20)
        until = cut.recorded
        compared += not cut.is_whole
        assert cut.steps(1, until) == whole.steps(1, until), seed
        assert cut.held(until) == whole.held(until), seed
        assert (cut.end.status, cut.end.allocations) == (whole.end.status, whole.end.allocations), seed
    assert compared > 5


def test_the_end_of_a_search_that_is_longer_than_its_record_holds_what_is_allocated():
    """After the last step the devices are those of the verdict, though their steps are left out."""
    compared = 0
    for seed, node, claims in random_searches():
        cut = trace_claims(node, "n1", claims, R137, step_limit=1_000, most_steps=5)
        if cut.is_whole or cut.end.allocations is None:
            continue
        compared += 1
        allocated = [result.id for one in cut.end.allocations for result in one.devices.results]
        assert [held.device for held in cut.held(cut.counts.steps)] == allocated, seed
    assert compared > 5


def test_a_search_stopped_after_its_record_is_shown_as_far_as_it_is_recorded():
    """A search that is cancelled after the record has recorded steps, and an end that is not decided."""
    stop, compared = threading.Event(), 0
    stop.set()  # the first look at it is at the step limit
    for seed, node, claims in random_searches():
        trace = trace_claims(node, "n1", claims, R137, step_limit=1_000, most_steps=100, cancel=stop)
        if trace.end.status == "stopped":
            compared += 1
            assert (trace.recorded, trace.rows[-1].kind) == (trace.counts.steps - 2, StepKind.END), seed
    assert compared
