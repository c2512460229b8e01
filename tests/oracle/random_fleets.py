"""Random small fleets and workloads: with or without shared devices, on nodes that share a pool or not."""

from __future__ import annotations

import dataclasses
import random

from msgspec.structs import replace
from random_clusters import FABRIC, GPU, NIC, random_fleet, random_sketch
from random_sharing import sharing_cluster, sharing_sketch

from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta

MOST = 10_000


def random_workloads(rng: random.Random, cluster: Cluster, *, sharing: bool) -> tuple[Workload, ...]:
    """Make one to three kinds of pods with one to four replicas each."""
    drawn = []
    for number in range(rng.choice([1, 1, 2, 2, 3])):
        sketch = sharing_sketch(rng, cluster) if sharing else random_sketch(rng)
        drawn.append(Workload(f"w{number}", (replace(sketch, name="claim"),), rng.randint(1, 4)))
    return tuple(drawn)


def a_fleet(rng: random.Random, *, sharing: bool) -> Cluster:
    """Make a cluster of one to four nodes."""
    nodes = rng.randint(1, 4)
    return sharing_cluster(rng, nodes) if sharing else random_fleet(rng, nodes)


def a_coupled_fleet(rng: random.Random, *, sharing: bool) -> Cluster:
    """Make a cluster of two or three nodes that share a pool: seen by all of them, or each device by all or one."""
    nodes = rng.randint(2, 3)
    cluster = sharing_cluster(rng, nodes) if sharing else random_fleet(rng, nodes)
    driver = GPU if sharing else rng.choice([GPU, NIC])
    mine = [s for s in cluster.slices if s.spec.driver == driver]
    first = [s for s in mine if s.spec.pool.name == mine[0].spec.pool.name]
    others = [s for s in cluster.slices if s.spec.driver != driver]
    # Local devices beside the shared ones; counters are known by their driver, so that there those are the only ones.
    kept = others if sharing else [*others, *rng.sample(mine, rng.randint(0, len(mine)))]
    each = rng.random() < 0.5
    fabric = [_shared(rng, published, cluster.node_names, each=each) for published in first]
    claims = [c for c in cluster.claims if not sharing or _held(c).driver != driver]
    for device in [d for s in fabric for d in s.spec.devices or ()]:
        if rng.random() < 0.15:
            held = DeviceID(driver, FABRIC, device.name)
            result = DeviceRequestAllocationResult(request="r", **held._asdict())
            allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
            claims.append(
                ResourceClaim(
                    metadata=ObjectMeta(name=f"far-{device.name}", namespace="default"),
                    status=ResourceClaimStatus(allocation=allocation),
                )
            )
    return dataclasses.replace(cluster, slices=(*kept, *fabric), claims=tuple(claims))


def _held(claim: ResourceClaim):
    return claim.status.allocation.devices.results[0]


def _shared(rng: random.Random, published, nodes, *, each: bool):
    spec = replace(published.spec, pool=replace(published.spec.pool, name=FABRIC), node_name=None)
    name = replace(published.metadata, name=f"far-{published.metadata.name}")
    if spec.devices is None or not each:
        return replace(published, metadata=name, spec=replace(spec, all_nodes=True))
    devices = tuple(
        replace(d, all_nodes=True) if rng.random() < 0.5 else replace(d, node_name=rng.choice(nodes))
        for d in spec.devices
    )
    return replace(published, metadata=name, spec=replace(spec, devices=devices, per_device_node_selection=True))
