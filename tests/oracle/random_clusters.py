"""The one generator of random small clusters, claims and fleets: what occurs in them are its switches, `SWITCHES`.

The same seed and switches are the same case. Pods of several claims, for these clusters, are in `random_pods`.
"""

from __future__ import annotations

import dataclasses
import random

from msgspec.structs import replace
from random_devices import (
    BY_NAME,
    CLASSES,
    CORES,
    CPU,
    CPUS,
    GPU,
    NIC,
    PART_A,
    PART_B,
    RDMA,
    ROOT,
    SHARES,
    TAG,
    WIDE,
    Has,
    broken_pool,
    device_class,
    hardware,
    holders,
    seen_by_several,
    selector,
    slices_of,
    taint_rule,
    text,
)

from dra_lab.model.claims import (
    ALL,
    CapacityRequirements,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.workload import Workload

SWITCHES = {
    "kinds": "NICs with and without RDMA, and tags",
    "taints": "taints of devices",
    "alternatives": "requests with alternatives",
    "all": "requests for all devices",
    "links": "links of any kind between requests",
    "whole": "devices that can be shared, and are held without a share",
    "pairs": "pairwise links more often, and mostly required",
    "trees": "NUMA nodes that follow from roots, devices alike, and the claims that are planned on trees",
    "counters": "partitions that draw on counters",
    "amounts": "devices that several claims share, with every request policy",
    "lists": "attributes that are lists of texts",
    "admin": "requests and holders with admin access",
    "tolerations": "tolerations, and taints of several keys and values",
    "overdrawn": "devices that more claims hold than can",
    "wide": "many small devices, of which a claim can have too many",
    "missing": "selectors that fail on a device",
    "rules": "DeviceTaintRules",
    "zones": "Node objects with a zone, and node selectors",
    "broken": "pools that are not whole, not valid, or old",
    "several": "now and then a pool that several nodes see",
    "coupled": "always a pool that several nodes see",
}
"""What each switch lets occur."""

PLAIN = frozenset(("kinds", "taints", "alternatives", "all", "links"))
SHARING = PLAIN | {"counters", "amounts", "lists", "admin", "tolerations", "overdrawn", "pairs"}
RULES = SHARING | {"whole", "wide", "missing", "rules", "zones", "broken", "several"}
TREES = frozenset(("trees",))


def switches(*, sharing: bool, coupled: bool = False) -> Has:
    """Return PLAIN or SHARING, with or without a pool that several nodes see."""
    return (SHARING if sharing else PLAIN) | ({"coupled"} if coupled else set())


def random_cluster(rng: random.Random, has: Has = PLAIN, node: str = "n1") -> Cluster:
    """Return a node of up to five GPUs or partitions, four NICs and three CPU devices, partly in use."""
    slices = [
        made
        for driver, (devices, sets) in hardware(rng, has).items()
        for made in slices_of(driver, node, devices, sets, node_name=node)
    ]
    claims = tuple(holders(rng, slices, 0.2, 0, has))
    return Cluster(tuple(slices), _classes(has), claims=claims, name="random")


def random_fleet(rng: random.Random, nodes: int = 5, has: Has = PLAIN) -> Cluster:
    """Return nodes of two kinds of hardware, with other names, roots and devices in use on each."""
    kinds = [random_cluster(rng, has) for _ in range(2)]
    busy = rng.choice([0.0, 0.1, 0.25]) if "amounts" in has else 0.25
    names = tuple(f"n{number}" for number in range(nodes))
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    for name in names:
        kind, renamed = rng.choice(kinds), rng.random() < 0.5
        own = [_on_node(published, name, renamed=renamed) for published in kind.slices]
        claims.extend(holders(rng, own, busy, len(claims), has))
        slices.extend(own)
    made = Cluster(tuple(slices), _classes(has), claims=tuple(claims), name="fleet")
    if "coupled" in has or ("several" in has and rng.random() < 0.6):
        made = _coupled(rng, made, names, has)
    if "broken" in has and rng.random() < 0.3:
        made = dataclasses.replace(made, slices=(*made.slices, *broken_pool(rng, rng.choice(names), has)))
    if "zones" in has:
        found = tuple(_node(name, rng.choice("ab"), plugin=rng.random() < 0.1) for name in names)
        made = dataclasses.replace(made, nodes=found)
    if "rules" in has:
        rules = tuple(taint_rule(rng, number, names, has) for number in range(rng.choice([0, 0, 1, 2])))
        made = dataclasses.replace(made, taint_rules=rules)
    return made


def _classes(has: Has):
    return tuple(map(device_class, CLASSES if "wide" in has else (GPU, NIC, CPU)))


def _node(name: str, zone: str, *, plugin: bool) -> Node:
    status = NodeStatus(allocatable={BY_NAME: "4"} if plugin else {})
    return Node(metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name, "zone": zone}), status=status)


