"""Many scenarios through joblib: in order, each with its own error; in processes, in threads, on a Dask cluster."""

from __future__ import annotations

import pickle
import threading

import pytest
from checked_plans import checked_fleet, checked_plan

from dra_lab import (
    KubernetesRelease,
    Scenario,
    Workload,
    load_cluster,
    plan_scenarios,
    read_sketch,
    when_idle,
    with_more_nodes,
    without_nodes,
)
from dra_lab.errors import Cancelled, DraLabError, InputError, UnsupportedFeature
from dra_lab.findings import Origin
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")
CLUSTER, PAIRS = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")


@pytest.fixture(scope="module")
def scenarios() -> tuple[Scenario, ...]:
    """Give four questions with four different answers, the third one with an error."""
    return (
        Scenario("as it is"),
        Scenario("five pairs", what=read_sketch("sample:eks-p4d/five-pairs")),
        Scenario("no such node", node="nowhere"),
        Scenario("without a node", without_nodes(CLUSTER, CLUSTER.node_names[:1])),
    )


def answers_of(scenarios, **options):
    """Return the answers about GPU-NIC pairs on the sample cluster."""
    return plan_scenarios(CLUSTER, PAIRS, scenarios, release=RELEASE, progress=False, **options)


def check(scenarios, answers) -> None:
    """Hold the answers against plans that were made one after the other, here."""
    assert [answer.scenario for answer in answers] == [scenario.name for scenario in scenarios]
    for scenario, answer in zip(scenarios, answers, strict=True):
        if scenario.node:
            assert isinstance(answer.error, InputError)
            continue
        alone = checked_plan(scenario.cluster or CLUSTER, scenario.what or PAIRS, release=RELEASE)
        assert answer.error is None
        assert (answer.plan.status, answer.plan.node, answer.plan.goals) == (alone.status, alone.node, alone.goals)
        assert answer.plan.placements == alone.placements


@pytest.mark.parametrize(("jobs", "backend"), [(1, None), (2, "threading"), (2, None)])
def test_answers_come_in_order_each_with_its_own_error(scenarios, jobs, backend):
    """Here, in threads and in processes: the same answers as one after the other; one error spoils nothing."""
    check(scenarios, answers_of(scenarios, jobs=jobs, backend=backend))


@pytest.mark.long
def test_a_dask_cluster_answers_by_its_name(scenarios):
    """Naming the backend is all: the scenarios run in the worker processes of a real local Dask cluster.

    There are two, for joblib answers here what a cluster with one thread would answer alone.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install dra-lab[test]")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers):
        answers = answers_of(scenarios, backend="dask")
    check(scenarios, answers)


def test_dask_without_a_client_is_refused_with_a_reason(scenarios):
    """A backend that cannot be used is an InputError that says why."""
    with pytest.raises(InputError, match="backend 'dask' cannot be used"):
        answers_of(scenarios, backend="dask")


def test_what_is_cancelled_is_reported_and_what_was_answered_stays(scenarios):
    """After the first answer nothing more is answered; its own answer is kept."""
    cancel = threading.Event()
    seen = []

    def stop(answer):
        seen.append(answer)
        cancel.set()

    answers = answers_of(scenarios, jobs=1, each=stop, cancel=cancel)
    assert len(seen) == 1
    assert answers[0] is seen[0]
    assert all(isinstance(answer.error, Cancelled) for answer in answers[1:])


def test_an_interrupt_ends_everything_and_is_raised(scenarios):
    """Ctrl+C is not an answer."""

    def interrupt(_answer):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answers_of(scenarios, jobs=2, each=interrupt)


def test_a_question_that_is_none_is_an_error_of_that_scenario():
    """A name is not a claim, and the other scenarios go on."""
    (answer,) = answers_of([Scenario("a file", what="pairs.yaml")], jobs=1)
    assert "'pairs.yaml' is not a claim" in str(answer.error)


def test_workloads_are_planned_as_fleets_in_other_processes():
    """Two scenarios with replicas come back whole from two processes, as one after the other here."""
    pods = (Workload("pairs", PAIRS, replicas=6),)
    more = with_more_nodes(CLUSTER, like=CLUSTER.node_names[0], count=1)
    answers = answers_of([Scenario("now", what=pods), Scenario("one more", more, pods)], jobs=2)
    alone = [checked_fleet(cluster, pods, release=RELEASE) for cluster in (CLUSTER, more)]
    assert [a.plan.goals for a in answers] == [plan.goals for plan in alone]
    assert [len(a.plan.pods) for a in answers] == [4, 6]


def test_no_jobs_are_refused(scenarios):
    """0 is not a number of jobs."""
    with pytest.raises(InputError):
        answers_of(scenarios, jobs=0)


def test_a_cluster_travels_without_what_was_worked_out():
    """What comes out of another process equals what went in, and carries no memo of it."""
    cluster = load_cluster("sample:eks-p4d")
    checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"), release=RELEASE)
    arrived = pickle.loads(pickle.dumps(cluster))
    assert arrived == cluster
    assert set(vars(arrived)) == set(cluster.__dataclass_fields__)


@pytest.mark.parametrize(
    "error", [UnsupportedFeature("sharedCounters", "not yet"), InputError("bad", origin=Origin("a.yaml", 2, line=3))]
)
def test_errors_travel_whole(error: DraLabError):
    """Message, origin and feature arrive in the process that asked."""
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), vars(arrived)) == (type(error), str(error), vars(error))


def test_more_nodes_like_one_are_idle_and_serve_as_it_does_when_idle():
    """Each new node serves the claim as the original does with nothing in use."""
    cluster = load_cluster("sample:eks-p4d")
    like = cluster.node_names[0]
    more = with_more_nodes(cluster, like=like, count=3)
    assert len(more.node_names) == len(cluster.node_names) + 3
    pairs = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    idle = checked_plan(when_idle(cluster), pairs, release=RELEASE, node=like)
    for name in set(more.node_names) - set(cluster.node_names):
        plan = checked_plan(more, pairs, release=RELEASE, node=name)
        assert plan.status is PlanStatus.OPTIMAL
        assert plan.goals == idle.goals
        assert all(name in placement.device.pool for placement in plan.placements)


def test_no_device_stands_twice_in_a_larger_cluster():
    """The copies are other devices than the originals, on every sample, however often it is done."""
    for source in ("sample:eks-p4d", "sample:dgx-h100", "sample:two-sockets"):
        cluster = load_cluster(source)
        like = cluster.node_names[0]
        twice = with_more_nodes(with_more_nodes(cluster, like=like, count=2), like=like, count=2)
        devices = [(s.spec.driver, s.spec.pool.name, d.name) for s in twice.slices for d in s.spec.devices or ()]
        assert len(devices) == len(set(devices))
        assert len({s.name for s in twice.slices}) == len(twice.slices)


def test_a_node_that_is_not_there_is_refused():
    """Both directions name the nodes that there are."""
    cluster = load_cluster("sample:eks-p4d")
    with pytest.raises(InputError, match="no node 'nowhere'"):
        with_more_nodes(cluster, like="nowhere", count=1)
    with pytest.raises(InputError, match="no node 'nowhere'"):
        without_nodes(cluster, ["nowhere"])
