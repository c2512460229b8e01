"""Claims that the pods of one group of a gang share: one node for each such group, and not for the gang."""

from __future__ import annotations

import pytest
from random_gangs import hierarchy_of
from small_claims import request
from small_nodes import a_slice, cluster, gpu

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.model.node_type import NodeType
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.gangs import plan_gangs
from dra_lab.planner.gangs.nodes_to_add import nodes_to_add

GPU = ClaimSketch(name="gpus", requests=(request("gpu", "gpu.nvidia.com"),))
SHARED = ClaimSketch(name="shared", requests=(request("gpu", "gpu.nvidia.com"),))


def nodes(*counts: int) -> Cluster:
    """Return nodes with some GPUs each."""
    slices = [
        a_slice("gpu.nvidia.com", *(gpu(at, f"r{at}") for at in range(count)), node=f"n{number}")
        for number, count in enumerate(counts)
    ]
    return cluster(*slices)


def sharing(name: str, pods: int = 2, **more) -> GangGroup:
    """Return a group whose pods have one GPU each and one more together."""
    return GangGroup(Workload(name, (GPU,), pods), shared_claims=(SHARED,), **more)


def test_each_group_is_on_one_node():
    """Two nodes of three GPUs are enough for two groups of two pods, and one node of six is not needed."""
    plan = plan_gangs(nodes(3, 3), [Gang("g", (sharing("a"), sharing("b")))])
    [placed] = plan.placed
    homes = {(one.workload, one.node) for one in (*placed.replicas, *placed.group_shared)}
    assert (plan.proven, len(homes), len({node for _, node in homes})) == (True, 2, 2)


@pytest.mark.parametrize(("counts", "status"), [((2, 2, 2), PlanStatus.INFEASIBLE), ((3, 1), PlanStatus.OPTIMAL)])
def test_the_claim_takes_its_devices_once_on_the_node_of_the_group(counts, status):
    """Two pods and their claim need three GPUs of one node."""
    assert plan_gangs(nodes(*counts), [Gang("g", (sharing("a"),))]).status is status


def test_a_group_with_shared_claims_has_a_pod():
    """Without one its claim would have no devices."""
    with pytest.raises(InputError, match="give a min of 1 or more"):
        plan_gangs(nodes(4), [Gang("g", (sharing("a", min=0), GangGroup(Workload("b", (GPU,), 1))))])


def test_a_gang_with_both_kinds_of_shared_claims_is_on_one_node():
    """The claim of the gang holds all its pods to one node."""
    gang = Gang("g", (sharing("a"), sharing("b")), shared_claims=(SHARED,))
    plan = plan_gangs(nodes(3, 4, 7), [gang])
    assert (plan.proven, plan.placed[0].nodes, len(plan.placed[0].every_shared)) == (True, ("n2",), 3)


def test_nodes_to_add_have_the_claim_too():
    """A node of two GPUs cannot have the group, however many there are; one of three GPUs can."""
    tree = hierarchy_of({"n0": ("a", "r"), "n1": ("a", "r")})
    on, gang = nodes(2, 3), Gang("g", (sharing("a"),), replicas=3)
    small, large = (NodeType(name, node=node) for name, node in (("small", "n0"), ("large", "n1")))
    found = nodes_to_add(on, [gang], types=[small, large], hierarchies=[tree])
    assert ({one.type: one.count for one in found.added}, found.status) == ({"large": 2}, PlanStatus.OPTIMAL)
