"""Small clusters of GPUs with running pods, written as objects of the API, and the fewest moves by trying all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

from dra_lab import ClaimSketch, Cluster, load_cluster, read_sketch

DRIVER = "gpu.example.com"
V1 = "resource.k8s.io/v1"


@dataclass(frozen=True)
class Running:
    """A running pod: its name, node, the numbers of its GPUs there, and what decides whether it may move."""

    name: str
    node: str
    gpus: tuple[int, ...]
    owner: str = "ReplicaSet"
    together: bool = False
    only: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def numa_of(gpu: int, gpus: int) -> int:
    """Return the NUMA node of a GPU: the first half of a node's GPUs are on 0."""
    return gpu * 2 // gpus


def claim_spec(count: int, *, together: bool = False) -> dict[str, Any]:
    """Return the spec of a claim for GPUs, on one NUMA node if they are to be together."""
    spec: dict[str, Any] = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}]}
    if together:
        spec["constraints"] = [{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/numaNode"}]
    return {"devices": spec}


def objects_of(nodes: Mapping[str, int], pods: Sequence[Running], *more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a cluster: nodes with their number of GPUs, and running pods."""
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    found: list[dict[str, Any]] = [
        {
            "apiVersion": V1,
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [selector]},
        }
    ]
    for name, gpus in nodes.items():
        labels = {"kubernetes.io/hostname": name, "rack": name[0]}
        found.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
        devices = [
            {
                "name": f"gpu-{gpu}",
                "attributes": {"resource.kubernetes.io/numaNode": {"int": numa_of(gpu, gpus)}},
            }
            for gpu in range(gpus)
        ]
        spec = {"driver": DRIVER, "nodeName": name, "devices": devices}
        spec["pool"] = {"name": name, "generation": 1, "resourceSliceCount": 1}
        found.append(
            {
                "apiVersion": V1,
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-gpus"},
                "spec": spec,
            }
        )
    return [*found, *(one for pod in pods for one in _pod_objects(pod)), *more]


def _pod_objects(pod: Running) -> Iterator[dict[str, Any]]:
    results = [{"request": "gpu", "driver": DRIVER, "pool": pod.node, "device": f"gpu-{gpu}"} for gpu in pod.gpus]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pod.node]}]}]
    yield {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": f"{pod.name}-gpus", "namespace": "team"},
        "spec": claim_spec(len(pod.gpus), together=pod.together),
        "status": {
            "allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": terms}},
            "reservedFor": [{"resource": "pods", "name": pod.name, "uid": pod.name}],
        },
    }
    owner = [{"apiVersion": "apps/v1", "kind": pod.owner, "name": pod.name, "controller": True}] if pod.owner else []
    spec: dict[str, Any] = {
        "nodeName": pod.node,
        "containers": [{"name": "main", "resources": {"claims": [{"name": "gpus"}]}}],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpus"}],
    }
    if pod.only:
        spec["nodeSelector"] = {"rack": pod.only}
    metadata = {"name": pod.name, "namespace": "team", "ownerReferences": owner, **pod.more.get("metadata", {})}
    claims = [{"name": "gpus", "resourceClaimName": f"{pod.name}-gpus"}]
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, **pod.more.get("spec", {})},
        "status": {"phase": "Running", "resourceClaimStatuses": claims},
    }


def cluster_of(folder: Path, nodes: Mapping[str, int], pods: Sequence[Running], *more: dict[str, Any]) -> Cluster:
    """Return a cluster, read from a file."""
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects_of(nodes, pods, *more)))
    return load_cluster(str(path))


def drawing(folder: Path, count: int, *, together: bool = False, name: str = "new") -> ClaimSketch:
    """Return the drawing of a pod that needs some GPUs."""
    path = folder / f"{name}.yaml"
    spec = {"spec": claim_spec(count, together=together)}
    claim = {
        "apiVersion": V1,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": spec,
    }
    path.write_text(yaml.safe_dump(claim))
    return read_sketch(str(path))


# ---------------------------------------------------------------- the fewest moves by trying all


@dataclass(frozen=True)
class Case:
    """A random cluster, and the pods that need room: how many, of how many GPUs, on one NUMA node or not."""

    nodes: dict[str, int]
    pods: tuple[Running, ...]
    wanted: int
    count: int
    together: bool

    @property
    def movable(self) -> tuple[Running, ...]:
        """Return the pods that may move."""
        return tuple(pod for pod in self.pods if pod.owner not in ("", "DaemonSet"))


def random_case(seed: int) -> Case:
    """Return a cluster of two to four nodes of which most GPUs are in use."""
    chance = random.Random(seed)
    nodes = {name: chance.choice((2, 2, 4)) for name in chance.sample(("a1", "a2", "b1", "b2"), chance.randint(2, 4))}
    pods: list[Running] = []
    for node, gpus in nodes.items():
        free = list(range(gpus))
        chance.shuffle(free)
        while free and chance.random() < 0.75:
            together = chance.random() < 0.3
            count = min(chance.choice((1, 1, 2)), len(free))
            taken = tuple(sorted(free[:count]))
            if together and len({numa_of(gpu, gpus) for gpu in taken}) > 1:
                together = False
            del free[:count]
            owner = chance.choice(("ReplicaSet", "ReplicaSet", "Job", "ReplicaSet", "DaemonSet", ""))
            only = node[0] if chance.random() < 0.15 else ""
            pods.append(Running(f"p{len(pods)}", node, taken, owner, together, only))
    count = chance.choice((1, 2, 2, 2, 3, 4))
    return Case(nodes, tuple(pods), chance.choice((1, 1, 1, 2)), count, count == 2 and chance.random() < 0.4)


def fewest_moves(case: Case) -> tuple[int, int, int]:
    """Return the most new pods that can have a place, the fewest pods that move then, and their fewest GPUs."""
    for wanted in range(case.wanted, 0, -1):
        new = [(case.count, case.together, "")] * wanted
        for size in range(len(case.movable) + 1):
            works = [
                sum(len(pod.gpus) for pod in moved)
                for moved in combinations(case.movable, size)
                if _fit(case, moved, [*new, *((len(pod.gpus), pod.together, pod.only) for pod in moved)])
            ]
            if works:
                return wanted, size, min(works)
    return 0, 0, 0


def _fit(case: Case, moved: Sequence[Running], pods: Sequence[tuple[int, bool, str]]) -> bool:
    free = {
        node: [
            gpu for gpu in range(gpus) if not any(p.node == node and gpu in p.gpus for p in case.pods if p not in moved)
        ]
        for node, gpus in case.nodes.items()
    }
    return _place(case, free, sorted(pods, reverse=True))


def _place(case: Case, free: dict[str, list[int]], pods: Sequence[tuple[int, bool, str]]) -> bool:
    if not pods:
        return True
    (count, together, only), *others = pods
    tried = set()
    for node, gpus in free.items():
        if only and node[0] != only:
            continue
        for taken in combinations(gpus, count):
            numa = [numa_of(gpu, case.nodes[node]) for gpu in taken]
            key = (node, tuple(sorted(numa)))
            if key in tried or (together and len(set(numa)) > 1):
                continue
            tried.add(key)
            if _place(case, {**free, node: [gpu for gpu in gpus if gpu not in taken]}, others):
                return True
    return False


def replayed(case: Case, moves: Sequence[Any]) -> list[str]:
    """Carry out moves step by step, and return what is wrong with them: devices in use, or a place that is not allowed.

    A pod that stops first gives its GPUs back before any other pod moves that comes before its own move.
    """
    held = {pod.name: {(pod.node, gpu) for gpu in pod.gpus} for pod in case.pods}
    by_name = {pod.name: pod for pod in case.pods}
    wrong = []
    for move in moves:
        name = move.pod.partition("/")[2]
        if move.stops_first:
            held[name] = set()
    for move in moves:
        name = move.pod.partition("/")[2]
        pod = by_name[name]
        held.pop(name)
        taken = {(one.device.pool, int(one.device.device.removeprefix("gpu-"))) for one in move.devices}
        busy = set().union(*held.values()) if held else set()
        numa = {numa_of(gpu, case.nodes[node]) for node, gpu in taken}
        if taken & busy:
            wrong.append(f"{name} needs {sorted(taken & busy)}, which is in use")
        if len(taken) != len(pod.gpus) or {node for node, _ in taken} != {move.node_to}:
            wrong.append(f"{name} gets {sorted(taken)} on {move.node_to}")
        if (pod.together and len(numa) > 1) or (pod.only and move.node_to[0] != pod.only):
            wrong.append(f"{name} may not have {sorted(taken)}")
        held[name] = taken
    return wrong
