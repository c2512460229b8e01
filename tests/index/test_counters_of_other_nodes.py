"""In 1.36 every node sees the counters of all others (docs/semantics.md 3.2.3); only what they change there is kept."""

import pytest
from msgspec.structs import replace

from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_cluster


def many(nodes, broken=()):
    """As many nodes as the one of the sample, each with its own pool and counters; `broken` ones lack a slice."""
    sample = load_cluster("sample:mig")
    slices = []
    for name in nodes:
        own = list(sample.slices)
        if name in broken:
            own.remove(next(s for s in own if s.spec.shared_counters is None))
        for slice_ in own:
            pool = replace(slice_.spec.pool, name=name)
            metadata = replace(slice_.metadata, name=f"{name}-{slice_.metadata.name}")
            slices.append(replace(slice_, metadata=metadata, spec=replace(slice_.spec, node_name=name, pool=pool)))
    return Cluster(slices=tuple(slices), classes=sample.classes)


def seen(cluster, node, **gates):
    """Names of the pools that a node sees, with whether they are complete."""
    return [(pool.name, pool.complete) for pool in gather_pools(cluster, node, **gates)]


@pytest.mark.parametrize("everywhere", [True, False])
def test_whole_counters_of_another_node_are_no_pool_here(everywhere):
    """They have no device to offer, and 5,000 of them on each of 5,000 nodes would be 25 million."""
    cluster = many(["a", "b", "c"])
    assert seen(cluster, "b", counters_everywhere=everywhere) == [("b", True)]


@pytest.mark.parametrize(("everywhere", "expected"), [(True, [("a", False), ("b", True)]), (False, [("b", True)])])
def test_an_incomplete_pool_with_counters_is_seen_everywhere_until_1_37(everywhere, expected):
    """Requests for All give up on every node because of it."""
    assert seen(many(["a", "b"], broken="a"), "b", counters_everywhere=everywhere) == expected
