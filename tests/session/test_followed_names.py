"""A cluster is followed for hours: of what comes and goes with ever new names, nothing that is gone is kept."""

import gc
import sys
from itertools import pairwise

import pytest
from msgspec.structs import replace

from dra_lab import load_cluster, read_sketch, samples
from dra_lab.model.allocation import ResourceClaimConsumerReference, ResourceClaimStatus
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.model.workloads import Pod, PodResourceClaim, PodSpec
from dra_lab.session import Session
from dra_lab.sources.live.live_objects import LiveObjects

TURNS = 5


def claims(objects, number, read):
    """A claim and its pod of new names take the place of those before."""
    name, before = f"claim-{number}", f"claim-{number - 1}"
    user = ResourceClaimConsumerReference(resource="pods", name=name, uid=f"uid-{number}")
    held = next(claim.status.allocation for claim in read.claims if claim.status.allocation)
    meta = ObjectMeta(name=name, namespace="test", uid=f"uid-{number}")
    uses = (PodResourceClaim(name="gpu", resource_claim_name=name),)
    objects.put("Pod", Pod(metadata=meta, spec=PodSpec(resource_claims=uses)))
    objects.put(
        "ResourceClaim", ResourceClaim(metadata=meta, status=ResourceClaimStatus(allocation=held, reserved_for=(user,)))
    )
    for kind in ("Pod", "ResourceClaim"):
        objects.remove(kind, ("test", before))


def slices(objects, number, read):
    """A slice is published again under a new name, with a new generation."""
    first = read.slices[0]
    pool = replace(first.spec.pool, generation=number + 10)
    meta = replace(first.metadata, name=f"slice-{number}")
    objects.put("ResourceSlice", replace(first, metadata=meta, spec=replace(first.spec, pool=pool)))
    objects.remove("ResourceSlice", ("", f"slice-{number - 1}" if number else first.name))


def nodes(objects, number, read):
    """A node with devices comes, the one before goes."""
    name, before = f"node-{number}", f"node-{number - 1}"
    first = next(item for item in read.slices if item.spec.node_name)
    pool = replace(first.spec.pool, name=name)
    objects.put("Node", Node(metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name})))
    meta = ObjectMeta(name=f"slice-{name}")
    objects.put("ResourceSlice", replace(first, metadata=meta, spec=replace(first.spec, pool=pool, node_name=name)))
    objects.remove("Node", ("", before))
    objects.remove("ResourceSlice", ("", f"slice-{before}"))


def rules(objects, number, read):
    """A rule taints a pool, the one before goes."""
    taint = DeviceTaint(key=f"key-{number}", effect="NoSchedule")
    spec = DeviceTaintRuleSpec(taint, DeviceTaintSelector(pool=read.slices[0].spec.pool.name))
    objects.put("DeviceTaintRule", DeviceTaintRule(metadata=ObjectMeta(name=f"rule-{number}"), spec=spec))
    objects.remove("DeviceTaintRule", ("", f"rule-{number - 1}"))


@pytest.mark.some(2)
@pytest.mark.parametrize("change", [claims, slices, nodes, rules])
def test_what_is_gone_is_not_kept(change):
    """After as many changes again there are no more objects than before, however many other threads have just then."""
    read = load_cluster("sample:two-sockets")
    example = next(sample.examples[0] for sample in samples() if sample.name == "two-sockets")
    session, objects = Session(read, sketch=read_sketch(f"sample:two-sockets/{example}")), LiveObjects(read)
    counted = []
    session.wait()
    session.set_release("1.37")  # where rules count
    session.wait()
    for number in range(5 * TURNS):
        change(objects, number, read)
        session._take_live(objects.snapshot({}))
        session.wait()
        if number % TURNS == TURNS - 1:
            gc.collect()
            counted.append(sys.getallocatedblocks())
    session.close()
    # What is kept is kept each time.
    assert min(after - before for before, after in pairwise(counted[1:])) < 8 * TURNS
