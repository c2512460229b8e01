"""A planned domain as required node affinity: in every term, exact, and without a label by the names of nodes."""

from __future__ import annotations

import pytest
import yaml
from gangs_to_export import BLOCK, RACK, cliques, gang, group, tree
from small_nodes import a_slice, cluster, gpu

from dra_lab.exports.gangs.gang_files import gang_files
from dra_lab.exports.gangs.level_keys import pin_affinity
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.planner.gangs import plan_gangs
from dra_lab.topology.presets import HOSTNAME


def wanted(key, *values):
    return {"key": key, "operator": "In", "values": list(values)}


OF_ATTRIBUTES = Hierarchy("fabric", (Level("rack", "oke.dra.net/rackId", "OKE"),), (Domain(("r1",), ("n1", "n2")),))
PINS = {
    "a unique value needs its own label alone": (tree(), ("b0", "b0r1"), wanted(RACK, "b0r1")),
    "a value with several parents needs their labels": (
        tree(same=True),
        ("b1", "r0"),
        wanted(BLOCK, "b1"),
        wanted(RACK, "r0"),
    ),
    "HyperNodes have no label": (tree(keys=("", "")), ("b0",), wanted(HOSTNAME, "n0", "n1", "n2", "n3")),
    "the label of cliques has domain and partition in one value": (cliques(), ("u1",), wanted(HOSTNAME, "n0", "n1")),
    "a device attribute is no label": (OF_ATTRIBUTES, ("r1",), wanted(HOSTNAME, "n1", "n2")),
    "a node is a domain": (tree(), ("n3",), wanted(HOSTNAME, "n3")),
}


@pytest.mark.parametrize("rule", PINS)
def test_a_pin_requires_labels_or_else_the_names_of_nodes(rule):
    hierarchy, path, *expected = PINS[rule]
    assert pin_affinity(hierarchy, path) == tuple(expected)


@pytest.mark.parametrize("required", ["block", "rack", "host"])
@pytest.mark.parametrize("same", [False, True])
def test_the_domains_of_a_plan_are_pins(required, same):
    """A plan says for each gang where it goes, by the path."""
    devices = [gpu(at, f"r{at}") for at in range(4)]
    on = cluster(*(a_slice("gpu.nvidia.com", *devices, node=f"n{node}") for node in range(8)))
    hierarchy, one = tree(same=same), gang(group(pods=1), level=required, replicas=2)
    plan = plan_gangs(on, [one], hierarchies=[hierarchy])
    pins = {placed.replica: placed.domain for placed in plan.placed_gangs}
    files = gang_files(one, "kai", hierarchy, queue="q", pin=pins)
    rules = {found.rule for found in files.findings}
    assert (len(pins), rules) == (2, set())


def test_a_clique_and_a_pin_are_in_one_term():
    """Both must hold for the pods of a ComputeDomain."""
    files = gang_files(gang(level="NVLink partition"), "kai", cliques(), queue="q", pin=("u1", "u1.0"))
    spec = yaml.safe_load(files.texts["job.yaml"])["spec"]["template"]["spec"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [
        {
            "matchExpressions": [
                wanted("nvidia.com/gpu.clique", "u1.0"),
                {"key": "nvidia.com/gpu.clique", "operator": "Exists"},
            ]
        }
    ]
