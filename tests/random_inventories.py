"""Random clusters whose names are hard to hide: names in names, mixed pools, identifiers in selectors."""

from __future__ import annotations

import random
import uuid

from small_nodes import ROOT, device

from dra_lab.model.claims import (
    AllocationResult,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.pods import Pod, PodResourceClaim, PodSpec
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import (
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

GPU, NIC = "gpu.nvidia.com", "dra.net"


def _request(name: str, count: int) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=name, count=count))


SKETCH = ClaimSketch(
    name="pairs",
    requests=(_request("gpu", 2), _request("nic", 1)),
    links=(Link(name="near", requests=("gpu", "nic"), where=ROOT, how=How.TOGETHER),),
)


def inventory(chance: random.Random) -> Cluster:
    """Make two to five nodes with GPUs and NICs, classes that compare what is replaced, claims, pods and rules."""
    nodes = _node_names(chance, chance.randint(2, 5))
    racks = ["zurich-row-9", "acme-dc1-r2", "acme-dc1-r10"]
    slices: list[ResourceSlice] = []
    for name in nodes:
        slices += _slices(chance, name, chance.choice(racks))
    chance.shuffle(slices)
    serials = [d.attributes["uuid"].string for s in slices for d in s.spec.devices or () if "uuid" in d.attributes]
    free = " && ".join(f'device.attributes["{GPU}"].uuid != "{serial}"' for serial in chance.sample(serials, 2))
    rack = f'(!has(device.attributes["{NIC}"].rack) || device.attributes["{NIC}"].rack in {racks[:2]})'
    classes = (
        _class("gpu", f'device.driver == "{GPU}" && {free} // not those of acme'),
        _class("nic", f'device.driver == "{NIC}" && {rack.replace(chr(39), chr(34))}'),
    )
    claims = tuple(_claim(chance, index, slices) for index in range(chance.randint(0, 3)))
    return Cluster(
        slices=tuple(slices),
        classes=classes,
        nodes=tuple(_node(name, chance.choice(racks)) for name in nodes),
        claims=claims,
        taint_rules=(_rule(nodes[0]),) if chance.random() < 0.5 else (),
        pods=tuple(_pod(claim, nodes[0]) for claim in claims),
        name="context:acme-production",
    )


def _node_names(chance: random.Random, count: int) -> list[str]:
    styles = (
        lambda index: f"ip-10-0-{index}-{chance.randint(2, 250)}.ec2.internal",
        lambda index: f"acme-worker-{index}",
        lambda index: f"acme-worker-{index}-b" if index % 2 else f"acme-worker-{index}",
        lambda index: f"10.14{index}.65.3",
        lambda index: f"{chance.choice('qxz')}{index}.berlin.acme.example",
    )
    style = chance.choice(styles)
    return [style(index) for index in range(8, 8 + count)]


def _slices(chance: random.Random, node: str, rack: str) -> list[ResourceSlice]:
    pool = chance.choice((node, f"{node}-gpus", f"aaa-of-{node}"))
    identifier = lambda: str(uuid.UUID(int=chance.getrandbits(128)))  # noqa: E731
    naming = chance.choice(
        (
            lambda index: f"gpu-{index}",
            lambda index: f"gpu-{identifier()}",
            lambda index: f"{node.replace('.', '-')}-gpu-{index}" if index % 2 else f"gpu-{index}",
        )
    )
    gpus = []
    for index in range(chance.randint(2, 4)):
        marks = {
            "type": "gpu",
            "uuid": f"GPU-{identifier()}",
            "productName": "NVIDIA A100",
            "serial": chance.getrandbits(40),
        }
        gpus.append(device(naming(index), {**marks, ROOT: f"pci0000:0{index // 2}"}))
    mac = ":".join(f"{chance.randrange(256):02x}" for _ in range(6))
    marks = {"dra.net/mac": mac, "dra.net/rack": rack, "dra.net/ipv4": f"10.9.8.{chance.randint(2, 250)}/24"}
    nics = [device(f"enx{chance.getrandbits(48):012x}", {**marks, "dra.net/rdma": True, ROOT: "pci0000:00"})]
    return [_slice(chance, GPU, node, pool, gpus), _slice(chance, NIC, node, node, nics)]


def _slice(chance: random.Random, driver: str, node: str, pool: str, devices: list) -> ResourceSlice:
    spec = ResourceSliceSpec(
        driver=driver,
        pool=ResourcePool(name=pool, generation=1, resource_slice_count=1),
        node_name=node,
        devices=tuple(devices),
    )
    return ResourceSlice(metadata=ObjectMeta(name=f"{node}-{driver}-{chance.getrandbits(20):05x}"), spec=spec)


def _class(name: str, expression: str) -> DeviceClass:
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=(selector,)))


def _node(name: str, rack: str) -> Node:
    labels = {
        "kubernetes.io/hostname": name if name[0].isdigit() else name.split(".", maxsplit=1)[0],
        "topology.kubernetes.io/zone": "acme-zone-1",
        "acme.example/rack": rack,
        "team": "acme-research",
    }
    return Node(metadata=ObjectMeta(name=name, uid=str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), labels=labels))


def _claim(chance: random.Random, index: int, slices: list[ResourceSlice]) -> ResourceClaim:
    item = slices[index % len(slices)]
    held = (item.spec.devices or ())[-1]
    result = DeviceRequestAllocationResult(
        request="r", driver=item.spec.driver, pool=item.spec.pool.name, device=held.name
    )
    pod = ResourceClaimConsumerReference(
        resource="pods", name=f"acme-job-{index}", uid=f"{chance.getrandbits(64):x}-uid"
    )
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=(_request("r", 1),)))
    status = ResourceClaimStatus(
        allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,))), reserved_for=(pod,)
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=f"acme-claim-{index}", namespace="acme-team"), spec=spec, status=status
    )


def _pod(claim: ResourceClaim, node: str) -> Pod:
    entry = PodResourceClaim(name="devices", resource_claim_name=claim.metadata.name)
    reserved = claim.status.reserved_for[0]
    meta = ObjectMeta(name=reserved.name, namespace=claim.metadata.namespace, uid=reserved.uid)
    return Pod(metadata=meta, spec=PodSpec(resource_claims=(entry,), node_name=node))


def _rule(pool: str) -> DeviceTaintRule:
    taint = DeviceTaint(key="acme.example/broken", effect="NoSchedule", value="yes")
    spec = DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector(driver=NIC, pool=pool))
    return DeviceTaintRule(metadata=ObjectMeta(name="acme-rule"), spec=spec)
