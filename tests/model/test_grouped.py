"""Slices by node and by pool of a cluster that is followed are those of the same slices grouped anew."""

import random

import pytest
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.grouped import newest
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec


def a_slice(chance, number):
    """A slice of one of three nodes or of none, in one of four pools."""
    node, pool = chance.choice(["a", "b", "c", None]), ResourcePool(name=f"p-{chance.randrange(4)}")
    spec = ResourceSliceSpec(driver="gpu.example.com", pool=pool, node_name=node)
    return ResourceSlice(metadata=ObjectMeta(name=f"s-{number}"), spec=spec)


@pytest.mark.parametrize("seed", range(20))
def test_groups_after_changes_are_those_of_a_new_reading(seed):
    """The order of groups, and that in a group, included."""
    chance = random.Random(seed)
    cluster = Cluster(tuple(a_slice(chance, number) for number in range(30)))
    for turn in range(8):
        _ = cluster.slices_by_node, cluster.slices_by_pool
        slices = list(cluster.slices)
        at = chance.randrange(len(slices))
        slices[at : at + 1] = chance.choice(([], [a_slice(chance, at)], [slices[at], a_slice(chance, 99 + turn)]))
        cluster = cluster.with_objects(slices=tuple(slices))
        anew = Cluster(cluster.slices)
        assert list(cluster.slices_by_node.items()) == list(anew.slices_by_node.items())
        assert list(cluster.slices_by_pool.items()) == list(anew.slices_by_pool.items())


def test_a_slice_published_anew_leaves_the_other_groups_what_they_are():
    """Of 5,000 nodes with three slices they are tens of thousands of objects."""
    chance = random.Random(0)
    cluster = Cluster(tuple(a_slice(chance, number) for number in range(40)))
    before, first = cluster.slices_by_pool, cluster.slices[0]
    after = cluster.with_objects(slices=(replace(first, metadata=ObjectMeta(name="s-0")), *cluster.slices[1:]))
    mine = (first.spec.driver, first.spec.pool.name)
    assert {key: after.slices_by_pool[key] is group for key, group in before.items()} == {
        key: key != mine for key in before
    }


def test_the_newest_generation_is_the_slices_that_count():
    """In their order; of no slices there are none."""
    slices = [
        ResourceSlice(
            metadata=ObjectMeta(name=f"s-{number}"),
            spec=ResourceSliceSpec(driver="d", pool=ResourcePool(name="p", generation=generation)),
        )
        for number, generation in enumerate((1, 3, 2, 3))
    ]
    assert [slice_.name for slice_ in newest(slices)] == ["s-1", "s-3"]
    assert newest([]) == []
