"""The planner looks at identical nodes once, and does not look at nodes that it had no time for."""

from __future__ import annotations

import random
import threading
import time
from itertools import count

import pytest
from budgets import use_sizes
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_devices import GPU, NIC
from sharing_nodes import ask, node
from small_nodes import a_slice
from test_fleet_time_runs_out import partitions

from dra_lab.index.node_index import NodeIndex
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.device import Device
from dra_lab.model.fleet import Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner import scan
from dra_lab.planner.fleet import node_components

RELEASE = KubernetesRelease("1.37")
NODES, DEVICES = 80, 60


def a_fabric():
    """Make many equal nodes that all see one pool of GPUs, and pods of one GPU and one NIC for most of them."""
    own = [a_slice(NIC, Device(name="here"), node=f"n{number:02}") for number in range(NODES)]
    far = a_slice(GPU, *(Device(name=f"far-{number}") for number in range(DEVICES)), node="fabric")
    far = replace(far, spec=replace(far.spec, node_name=None, all_nodes=True))
    return node(*own, far), [Workload("w", (ClaimSketch(requests=(ask("gpu", GPU), ask("nic", NIC))),), DEVICES)]


def test_equal_nodes_are_made_into_a_problem_once(monkeypatch):
    """However many nodes get pods: what may serve them is worked out for a node or two, not for each of them."""
    seen, first = [], scan.eligibility

    def counted(rules, name):
        seen.append(name)
        return first(rules, name)

    monkeypatch.setattr(scan, "eligibility", counted)
    cluster, workloads = a_fabric()
    plan = checked_fleet(cluster, workloads, release=RELEASE, first_fit=False)
    assert (len({replica.node for replica in plan.replicas}), plan.proven) == (DEVICES, True)
    assert len(seen) < NODES / 10


def test_nodes_that_time_did_not_reach_are_not_looked_at_later(monkeypatch):
    """Only nodes that were looked at are compared, because comparing all the others would exceed the time limit."""
    cluster, workloads = a_fabric()
    seen, first = set(), NodeIndex.view
    monkeypatch.setattr(NodeIndex, "view", lambda views, name: seen.add(name) or first(views, name))
    ticks, mine, real = count(), threading.get_ident(), time.monotonic
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: next(ticks) if threading.get_ident() == mine else real())
        plan = checked_fleet(cluster, workloads, release=RELEASE, time_limit=70, first_fit=False)
    assert not plan.proven
    assert 0 < len(seen) < NODES


def test_equal_gpus_are_looked_at_once(monkeypatch):
    """On nodes that differ only in their used partitions, GPUs have few distinct states, and each is examined once."""
    use_sizes(monkeypatch, replicas=-1)
    seen, first = [], node_components.canonical
    monkeypatch.setattr(node_components, "canonical", lambda *given: seen.append(given) or first(*given))
    chance, gpus, held = random.Random(1), 4, []
    slices = [s for number in range(NODES) for s in partitions(f"n{number:02}", gpus)]
    for number in range(NODES):
        held += [DeviceID(GPU, f"n{number:02}", f"{gpu}-a") for gpu in range(gpus) if chance.random() < 0.5]
    cluster = node(*slices)
    plan = checked_fleet(
        cluster,
        [Workload("w", (ClaimSketch(requests=(ask("r", GPU),)),), NODES * gpus)],
        release=RELEASE,
        held=AllocatedDevices(dict.fromkeys(held, "somebody")),
        first_fit=False,
    )
    assert (len(plan.replicas), plan.proven) == (NODES * gpus - len(held), True)
    assert 0 < len(seen) <= 2 * gpus
