"""Ranges of bandwidth: each covers the measurements it names, and an unknown path stays unknown."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from dra_lab.model.names import DeviceID
from dra_lab.topology.bandwidth import pair_paths
from dra_lab.topology.locality import Locality, Place


def at(kind: str, name: str, root: str | None, numa: int | None) -> Locality:
    place = Place(root, "pcieRoot") if root else None
    return Locality(
        DeviceID(kind, "n", name),
        kind,
        name,
        pcie_root=place,
        numa_node=None if numa is None else Place(numa, "numaNode"),
    )


def test_the_nearest_pairs_are_taken_first():
    """A GPU gives up a far NIC for one at its own root, whatever the order."""
    places = [
        at("gpu", "a", "r0", 0),
        at("gpu", "b", "r1", 0),
        at("gpu", "c", "r9", 1),
        at("nic", "x", "r1", 0),
        at("nic", "y", "r2", 0),
        at("nic", "z", None, None),
    ]
    for seed in range(20):
        random.Random(seed).shuffle(places)
        found = {pair.gpu.device: pair.path for pair in pair_paths(places)}
        assert found == {"a": "numa", "b": "root", "c": "unknown"}


@pytest.mark.parametrize(("gpu", "nic", "path"), [(("r0", 0), (None, 0), "numa-any"), ((None, 0), (None, 1), "far")])
def test_that_roots_differ_is_said_only_where_both_are_known(gpu, nic, path):
    """On one NUMA node they may be on one root as well, unless both roots are published."""
    assert [pair.path for pair in pair_paths([at("gpu", "a", *gpu), at("nic", "x", *nic)])] == [path]


def test_that_numa_nodes_differ_is_said_only_where_both_are_known():
    """On one socket, without a NUMA node of each, the path is not known."""
    gpu, nic = (replace(at(kind, kind, None, None), socket=Place(0, "socket")) for kind in ("gpu", "nic"))
    assert [pair.path for pair in pair_paths([gpu, nic])] == ["unknown"]


def test_several_far_pairs_have_a_range_of_their_own():
    """One far pair and several of them were measured apart; a GPU without a NIC of its own has no figure."""
    one = [at("gpu", "a", "r0", 0), at("nic", "x", "r1", 1)]
    assert [pair.path for pair in pair_paths(one)] == ["far"]
    two = [*one, at("gpu", "b", "r0", 0), at("nic", "y", "r1", 1), at("gpu", "c", "r0", 0)]
    assert [pair.path for pair in pair_paths(two)] == ["far-several", "far-several", "none"]
    assert pair_paths([at("gpu", "a", "r0", 0)]) == ()
