"""Hierarchies: domains by level, the path of a node, and names of levels."""

from __future__ import annotations

import pytest

from dra_lab.errors import InputError
from dra_lab.model.hierarchy import Domain, Hierarchy, LeftOut, Level

LEVELS = (Level("block", "example.com/block", "test"), Level("rack", "example.com/rack", "test"))
DOMAINS = (
    Domain(("b1",), ("n1", "n2")),
    Domain(("b2",), ("n3", "n4")),
    Domain(("b1", "r1"), ("n1", "n2")),
    Domain(("b2", "r1"), ("n3",)),
)
FABRIC = Hierarchy("fabric", LEVELS, DOMAINS, (LeftOut("n5", "has no label example.com/block"),))


@pytest.mark.parametrize("name", ["rack", "Rack", "example.com/rack"])
def test_a_level_has_a_name_and_a_key(name):
    assert [domain.path for domain in FABRIC.at(name)] == [("b1", "r1"), ("b2", "r1")]


def test_an_unknown_level_names_the_levels():
    with pytest.raises(InputError, match=r"no level 'racks'; did you mean 'rack'.*: block, rack"):
        FABRIC.at("racks")


def test_no_level_is_named_by_nothing():
    with pytest.raises(InputError):
        Hierarchy("HyperNodes", (Level("rack"),), ()).level_index("")


@pytest.mark.parametrize(("node", "path"), [("n2", ("b1", "r1")), ("n4", ("b2",)), ("n5", ())])
def test_a_node_has_the_path_of_its_innermost_domain(node, path):
    assert FABRIC.path_of(node) == path
