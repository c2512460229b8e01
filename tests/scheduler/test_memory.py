"""The memory of the search changes neither its result nor its number of candidates, only its speed."""

from __future__ import annotations

import random

import pytest
from random_devices import ROOT, device_class, selector, text
from random_searches import BAD, CPU, GPU, KIND, NIC, OF_KIND, TOLERATED, claim_of, random_claim, random_node
from small_nodes import a_slice

from dra_lab import Cluster, KubernetesRelease
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.device import Device
from dra_lab.scheduler import depth_first
from dra_lab.scheduler import first_fit as door
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.memory import Memory

R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")
LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})


class Forgetful(Memory):
    """Remembers nothing."""

    pays_off = False


@pytest.fixture(autouse=True)
def from_the_first_step(monkeypatch):
    monkeypatch.setattr(depth_first, "STORE_AFTER", 0)


@pytest.mark.parametrize("release", [R136, R137, LISTS], ids=str)
@pytest.mark.parametrize("few", range(0, 80, 20))
def test_a_search_with_memory_takes_the_same_devices_in_the_same_number_of_steps(monkeypatch, few, release):
    """On random nodes with counters, shares, taints, lists, several attributes and claims, with and without defects."""
    for seed in range(few, few + 20):
        rng = random.Random(seed)
        node, claims = random_node(rng), [random_claim(rng, number) for number in range(rng.choice((1, 1, 1, 2)))]
        plain, found = both_ways(monkeypatch, node, claims, release)
        assert found.status == plain.status, seed
        assert found.allocations == plain.allocations, seed
        assert found.status == "stopped" or found.steps == plain.steps, seed


def test_all_tries_a_tainted_device_only_while_nobody_has_it(monkeypatch):
    """No request ahead can be given the tainted device, but whether it is taken changes what All tries."""
    gpus = (
        Device(name="d0", attributes={KIND: text("a")}, taints=(BAD,)),
        Device(name="d1", attributes={KIND: text("b")}),
    )
    node = Cluster(slices=(a_slice(GPU, *gpus, node="n1"),), classes=tuple(map(device_class, (GPU, NIC))))
    tolerating = ExactDeviceRequest(GPU, tolerations=(TOLERATED,))
    every = ExactDeviceRequest(GPU, selectors=(selector(OF_KIND.format("a")),), allocation_mode="All")
    parts = (tolerating, every, ExactDeviceRequest(NIC))
    claim = claim_of([DeviceRequest(name=f"r{n}", exactly=part) for n, part in enumerate(parts)], ())
    plain, found = both_ways(monkeypatch, node, [claim], R136)
    assert (found.steps, plain.steps) == (3, 3)


def test_values_that_are_held_are_distinguished_where_the_gate_for_lists_is_on(monkeypatch):
    """With the GPU of root b two NICs come in question, with that of root a one."""
    gpus = [Device(name=f"g{root}", attributes={ROOT: text(root)}) for root in "ab"]
    nics = [Device(name=f"n{n}", attributes={ROOT: text(root)}) for n, root in enumerate("abb")]
    cpus = [Device(name=f"c{n}") for n in range(2)]
    slices = (a_slice(driver, *devices, node="n1") for driver, devices in ((GPU, gpus), (NIC, nics), (CPU, cpus)))
    node = Cluster(slices=tuple(slices), classes=tuple(map(device_class, (GPU, NIC, CPU))))
    asked = {"gpu": GPU, "between": CPU, "nic": NIC, "cpu": CPU}
    requests = [DeviceRequest(name=name, exactly=ExactDeviceRequest(driver)) for name, driver in asked.items()]
    constraints = [DeviceConstraint(requests=ends, match_attribute=ROOT) for ends in (("gpu", "nic"), ("nic", "cpu"))]
    plain, found = both_ways(monkeypatch, node, [claim_of(requests, constraints)], LISTS)
    assert found.steps == plain.steps


def test_more_candidates_than_can_be_tried_are_counted():
    """Eight pairs of alternatives on a node that is one NIC short: 3.3 thousand million candidates, in a moment."""
    gpus = [Device(name=f"g{n}", attributes={ROOT: text(f"r{n}")}) for n in range(8)]
    nics = [Device(name=f"n{n}", attributes={ROOT: text(f"r{n}")}) for n in range(7)]
    node = Cluster(
        slices=(a_slice(GPU, *gpus, node="n1"), a_slice(NIC, *nics, node="n1")),
        classes=tuple(map(device_class, (GPU, NIC))),
    )
    requests, constraints = [], []
    for n in range(8):
        subs = tuple(DeviceSubRequest(name=name, device_class_name=GPU, count=1) for name in ("aligned", "any"))
        requests.append(DeviceRequest(name=f"gpu-{n}", first_available=subs))
        requests.append(DeviceRequest(name=f"nic-{n}", exactly=ExactDeviceRequest(device_class_name=NIC, count=1)))
        constraints.append(DeviceConstraint(requests=(f"gpu-{n}/aligned", f"nic-{n}"), match_attribute=ROOT))
    verdict = first_fit(node, "n1", [claim_of(requests, constraints)], KubernetesRelease("1.36"), step_limit=10**12)
    assert (verdict.status, verdict.steps) == ("none", 3_301_507_106)


def both_ways(monkeypatch, node, claims, release):
    """Return the verdicts of a search without memory and of one with it."""
    found = []
    for memory in (Forgetful, Memory):
        monkeypatch.setattr(door, "Memory", memory)
        found.append(first_fit(node, "n1", claims, release, step_limit=20_000, time_limit=100))
    return found
