"""Random pods of one to three claims, and of extended resources, for the clusters in which all rules are mixed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from brute_force import EXTENDED, MOST, BruteForce, TooLarge
from random_clusters import CPU, GPU, NIC, RDMA, ROOT, TAG, selector
from random_rules import BY_NAME, CORES, PART_A, PART_B, SHARES, WIDE, mixed_cluster

from dra_lab.model.claims import (
    ALL,
    CapacityRequirements,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.workloads import Container, Pod, PodSpec, ResourceRequirements


@dataclass(frozen=True)
class DrawnPod:
    """A pod: its drawings, and the containers that ask for devices by the name of an extended resource."""

    sketches: dict[str, ClaimSketch]
    pod: Pod | None = None

    @property
    def claims(self) -> dict[str, ClaimSketch]:
        """Return every claim of the pod; the one for extended resources as the rules make it: it comes last.

        Rule: docs/semantics.md 1.16.
        """
        if self.pod is None:
            return self.sketches
        main = [_by_name(container) for container in self.pod.spec.containers]
        first = [_by_name(container) for container in self.pod.spec.init_containers]
        # of init containers only what the pod does not take later, once
        more = max((amount - sum(main) for amount in first), default=0)
        counts = [count for count in (*([more] if more > 0 else []), *main) if count]
        requests = tuple(
            DeviceRequest(f"container-{n}", ExactDeviceRequest(device_class_name="named", count=count))
            for n, count in enumerate(counts)
        )
        return {**self.sketches, EXTENDED: ClaimSketch(EXTENDED, requests)}


def _by_name(container: Container) -> int:
    return int(container.resources.requests.get(BY_NAME, 0))


def a_pod(rng: random.Random, cluster: Cluster, release: KubernetesRelease, most: int = MOST) -> DrawnPod:
    """Return a pod that is small enough to be tried out; of those that fit nowhere only some are kept."""
    while True:
        drawn = draw_pod(rng, cluster)
        try:
            models = [BruteForce(cluster, drawn.claims, node, release, paired=False) for node in cluster.node_names]
            if rng.random() < 0.3 or any(next(model.allocations(), None) is not None for model in models):
                for model in models:
                    next(model.allocations(), None)
                return drawn
        except TooLarge:
            continue


def draw_pod(rng: random.Random, cluster: Cluster) -> DrawnPod:
    """Return a pod of one to three claims, of which the last may stand for extended resources."""
    named = rng.random() < 0.15
    number = rng.choice([1, 1, 1, 2, 2, 3]) - named
    sketches = {f"c{n}": a_claim(rng, cluster, f"c{n}", most=2 if number > 1 else 3) for n in range(number)}
    if not named:
        return DrawnPod(sketches)
    main = tuple(_container(rng.choice([0, 1, 1, 2])) for _ in range(rng.randint(1, 2)))
    first = (_container(rng.randint(1, 3)),) if rng.random() < 0.3 else ()
    asked = sum(map(_by_name, (*main, *first)))
    spec = PodSpec(containers=main if asked else (_container(1),), init_containers=first)
    return DrawnPod(sketches, Pod(metadata=ObjectMeta(name="pod"), spec=spec))


def _container(amount: int) -> Container:
    return Container(resources=ResourceRequirements(requests={BY_NAME: amount} if amount else {}))


def a_claim(rng: random.Random, cluster: Cluster, name: str, most: int = 3) -> ClaimSketch:
    """Make a claim of up to `most` requests with up to two links; pairs only where no root is a list."""
    requests = [_request(rng, n) for n in range(rng.randint(1, most))]
    if any(r.exactly is not None and r.exactly.device_class_name == WIDE for r in requests):
        requests.append(DeviceRequest(f"r{len(requests)}", ExactDeviceRequest(**_wide_part(rng))))
    names = [r.name for r in requests] + [f"{r.name}/{s.name}" for r in requests for s in r.first_available]
    roots = [d.attributes.get(ROOT) for s in cluster.slices for d in s.spec.devices or ()]
    lists = any(a is not None and a.is_list for a in roots)
    hows = [How.TOGETHER, How.APART] if lists else [*How, How.PAIRWISE]
    links: list[Link] = []
    for number in range(rng.choice([0, 1, 1, 2])):
        how = rng.choice(hows)
        pairs = how is How.PAIRWISE
        tied = tuple(rng.sample(names, min(len(names), rng.randint(1 + pairs, 3))))
        where = rng.choice(["pcieRoot", "numaNode"] if pairs else ["pcieRoot", "numaNode", TAG, TAG])
        if pairs:
            tied = tuple({end.split("/")[0]: end for end in tied}.values())
            if len(tied) < 2 or any(link.how is How.PAIRWISE for link in links):
                continue
        links.append(
            Link(
                name=f"link-{number}", requests=tied, where=where, how=how, must=rng.random() < (0.8 if pairs else 0.6)
            )
        )
    return ClaimSketch(name, tuple(requests), tuple(links))


def _request(rng: random.Random, number: int) -> DeviceRequest:
    name = f"r{number}"
    if rng.random() < 0.2:
        subs = tuple(DeviceSubRequest(name=f"s{n}", **_part(rng)) for n in range(2))
        return DeviceRequest(name=name, first_available=subs)
    admin = True if rng.random() < 0.25 else None
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(admin_access=admin, **_part(rng)))


def _part(rng: random.Random) -> dict[str, object]:
    driver = rng.choice([GPU, GPU, GPU, GPU, NIC, NIC, NIC, CPU, CPU, CPU, WIDE, WIDE])
    if driver == WIDE:
        return _wide_part(rng)
    part: dict[str, object] = {"device_class_name": driver}
    if driver == NIC and rng.random() < 0.4:
        part |= {"selectors": (selector(RDMA),)} if rng.random() < 0.5 else {"device_class_name": "rdma"}
    # Never more CPUs than each device has in all: larger requests may be split (authoring.expand).
    keys = {CPU: [CORES, CORES, CORES, SHARES], GPU: [SHARES], NIC: []}[driver]
    if keys and rng.random() < (0.8 if driver == CPU else 0.3):
        key = rng.choice(keys)
        largest = {(CPU, CORES): 6, (CPU, SHARES): 1, (GPU, SHARES): 2}[driver, key]
        part["capacity"] = CapacityRequirements(requests={key: rng.randint(0, largest)})
    if rng.random() < 0.12:
        part["allocation_mode"] = ALL
    else:
        part["count"] = rng.choice([1, 1, 1, 2, 2, 3])
    if rng.random() < 0.45:
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


@dataclass(frozen=True)
class Case:
    """A cluster, a pod for it, the release that is asked about, and goals that are put in front."""

    cluster: Cluster
    drawn: DrawnPod
    release: KubernetesRelease
    goals: tuple[str, ...]


ORDERS = ((), ("roots", "unpaired", "numa"), ("damage",), ("unpaired",), ("roots", "damage"))


def a_release(rng: random.Random) -> KubernetesRelease:
    """Return a release that reads lists, and mostly DeviceTaintRules."""
    gates = {"DRAListTypeAttributes": True, "DRADeviceTaintRules": rng.random() < 0.8}
    return KubernetesRelease(rng.choice(["1.36", "1.37"]), gates)


def a_case(seed: int) -> Case:
    """Return the case of a number: always the same."""
    rng = random.Random(f"mixed {seed}")
    release = a_release(rng)
    cluster = mixed_cluster(rng, rng.choice([1, 1, 1, 2, 3]))
    return Case(cluster, a_pod(rng, cluster, release), release, ORDERS[seed % len(ORDERS)])
