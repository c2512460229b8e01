"""What is stranded of partitions is what shared counters can provide, found by trying every set of them."""

from __future__ import annotations

from msgspec.structs import replace
from random_devices import GPU, TAG, selector, text
from sharing_nodes import RELEASE, ask, counted, node, part
from small_holders import a_claim, result

from dra_lab import ClaimSketch, stranded
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest

WHOLE = f'has(device.attributes["x.example"].tag) && device.attributes["{TAG.split("/")[0]}"].tag == "whole"'


def test_a_set_that_is_drawn_up_has_nothing_free():
    """Where the whole GPU is held its slices are no capacity: nothing is free, and nothing stranded."""
    slices = counted(part("whole", slices=7), *(part(f"slice-{n}", slices=1) for n in range(7)), slices=7)
    held = node(*slices, claims=(a_claim(result("whole", GPU)),))
    (kind,) = stranded(held, [ClaimSketch("c", (ask("g"),))], release=RELEASE).kinds
    assert (kind.free, kind.stranded, kind.proven) == (0, 0, True)


def test_partitions_that_counters_cannot_feed_are_not_stranded():
    """Seven slices use up the counters of the whole GPU beside them: seven devices are there, and all can be used."""
    slices = counted(part("whole", slices=7), *(part(f"slice-{n}", slices=1) for n in range(7)), slices=7)
    (kind,) = stranded(node(*slices), [ClaimSketch("c", (ask("g"),))], release=RELEASE).kinds
    assert (kind.free, kind.usable, kind.bound, kind.stranded, kind.proven) == (7, 7, 7, 0, True)


def test_equal_partitions_are_stranded_as_far_as_counters_feed_them():
    """Counters provide three of seven partitions of two slices: a pod uses two of them, and one is stranded."""
    slices = counted(*(part(f"slice-{n}", slices=2) for n in range(7)), slices=7)
    (kind,) = stranded(node(*slices), [ClaimSketch("c", (ask("g", count=2),))], release=RELEASE).kinds
    assert (kind.free, kind.usable, kind.stranded, kind.least, kind.proven) == (3, 2, 1, 1, True)


def test_of_partitions_of_different_sizes_the_most_that_is_stranded_is_said():
    """A pod that takes the whole leaves nothing of its slices: that six are stranded is no more than a bound."""
    whole = replace(part("whole", slices=7), attributes={TAG: text("whole")})
    slices = counted(whole, *(part(f"slice-{n}", slices=1) for n in range(7)), slices=7)
    asked = DeviceRequest("g", ExactDeviceRequest(device_class_name=GPU, selectors=(selector(WHOLE),)))
    (kind,) = stranded(node(*slices), [ClaimSketch("c", (asked,))], release=RELEASE).kinds
    assert (kind.free, kind.usable, kind.stranded, kind.least, kind.proven) == (7, 1, 6, 0, False)
