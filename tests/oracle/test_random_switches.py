"""What the switches of the random generator let occur, and only they."""

from __future__ import annotations

import random

import pytest
from random_clusters import PLAIN, RULES, SHARING, SWITCHES, TREES, random_fleet, random_sketch
from random_devices import FABRIC, GPU, NIC, NUMA, ROOT, TAG, WIDE

from dra_lab.model.sketch import How, asks

DRAWN = 60
"""Cases that are drawn with each set of switches."""


def devices(cluster, driver=""):
    """Return the devices of a driver or of all, without the one that breaks a pool."""
    found = (d for s in cluster.slices if driver in ("", s.spec.driver) for d in s.spec.devices or ())
    return [device for device in found if device.name != "odd"]


def requested(claim):
    return [ask for request in claim.requests for ask in asks(request)]


def follows(cluster):
    """Say whether every root has one NUMA node."""
    gpus = [device.attributes for device in devices(cluster, GPU)]
    places = {(str(found.get(ROOT)), str(found.get(NUMA))) for found in gpus}
    return len(places) == len({root for root, _ in places})


def several_holders(cluster):
    held = [r for c in cluster.claims for r in c.status.allocation.devices.results if r.share_id is None]
    return len({(r.driver, r.pool, r.device) for r in held}) < len(held)


def held_whole(cluster):
    """Return the devices that can be shared and that a claim holds without a share."""
    places = {(s.spec.driver, s.spec.pool.name, d.name): d for s in cluster.slices for d in s.spec.devices or ()}
    held = [r for c in cluster.claims for r in c.status.allocation.devices.results if not r.share_id]
    found = (places.get((r.driver, r.pool, r.device)) for r in held)
    return [device for device in found if device is not None and device.allow_multiple_allocations]


OCCURS = {
    "kinds": lambda cluster, _: any(TAG in device.attributes for device in devices(cluster)),
    "taints": lambda cluster, _: any(device.taints for device in devices(cluster)),
    "alternatives": lambda _, claim: any(request.first_available for request in claim.requests),
    "all": lambda _, claim: any(a.all_devices and a.device_class_name != WIDE for a in requested(claim)),
    "links": lambda _, claim: bool(claim.links),
    "trees": lambda cluster, _: all(ROOT in device.attributes for device in devices(cluster, NIC)) and follows(cluster),
    "counters": lambda cluster, _: any(device.consumes_counters for device in devices(cluster)),
    "amounts": lambda cluster, _: any(c.request_policy for d in devices(cluster) for c in d.capacity.values()),
    "lists": lambda cluster, _: any(a.is_list for d in devices(cluster) for a in d.attributes.values()),
    "admin": lambda _, claim: any(ask.admin_access for ask in requested(claim)),
    "tolerations": lambda _, claim: any(ask.tolerations for ask in requested(claim)),
    "overdrawn": lambda cluster, _: several_holders(cluster),
    "whole": lambda cluster, _: bool(held_whole(cluster)),
    "pairs": lambda _, claim: any(link.how is How.PAIRWISE and link.must for link in claim.links),
    "wide": lambda _, claim: any(ask.device_class_name == WIDE for ask in requested(claim)),
    "missing": lambda cluster, _: any("dra.net/rdma" not in device.attributes for device in devices(cluster, NIC)),
    "rules": lambda cluster, _: bool(cluster.taint_rules),
    "zones": lambda cluster, _: bool(cluster.nodes),
    "broken": lambda cluster, _: any(s.spec.pool.name.endswith("-more") for s in cluster.slices),
    "several": lambda cluster, _: any(s.spec.pool.name == FABRIC for s in cluster.slices),
    "coupled": lambda cluster, _: any(s.spec.pool.name == FABRIC for s in cluster.slices),
}
"""The signs that a switch is on, in a cluster or its claim."""


def drawn(has):
    """Return clusters of two nodes and a claim for each."""
    for number in range(DRAWN):
        rng = random.Random(f"switches {number}")
        cluster = random_fleet(rng, 2, has)
        yield cluster, random_sketch(rng, has, cluster)


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_a_switch_lets_occur_occurs(switch):
    """Cases with all rules, on trees or with a shared pool show what each of their switches is about."""
    has = next(has for has in (RULES, TREES, PLAIN | {"coupled"}) if switch in has)
    assert any(OCCURS[switch](*case) for case in drawn(has))


@pytest.mark.parametrize("switch", sorted(RULES - {"pairs"}))
def test_what_is_switched_off_does_not_occur(switch):
    """All other switches of the rules are on."""
    assert not any(OCCURS[switch](*case) for case in drawn(RULES - {switch}))


def test_sets_of_switches_hold_known_ones():
    """No set names a switch that the table does not explain."""
    assert set(SWITCHES) >= RULES | SHARING | PLAIN | TREES
