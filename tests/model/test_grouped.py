"""Slices are grouped by pool, and the newest generation of a pool counts."""

from dra_lab.model.grouped import newest
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec


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
