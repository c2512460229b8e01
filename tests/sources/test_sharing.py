"""Parts of a republished object that are equal are the ones already kept."""

import random

import msgspec
import pytest

from dra_lab.model.decoding import from_json
from dra_lab.model.nodes import Node
from dra_lab.model.slices import ResourceSlice
from dra_lab.sources.sharing import share_attributes, sharing

CHANGES = range(40)


def device(number, **more):
    """A GPU as a driver publishes it."""
    attributes = {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{number}"}, "index": {"int": number}}
    return {"name": f"gpu-{number}", "attributes": attributes | more, "capacity": {"memory": {"value": "80Gi"}}}


def published(*devices, generation=1):
    """A ResourceSlice, read again."""
    pool = {"name": "node-1", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1", "devices": list(devices)}
    return from_json(msgspec.json.encode({"metadata": {"name": "slice-1"}, "spec": spec}), ResourceSlice)


def test_equal_attributes_of_all_slices_are_one_object():
    """Also those of slices that came earlier, and nothing changes in value."""
    before, known = [published(device(0)), published(device(1))], {}
    slices = [published(device(0)), published(device(1))]
    for one in slices:
        share_attributes([one], known)
    first, second = (one.spec.devices[0].attributes for one in slices)
    assert slices == before
    assert first["type"] is second["type"]
    assert first["index"] is not second["index"]


def test_devices_of_another_generation_are_those_of_before():
    """A driver that restarts publishes all of its devices again."""
    old = published(device(0), device(1))
    new = sharing(published(device(0), device(1), generation=2), old)
    assert (new.spec.pool.generation, new.spec.devices is old.spec.devices) == (2, True)
    assert new.metadata is old.metadata


def test_an_equal_object_is_the_one_of_before():
    """To the last part."""
    old = published(device(0))
    assert sharing(published(device(0)), old) is old


def test_one_other_value_costs_itself_alone():
    """The other devices, and the other values of the device, are those of before, wherever they stand now."""
    old = published(device(0), device(1), device(2))
    new = sharing(published(device(2), device(0, temperature={"int": 70}), device(1)), old)
    before, now = ({d.name: d for d in slice_.spec.devices} for slice_ in (old, new))
    assert [now[name] is before[name] for name in ("gpu-0", "gpu-1", "gpu-2")] == [False, True, True]
    changed, was = now["gpu-0"], before["gpu-0"]
    assert all(changed.attributes[name] is value for name, value in was.attributes.items())
    assert changed.capacity is was.capacity


def test_labels_of_a_node_are_those_of_before():
    """Labels stay the same objects when the node gets another label."""
    old, new = (
        from_json(msgspec.json.encode({"metadata": {"name": "n", "labels": labels}}), Node)
        for labels in ({"zone": "a-long-name-of-a-zone"}, {"zone": "a-long-name-of-a-zone", "checked": "7"})
    )
    kept = sharing(new, old)
    assert kept == new
    assert kept.metadata.labels["zone"] is old.metadata.labels["zone"]


@pytest.mark.parametrize("number", CHANGES)
def test_what_is_kept_says_what_was_published(number):
    """To the letter, order and types of values included: true is not 1."""
    chance = random.Random(number)

    def drawn():
        values = [{"int": 1}, {"bool": True}, {"string": "1"}, {"ints": [1]}, {"bools": [True]}, {"strings": []}]
        names = chance.sample(range(4), chance.randrange(5))
        more = chance.sample("abc", chance.randrange(4))
        return published(*(device(n, **{key: chance.choice(values) for key in more}) for n in names))

    kept = drawn()
    for _ in range(6):
        new = drawn()
        kept = sharing(new, kept)
        assert msgspec.json.encode(kept) == msgspec.json.encode(new)
