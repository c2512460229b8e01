"""Random pods of one to three claims, and of extended resources, for clusters in which all rules of DRA are mixed.

What is drawn is small enough to be tried out (`brute_force`): a pod by itself, or a fleet of several.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from brute_force import EXTENDED, MOST, BruteForce, TooLarge
from brute_force_fleets import ENDLESS, best_of_pods
from msgspec.structs import replace
from random_clusters import RULES, random_fleet, random_sketch
from random_devices import BY_NAME

from dra_lab import without_nodes
from dra_lab.gitops.extended_resources import extended_claim, served_by_plugin
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pods import Container, Pod, PodSpec, ResourceRequirements
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.pod_claims import exact_sketch

CHOICES = 150
"""Combinations of choices that a pod of a fleet has on a node at most: several are tried beside one another."""

ORDERS = ((), ("roots", "unpaired", "numa"), ("damage",), ("unpaired",), ("roots", "damage"))
FLEET_ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))
"""Goals that come first, for pods and for fleets in turn."""


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
            if rng.random() < 0.2 or any(next(model.allocations(), None) is not None for model in models):
                for model in models:
                    next(model.allocations(), None)
                return drawn
        except TooLarge:
            continue


def draw_pod(rng: random.Random, cluster: Cluster) -> DrawnPod:
    """Return a pod of one to three claims, of which the last may stand for extended resources."""
    named = rng.random() < 0.15
    number = rng.choice([1, 1, 1, 2, 2, 3]) - named
    sketches = {f"c{n}": _claim(rng, cluster, f"c{n}", most=2 if number > 1 else 3) for n in range(number)}
    if not named:
        return DrawnPod(sketches)
    main = tuple(_container(rng.choice([0, 1, 1, 2])) for _ in range(rng.randint(1, 2)))
    first = (_container(rng.randint(1, 3)),) if rng.random() < 0.3 else ()
    asked = sum(map(_by_name, (*main, *first)))
    spec = PodSpec(containers=main if asked else (_container(1),), init_containers=first)
    return DrawnPod(sketches, Pod(metadata=ObjectMeta(name="pod"), spec=spec))


def _container(amount: int) -> Container:
    return Container(resources=ResourceRequirements(requests={BY_NAME: amount} if amount else {}))


def _claim(rng: random.Random, cluster: Cluster, name: str, most: int) -> ClaimSketch:
    return replace(random_sketch(rng, RULES, cluster, most), name=name)


@dataclass(frozen=True)
class Case:
    """A cluster, a pod for it, the release that is asked about, and goals that are put in front."""

    cluster: Cluster
    drawn: DrawnPod
    release: KubernetesRelease
    goals: tuple[str, ...]

    @property
    def question(self) -> tuple[Cluster, dict[str, ClaimSketch | ResourceClaim]]:
        """Return the nodes on which the pod may run and its claims, extended resources by the product's own reading."""
        claims: dict[str, ClaimSketch | ResourceClaim] = dict(self.drawn.sketches)
        claim = self.drawn.pod and extended_claim(self.drawn.pod, self.cluster, self.release)
        if claim is None:
            return self.cluster, claims
        by_plugin = served_by_plugin(self.drawn.pod, self.cluster)
        return without_nodes(self.cluster, sorted(by_plugin)), {**claims, claim.metadata.name: claim}

    @property
    def models(self) -> dict[str, BruteForce]:
        """Return a model of the pod on every node on which it may run: where no device plugin serves what it names."""
        by_plugin = {node.name for node in self.cluster.nodes if self.drawn.pod and node.status.allocatable}
        names = [name for name in self.cluster.node_names if name not in by_plugin]
        return {name: BruteForce(self.cluster, self.drawn.claims, name, self.release, most=ENDLESS) for name in names}


def a_release(rng: random.Random) -> KubernetesRelease:
    """Return a release that reads lists, and mostly DeviceTaintRules."""
    gates = {"DRAListTypeAttributes": True, "DRADeviceTaintRules": rng.random() < 0.8}
    return KubernetesRelease(rng.choice(["1.36", "1.37"]), gates)


def a_case(seed: int) -> Case:
    """Return the case of a number: always the same."""
    rng = random.Random(f"mixed {seed}")
    release = a_release(rng)
    cluster = random_fleet(rng, rng.choice([1, 1, 1, 2, 3]), RULES)
    return Case(cluster, a_pod(rng, cluster, release), release, ORDERS[seed % len(ORDERS)])


@dataclass(frozen=True)
class FleetCase:
    """A cluster, pods and how many of each, and what is asked."""

    cluster: Cluster
    pods: tuple[DrawnPod, ...]
    replicas: tuple[int, ...]
    release: KubernetesRelease
    goals: tuple[str, ...]
    objective: str

    @property
    def order(self) -> tuple[str, ...]:
        """Return the goals, most important first."""
        return fleet_order(self.goals, self.objective)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the pods as they are given to the planner, extended resources by its own reading."""
        found = []
        for number, (pod, replicas) in enumerate(zip(self.pods, self.replicas, strict=True)):
            claims = list(pod.sketches.values())
            named = None if pod.pod is None else extended_claim(pod.pod, self.cluster, self.release)
            if named is not None:
                claims.append(exact_sketch(named.spec, named.metadata.name))
            found.append(Workload(f"w{number}", tuple(claims), replicas=replicas))
        return tuple(found)

    def best(self) -> tuple[int, ...] | None:
        """Return the least values of the goals in their order, by trying everything; raises TooLarge."""
        claims = [pod.claims for pod in self.pods]
        placed = self.objective == "nodes"
        return best_of_pods(self.cluster, claims, self.replicas, self.order, self.release, all_placed=placed)


def a_fleet_case(number: int) -> tuple[FleetCase, tuple[int, ...] | None]:
    """Return the fleet of a number, the first of its kind that can be tried out, and its best values."""
    for attempt in range(20):
        rng = random.Random(f"mixed fleet {number} {attempt}")
        release = a_release(rng)
        cluster = random_fleet(rng, rng.choice([1, 2, 2, 3, 3]), RULES)
        pods = tuple(a_pod(rng, cluster, release, CHOICES) for _ in range(rng.choice([1, 1, 2, 2, 3])))
        replicas = tuple(rng.randint(1, 4) for _ in pods)
        objective = "nodes" if number % 3 == 2 else "replicas"
        case = FleetCase(cluster, pods, replicas, release, FLEET_ORDERS[number % len(FLEET_ORDERS)], objective)
        try:
            return case, case.best()
        except TooLarge:
            continue
    raise AssertionError(f"fleet {number} was too large to try everything, 20 times")
