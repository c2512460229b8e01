"""Parts of a republished object that are equal are the ones already kept."""

import random

import msgspec
import pytest

from dra_lab.model.decoding import from_json
from dra_lab.model.slices import ResourceSlice
from dra_lab.sources.sharing import sharing

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