def _on_node(published: ResourceSlice, node: str, *, renamed: bool) -> ResourceSlice:
    """Return a slice as that of another node, now and then with roots that have its name."""
    spec, devices = published.spec, published.spec.devices
    if renamed and devices is not None:
        devices = tuple(_renamed(device, node) for device in devices)
    spec = replace(spec, pool=replace(spec.pool, name=node), node_name=node, devices=devices)
    name = published.metadata.name.replace(published.spec.node_name, node, 1)
    return replace(published, metadata=replace(published.metadata, name=name), spec=spec)


def _renamed(device: Device, node: str) -> Device:
    root = device.attributes.get(ROOT)
    if root is None or root.is_list:
        return device
    return replace(device, attributes={**device.attributes, ROOT: text(f"{root.string}-{node}")})


def _coupled(rng: random.Random, cluster: Cluster, nodes: tuple[str, ...], has: Has) -> Cluster:
    """Return the cluster with the GPUs or the NICs of a node as a pool of several nodes, and few of the others."""
    driver = rng.choice([GPU, NIC])
    pools: dict[str, list[ResourceSlice]] = {}
    for published in cluster.slices:
        if published.spec.driver == driver:
            pools.setdefault(published.spec.pool.name, []).append(published)
    others = [published for published in cluster.slices if published.spec.driver != driver]
    kept = [published for pool in rng.sample(list(pools.values()), rng.randint(0, len(pools))) for published in pool]
    fabric = list(seen_by_several(rng, next(iter(pools.values())), nodes, has))
    far = holders(rng, fabric, 0.15, len(cluster.claims), has)
    return dataclasses.replace(cluster, slices=(*others, *kept, *fabric), claims=(*cluster.claims, *far))


# ---------------------------------------------------------------- claims


def random_sketch(rng: random.Random, has: Has = PLAIN, cluster: Cluster | None = None, most: int = 3) -> ClaimSketch:
    """Return a claim of up to `most` requests with up to two links; pairwise links never form a ring.

    A cluster with lists must be given: no pairs are asked for where a root is one.
    """
    if "trees" in has:
        return rng.choice([_linked, _numbered, _whole])(rng, has)
    requests = [_request(rng, number, has) for number in range(rng.randint(1, most))]
    if any(request.exactly is not None and request.exactly.device_class_name == WIDE for request in requests):
        requests.append(DeviceRequest(f"r{len(requests)}", ExactDeviceRequest(**_wide_part(rng))))
    names = [r.name for r in requests] + [f"{r.name}/{s.name}" for r in requests for s in r.first_available]
    hows = [How.TOGETHER, How.APART] if _lists(cluster) else [*How, *([How.PAIRWISE] if "pairs" in has else [])]
    links: list[Link] = []
    for number in range(rng.choice([0, 1, 1, 2]) if "links" in has else 0):
        how = rng.choice(hows)
        pairs = how is How.PAIRWISE and "pairs" in has
        tied = tuple(rng.sample(names, min(len(names), rng.randint(1 + pairs, 3))))
        places = ["pcieRoot", "numaNode", TAG]
        if how is How.PAIRWISE:
            tied = tuple({name.split("/")[0]: name for name in tied}.values())
            others = [link for link in links if link.how is How.PAIRWISE]
            if len(tied) < 2 or any(len(_ends(tied) & _ends(other.requests)) > 1 for other in others):
                continue
            places = places[:2] if "lists" in has else places
        where, must = rng.choice(places), rng.random() < (0.8 if pairs else 0.5)
        links.append(Link(name=f"link-{number}", requests=tied, where=where, how=how, must=must))
    return ClaimSketch(requests=tuple(requests), links=tuple(links))


