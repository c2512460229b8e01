"""Groups of nodes on which the search is the same."""

from __future__ import annotations

import random
from itertools import chain

from small_claims import CLASSES, a_claim, holding, request
from small_nodes import ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import KubernetesRelease
from dra_lab.model.claims import AllocatedDevices, DeviceConstraint
from dra_lab.model.device import DeviceTaint
from dra_lab.pinning.node_search import search_pod
from dra_lab.pinning.pin_budget import budget_of
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.identical_nodes import NodeStates
from dra_lab.sketch.read_back import sketch_of

NOW = KubernetesRelease("1.36")
GPUS = "gpu.nvidia.com"
PAIR = a_claim(request("gpu"), request("nic", "nic"), constraints=[DeviceConstraint(match_attribute=ROOT)])


def groups(slices, claims=(PAIR,), held=(), in_use=None):
    """Group the nodes of slices."""
    some = cluster(*slices, classes=CLASSES, claims=tuple(held))
    return NodeStates(some, NOW, in_use).groups(claims)


def test_what_a_claim_does_not_look_at_does_not_separate_nodes():
    """Nodes that differ in UUIDs alone are one group."""
    slices = [a_slice(GPUS, gpu(0, "a", uuid=f"GPU-{node}"), node=node) for node in ("n1", "n2")]
    assert groups(slices) == (("n1", "n2"),)


def test_what_a_constraint_compares_separates_nodes():
    """Nodes whose devices sit at other roots are two groups."""
    slices = [a_slice(GPUS, gpu(0, root), node=node) for node, root in (("n1", "a"), ("n2", "b"))]
    assert groups(slices) == (("n1",), ("n2",))


def test_what_a_selector_answers_separates_nodes():
    """Another answer of a selector is another state; another value with the same answer is not."""
    slices = [a_slice(GPUS, device("gpu-0", {"x": x}), node=f"n{x}") for x in (1, 2, 3)]
    claim = a_claim(request("r", "gpu", 1, f'device.attributes["{GPUS}"].x > 1'))
    assert groups(slices, [claim]) == (("n1",), ("n2", "n3"))


def test_devices_in_use_separate_nodes_unless_ignored():
    """A node with a device in use is another state than an idle one."""
    slices = [a_slice(GPUS, gpu(0), node=node) for node in ("n1", "n2")]
    held = [holding(f"{GPUS}/n2/gpu-0")]
    assert groups(slices, held=held) == (("n1",), ("n2",))
    assert groups(slices, held=held, in_use=AllocatedDevices()) == (("n1", "n2"),)


def test_a_claim_that_is_refused_everywhere_makes_one_group():
    """A missing class is the same answer on every node."""
    slices = [a_slice(GPUS, gpu(0, root), node=node) for node, root in (("n1", "a"), ("n2", "b"))]
    assert groups(slices, [a_claim(request("r", "tpu"))]) == (("n1", "n2"),)


def random_node(rng: random.Random, name: str):
    """Make a node of three GPUs and two NICs at two roots, some tainted, shared or without a root."""
    taint = (DeviceTaint(key="k", effect="NoSchedule"),)
    gpus = [
        device(
            f"gpu-{index}",
            {ROOT: rng.choice("ab"), "uuid": f"{name}-{index}"},
            taints=taint if rng.random() < 0.2 else (),
            allow_multiple_allocations=rng.random() < 0.2 or None,
        )
        for index in range(3)
    ]
    nics = [nic(f"nic-{index}", rng.choice(["a", "b", ""])) for index in range(2)]
    return [a_slice(GPUS, *gpus, node=name), a_slice("dra.net", *nics, node=name)]


def test_equal_states_mean_equal_searches():
    """Within a group every node ends with the same status, after as many steps, with the same devices by name."""
    rng = random.Random(7)
    names = [f"n{number:03}" for number in range(150)]
    slices = [part for name in names for part in random_node(rng, name)]
    held = [holding(f"{GPUS}/{name}/gpu-{rng.randrange(3)}") for name in names if rng.random() < 0.5]
    some = cluster(*slices, classes=CLASSES, claims=tuple(held))
    found = [(names, first_fit(some, names[0], [PAIR], NOW)) for names in NodeStates(some, NOW).groups([PAIR])]
    assert sorted(name for nodes, _ in found for name in nodes) == names
    assert len(found) < len(names)
    for nodes, verdict in found:
        for name in nodes:
            other = first_fit(some, name, [PAIR], NOW)
            assert (other.status, other.steps) == (verdict.status, verdict.steps)
            picked = [[r.device for a in v.allocations or () for r in a.devices.results] for v in (verdict, other)]
            assert picked[0] == picked[1]


def test_a_followed_cluster_is_searched_as_a_new_one():
    """A search of an earlier snapshot answers for equal states alone, while slices and claims change."""
    rng, names = random.Random(3), [f"n{number:02}" for number in range(12)]
    of_node = {name: random_node(rng, name) for name in names}
    followed = cluster(classes=CLASSES)
    for _ in range(25):
        name = rng.choice(names)
        of_node[name] = random_node(rng, name)
        held = [holding(f"{GPUS}/{name}/gpu-{rng.randrange(3)}") for name in names if rng.random() < 0.3]
        followed = followed.with_objects(slices=tuple(chain(*of_node.values())), claims=tuple(held))
        new = cluster(*followed.slices, classes=CLASSES, claims=tuple(held))
        assert searched(followed) == searched(new)


def searched(some):
    """Return how the search for a pair ends on each group of nodes, and after how many steps."""
    found = search_pod([sketch_of(PAIR.spec, "pair")], some, NOW, budget_of(60.0, None), written=True)
    return [(nodes, verdict.status, verdict.steps) for nodes, verdict in found.states]
