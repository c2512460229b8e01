"""Devices: identity, attributes, versions, and the taints that DeviceTaintRules put on them."""

import random
from itertools import product

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import semver_key
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector


def test_a_device_id_prints_as_driver_pool_device_and_reads_back():
    """A pool name may contain slashes; driver and device never do."""
    device = DeviceID("gpu.example.com", "rack/node-1", "gpu-0")
    assert DeviceID.parse(str(device)) == device


def test_precedence_ignores_build_metadata():
    assert semver_key("1.0.0") == semver_key("1.0.0+x")
    assert semver_key("1.0.0-rc.1") < semver_key("1.0.0-rc.2") < semver_key("1.0.0-rc.x") < semver_key("1.0.0")


def test_lookup_prefers_the_exact_key_and_falls_back_to_the_drivers_bare_key():
    """`domain/name` finds the exact key first, then the bare key when the domain is the driver's."""
    device = Device(name="d", attributes={"numa": DeviceAttribute(int_=1), "a.com/numa": DeviceAttribute(int_=2)})
    assert device.lookup("a.com/numa", "a.com").value == 2
    assert device.lookup("b.com/numa", "b.com").value == 1
    assert device.lookup("b.com/numa", "a.com") is None


def test_a_device_has_its_own_taints_and_those_of_every_rule_that_matches():
    """Against a look at one rule after the other, with any of driver, pool and device named or none."""
    chance = random.Random(1)

    def rule(number):
        parts = {part: chance.choice([None, f"{part}-{chance.randrange(2)}"]) for part in ("driver", "pool", "device")}
        selector = chance.choice([None, DeviceTaintSelector(**parts)])
        spec = DeviceTaintRuleSpec(taint=DeviceTaint(key=f"k-{number}", effect="NoExecute"), device_selector=selector)
        return DeviceTaintRule(metadata=ObjectMeta(name=f"r-{number}"), spec=spec)

    def matches(selector, device):
        return selector is None or all(
            want in (None, have)
            for want, have in zip((selector.driver, selector.pool, selector.device), device, strict=True)
        )

    rules = tuple(rule(number) for number in range(60))
    cluster = Cluster(taint_rules=rules)
    own = Device(name="d", taints=(DeviceTaint(key="own", effect="NoSchedule"),))
    for parts in product(range(2), repeat=3):
        device = DeviceID(*(f"{kind}-{part}" for kind, part in zip(("driver", "pool", "device"), parts, strict=True)))
        wanted = [r.spec.taint for r in rules if matches(r.spec.device_selector, device)]
        assert cluster.taints_of(device, own, rules=True) == (*own.taints, *wanted)
        assert cluster.taints_of(device, own, rules=False) == own.taints