def _lists(cluster: Cluster | None) -> bool:
    slices = () if cluster is None else cluster.slices
    roots = (device.attributes.get(ROOT) for s in slices for device in s.spec.devices or ())
    return any(root is not None and root.is_list for root in roots)


def _ends(references: tuple[str, ...]) -> set[str]:
    return {reference.split("/")[0] for reference in references}


def _request(rng: random.Random, number: int, has: Has) -> DeviceRequest:
    name = f"r{number}"
    if "alternatives" in has and rng.random() < 0.25:
        subs = tuple(DeviceSubRequest(name=f"s{n}", **_part(rng, has)) for n in range(rng.randint(1, 2)))
        return DeviceRequest(name=name, first_available=subs)
    admin = True if "admin" in has and rng.random() < 0.25 else None
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(**_part(rng, has), admin_access=admin))


def _part(rng: random.Random, has: Has) -> dict[str, object]:
    driver = rng.choice([GPU, GPU, NIC, NIC, CPU, *([WIDE] if "wide" in has else [])])
    if driver == WIDE:
        return _wide_part(rng)
    part: dict[str, object] = {"device_class_name": driver}
    if driver == CPU and "amounts" not in has:
        part["capacity"] = CapacityRequirements(requests={CPUS: rng.choice([2, 5, 8])})
        part["count"] = rng.choice([1, 1, 2])
    elif "all" in has and rng.random() < 0.1:
        part["allocation_mode"] = ALL
    else:
        part["count"] = rng.choice([1, 1, 2, 2, 3])
    if driver == NIC and "kinds" in has and rng.random() < 0.4:
        by_class = "wide" in has and rng.random() < 0.5
        part |= {"device_class_name": "rdma"} if by_class else {"selectors": (selector(RDMA),)}
    if "amounts" in has and driver != NIC and rng.random() < (0.8 if driver == CPU else 0.3):
        # Never more CPUs than each device has in all: larger requests may be split.
        key, largest = rng.choice([(CORES, 6), (CORES, 6), (SHARES, 1)] if driver == CPU else [(SHARES, 2)])
        part["capacity"] = CapacityRequirements(requests={key: rng.randint(0, largest)})
    if "tolerations" in has and rng.random() < 0.4:
        part["tolerations"] = (_toleration(rng),)
    return part


def _wide_part(rng: random.Random) -> dict[str, object]:
    """Ask for one or all of the many small devices, so that two such requests may be more than a claim can hold."""
    number = {"count": 1} if rng.random() < 0.2 else {"allocation_mode": ALL}
    return {"device_class_name": WIDE, "selectors": (selector(rng.choice([PART_A, PART_B])),), **number}


def _toleration(rng: random.Random) -> DeviceToleration:
    key, effect = rng.choice(["", "bad", "bad", "worse"]), rng.choice(["", "", "NoSchedule", "NoExecute"])
    if not key or rng.random() < 0.6:
        return DeviceToleration(key=key, operator="Exists", effect=effect)
    return DeviceToleration(key=key, operator="Equal", value=rng.choice(["", "x"]), effect=effect)


# ---------------------------------------------------------------- claims that are planned on trees


def _exactly(name: str, driver: str, count: int = 1, **more) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count, **more))


def _nics(rng: random.Random, name: str, count: int, has: Has) -> DeviceRequest:
    """Return a request for NICs, of those with RDMA now and then."""
    rdma = "kinds" in has and rng.random() < 0.5
    return _exactly(name, NIC, count, selectors=(selector(RDMA),) if rdma else ())


