"""Which shapes of alternatives and constraints make a preference, and which do not: what the export rests on."""

from __future__ import annotations

import pytest
from small_nodes import ROOT, a_slice, cluster, device

from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.first_fit import first_fit

PRIORITIES = ("aligned", "any")


def cel(text):
    return (DeviceSelector(cel=CELDeviceSelector(expression=text)),)


def class_of(name):
    spec = DeviceClassSpec(selectors=cel(f'device.driver == "{name}"'))
    return DeviceClass(metadata=ObjectMeta(name=name), spec=spec)


def node(gpus, nics):
    """Make a node of GPUs and NICs at the named roots, "" for a device that publishes none."""
    places = {"gpu": gpus, "nic": nics}
    slices = [
        a_slice(kind, *(device(f"{kind}-{n}", {ROOT: root} if root else {}) for n, root in enumerate(roots)))
        for kind, roots in places.items()
    ]
    return cluster(*slices, classes=tuple(map(class_of, places)))


def soft(name, kind="gpu", text=""):
    subs = tuple(
        DeviceSubRequest(name=rung, device_class_name=kind, selectors=cel(text) if text else ()) for rung in PRIORITIES
    )
    return DeviceRequest(name=name, first_available=subs)


def plain(name, kind="nic", count=1):
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=kind, count=count))


def match(*ends):
    return DeviceConstraint(requests=ends, match_attribute=ROOT)


def taken(on, requests, *constraints):
    """Return (reference, device) of each result, None where nothing is found."""
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests), constraints=constraints))
    claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=spec)
    found = first_fit(on, "n1", [claim], KubernetesRelease("1.36")).allocations
    return found and [(result.request, result.device) for result in found[0].devices.results]


@pytest.mark.parametrize(
    ("gpus", "nics", "wanted"),
    [
        (["r0"], ["r0"], [("gpu/aligned", "gpu-0"), ("nic", "nic-0")]),
        (["r0", "r1"], ["r1"], [("gpu/aligned", "gpu-1"), ("nic", "nic-0")]),
        (["r0", "r1"], ["r2"], [("gpu/any", "gpu-0"), ("nic", "nic-0")]),
        (["", "r1"], ["r2"], [("gpu/any", "gpu-0"), ("nic", "nic-0")]),
    ],
    ids=["aligned", "a later GPU is aligned", "unaligned", "a GPU without the attribute"],
)
def test_every_gpu_is_tried_with_a_matching_nic_before_the_fallback(gpus, nics, wanted):
    assert taken(node(gpus, nics), [soft("gpu"), plain("nic")], match("gpu/aligned", "nic")) == wanted


def test_with_alternatives_on_both_sides_the_second_gpu_is_never_tried():
    """`gpu/aligned` with `nic/any` is found first, which is no alignment at all."""
    found = taken(node(["r0", "r1"], ["r1"]), [soft("gpu"), soft("nic", "nic")], match("gpu/aligned", "nic/aligned"))
    assert found == [("gpu/aligned", "gpu-0"), ("nic/any", "nic-0")]


def test_a_partner_of_count_two_makes_the_link_hard():
    """After the fallback the constraint binds the two NICs to each other; numbered, each is bound alone."""
    on = node(["r0"], ["r1", "r2"])
    assert taken(on, [soft("gpu"), plain("nic", count=2)], match("gpu/aligned", "nic")) is None
    numbered = [soft("gpu"), plain("nic-0"), plain("nic-1")]
    assert taken(on, numbered, match("gpu/aligned", "nic-0"), match("gpu/aligned", "nic-1")) is not None


def test_two_partners_in_one_constraint_make_the_link_hard():
    on = node(["r0"], ["r1", "r2"])
    numbered = [soft("gpu"), plain("nic-0"), plain("nic-1")]
    assert taken(on, numbered, match("gpu/aligned", "nic-0", "nic-1")) is None


def test_a_partner_without_the_attribute_is_never_taken_not_even_by_the_fallback():
    """The constraint still binds the plain request, and a missing attribute never matches."""
    assert taken(node(["r0"], [""]), [soft("gpu"), plain("nic")], match("gpu/aligned", "nic")) is None


def test_several_preferences_are_greedy():
    """The first pair keeps the NIC that the second needs; drawn first, the second gets it."""
    on = node(["r0", "r1", "r0"], ["r0", "r1"])
    last = soft("gpu-1", text='device.attributes["resource.kubernetes.io"].pcieRoot == "r0"')
    requests = [soft("gpu-0"), plain("nic-0"), last, plain("nic-1")]
    found = taken(on, requests, match("gpu-0/aligned", "nic-0"), match("gpu-1/aligned", "nic-1"))
    assert found == [("gpu-0/aligned", "gpu-0"), ("nic-0", "nic-0"), ("gpu-1/any", "gpu-2"), ("nic-1", "nic-1")]
    best = [("gpu-0/aligned", "gpu-1"), ("nic-0", "nic-1"), ("gpu-1/aligned", "gpu-0"), ("nic-1", "nic-0")]
    scarce = taken(
        on,
        [last, plain("nic-1"), soft("gpu-0"), plain("nic-0")],
        *(match("gpu-1/aligned", "nic-1"), match("gpu-0/aligned", "nic-0")),
    )
    assert sorted(scarce) == sorted(best)
