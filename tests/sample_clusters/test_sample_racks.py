"""The samples of racks have the hierarchies that they teach, and what is free in each domain."""

from __future__ import annotations

import pytest

from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_cluster
from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings

NAMES = ("gb200-nvl72", "h100-pod", "nvlink-over-spines")


def idle(cluster: Cluster, name: str, level: str) -> list[int]:
    """Return the nodes of each domain on which no device is in use and which are not cordoned."""
    busy = {
        result.pool for c in cluster.claims if c.status.allocation for result in c.status.allocation.devices.results
    }
    busy |= {node.name for node in cluster.nodes if node.spec.unschedulable}
    [tree] = [tree for tree in hierarchies(cluster) if tree.name == name]
    return [sum(node not in busy for node in domain.nodes) for domain in tree.at(level)]


@pytest.mark.parametrize(("name", "rules"), [(NAMES[0], ["nodes-cordoned"]), (NAMES[1], []), (NAMES[2], [])])
def test_the_hierarchies_of_a_sample_are_whole(name, rules):
    """Two nodes of the racks are cordoned on purpose."""
    assert [finding.rule for finding in hierarchy_findings(load_cluster(f"sample:{name}"))] == rules


def test_neither_rack_has_sixteen_idle_nodes():
    """Both together have 23."""
    cluster = load_cluster("sample:gb200-nvl72")
    assert idle(cluster, "fabric", "leaf switch") == [10, 13]


def test_a_rack_is_an_nvlink_domain():
    """Each has 18 nodes of four GPUs, which are one clique."""
    trees = {tree.name: tree for tree in hierarchies(load_cluster("sample:gb200-nvl72"))}
    groups = [{domain.nodes for domain in trees[name].innermost()} for name in ("fabric", "NVLink", "nvl72")]
    assert (groups[0] == groups[1] == groups[2], {len(nodes) for nodes in groups[0]}) == (True, {18})


def test_no_leaf_has_four_idle_servers():
    """The server with NICs in use is none of them."""
    assert idle(load_cluster("sample:h100-pod"), "h100-pod", "leaf switch") == [2, 3, 1, 3]


def test_an_nvlink_domain_contains_three_spines():
    """And a zone has nodes of both domains, so that no chain holds the three hierarchies."""
    trees = {tree.name: tree for tree in hierarchies(load_cluster("sample:nvlink-over-spines"))}
    domain = {node: trees["NVLink"].path_of(node)[0] for node in trees["NVLink"].at("NVLink domain")[0].nodes}
    assert len({trees["HyperNodes"].path_of(node)[1] for node in domain}) == 3
    zones = [{trees["NVLink"].path_of(node)[0] for node in zone.nodes} for zone in trees["zone"].innermost()]
    assert zones == [{"nvl-1"}, {"nvl-1", "nvl-2"}, {"nvl-2"}]