def _cpus(rng: random.Random) -> list[DeviceRequest]:
    if rng.random() < 0.65:
        return []
    return [_exactly("cpu", CPU, capacity=CapacityRequirements(requests={CPUS: rng.choice([2, 5, 8])}))]


def _where(rng: random.Random, has: Has, *places: str) -> str:
    return TAG if "kinds" in has and rng.random() < 0.3 else rng.choice(places)


def _linked(rng: random.Random, has: Has) -> ClaimSketch:
    """Return a claim for GPUs, NICs and CPUs with up to two links between any of them."""
    gpus, nics = rng.choice([(1, 1), (2, 2), (2, 1), (1, 0), (2, 0), (1, 2), (3, 0), (3, 3)])
    requests = [_exactly("gpu", GPU, gpus), *([_nics(rng, "nic", nics, has)] if nics else []), *_cpus(rng)]
    names = [request.name for request in requests]
    links: list[Link] = []
    for at in range(rng.choice([0, 1, 1, 2])):
        how = rng.choice(list(How))
        places = ("pcieRoot", "numaNode", "numaNode")
        if how is How.PAIRWISE and nics and max(gpus, nics) % min(gpus, nics) == 0:
            # Only one preferred link may pair the same requests.
            must = bool(links) or rng.random() < 0.6
            links.append(Link(f"l{at}", ("gpu", "nic"), rng.choice(places), how, must=must))
            continue
        where = _where(rng, has, *places)
        able = names if where == "numaNode" else [name for name in names if name != "cpu"]
        ends = tuple(rng.sample(able, rng.randint(1, len(able))))
        kind = How.TOGETHER if how is How.PAIRWISE else how
        links.append(Link(f"l{at}", ends, where, kind, must=rng.random() < 0.6))
    return ClaimSketch(name="claim", requests=tuple(requests), links=tuple(links))


def _numbered(rng: random.Random, has: Has) -> ClaimSketch:
    """Return a claim for one or two pairs, each GPU and NIC a request of its own, and sometimes more beside them."""
    pairs, where = rng.randint(1, 2), rng.choice(["pcieRoot", "numaNode"])
    requests, links = [], []
    for at in range(pairs):
        requests += [_exactly(f"gpu-{at}", GPU), _nics(rng, f"nic-{at}", 1, has)]
        links.append(Link(f"pair-{at}", (f"gpu-{at}", f"nic-{at}"), where))
    if rng.random() < 0.3:
        ends = tuple(f"gpu-{at}" for at in range(pairs))
        how = rng.choice([How.APART, How.TOGETHER])
        links.append(Link("gpus", ends, _where(rng, has, "pcieRoot", "numaNode"), how, must=rng.random() < 0.6))
    elif rng.random() < 0.3:
        requests.append(_exactly("more", GPU))
    return ClaimSketch(name="claim", requests=(*requests, *_cpus(rng)), links=tuple(links))


def _whole(rng: random.Random, has: Has) -> ClaimSketch:
    """Return a claim for two GPUs, or else a GPU or NIC, without links."""
    first = DeviceSubRequest(name="two", device_class_name=GPU, count=2)
    second = DeviceSubRequest(name="one", device_class_name=rng.choice([GPU, NIC]), count=1)
    request = DeviceRequest(name="any", first_available=(first, second))
    return ClaimSketch(name="claim", requests=(request, *_cpus(rng)))


def random_workloads(rng: random.Random, cluster: Cluster, has: Has = PLAIN) -> tuple[Workload, ...]:
    """Return one to three kinds of pods with one to four replicas each."""
    drawn = []
    for number in range(rng.choice([1, 1, 2, 2, 3])):
        sketch = random_sketch(rng, has, cluster)
        drawn.append(Workload(f"w{number}", (replace(sketch, name="claim"),), replicas=rng.randint(1, 4)))
    return tuple(drawn)


def small_fleet(rng: random.Random, has: Has = PLAIN) -> Cluster:
    """Return a cluster of one to four nodes, or of two or three that share a pool."""
    return random_fleet(rng, rng.randint(2, 3) if "coupled" in has else rng.randint(1, 4), has)
