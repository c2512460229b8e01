"""The pods on the nodes of some moves, before and after: how much of one kind of device each of them holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.running import Move
from dra_lab.model.running_pods import running_pods
from dra_lab.pictures.charts.amounts import Amounts, amounts_on
from dra_lab.topology.locality import kinds
from dra_lab.topology.node_tree import natural_order
from dra_lab.words.facts import KINDS

State = Literal["stays", "leaves", "lost", "arrives", "new", "used", "free", "blocked"]


@dataclass(frozen=True)
class Share:
    """A part of a node's devices: the pod that holds it, "" for none, and the number of its step, 0 without one."""

    state: State
    size: float
    pod: str = ""
    step: int = 0


@dataclass(frozen=True)
class NodeShares:
    """A node of some moves: its devices `now`, empty if nothing leaves, and `then`, empty if it is drained."""

    node: str
    now: tuple[Share, ...] = ()
    then: tuple[Share, ...] = ()

    @property
    def total(self) -> float:
        """Return how many devices it has, as far as they are shown."""
        return max(sum(share.size for share in line) for line in (self.now, self.then))


def steps_of(moves: Sequence[Move]) -> tuple[int, ...]:
    """Return the number of the step of each move, from 1, and 0 for a pod that has no place."""
    numbers = count(1)
    return tuple(next(numbers) if move.node_to else 0 for move in moves)


def moved_kinds(cluster: Cluster, moves: Sequence[Move]) -> tuple[str, ...]:
    """Return the kinds of the devices that pods of some moves hold, in the order of KINDS."""
    known = _kinds(cluster, moves)
    held = {known.get(device.driver, "other") for move in moves for device in move.devices_from}
    return tuple(kind for kind in KINDS if kind in held)


def node_shares(cluster: Cluster, moves: Sequence[Move], plan: Plan | None, kind: str) -> tuple[NodeShares, ...]:
    """Return the nodes that some moves leave or reach, by name, with their devices of a kind, a key of KINDS.

    The pods have moved in `cluster`. It does not have a drained node, so that only what leaves it is known. `plan` has
    the new pods.
    """
    counted = _Counted(cluster, moves, plan, kind)
    nodes = {node for move in moves for node in (move.node_from, move.node_to) if node}
    return tuple(counted.row(node) for node in sorted(nodes, key=natural_order))


def _kinds(cluster: Cluster, moves: Sequence[Move]) -> Mapping[str, str]:
    """Return the kind of each driver's devices, as the nodes of the moves have them."""
    there = [move.node_to for move in moves] + [move.node_from for move in moves]
    nodes = [node for node in dict.fromkeys(there) if node in cluster.node_by_name] or cluster.node_names[:1]
    return {device.driver: kind for node in nodes for device, kind in kinds(cluster, node).items()}


class _Counted:
    """How much of a kind of device each pod on the nodes of some moves holds."""

    def __init__(self, cluster: Cluster, moves: Sequence[Move], plan: Plan | None, kind: str) -> None:
        self.cluster, self.moves, self.kind = cluster, moves, kind
        self.kind_of = _kinds(cluster, moves)
        self.steps = steps_of(moves)
        nodes = {move.node_to for move in moves} | {move.node_from for move in moves}
        known = [node for node in nodes if node in cluster.node_by_name]
        self.amounts = amounts_on(cluster, known, plan)
        self.running: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for pod in running_pods(cluster):
            if pod.node in nodes:
                self.running[pod.node].append((pod.name, self._count(pod.devices)))
        self.new: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for placed in plan.pods if plan is not None else ():
            self.new[placed.node][placed.workload] += self._count(one.device for one in placed.devices)

    def _count(self, devices: Iterable[DeviceID]) -> int:
        return sum(self.kind_of.get(device.driver, "other") == self.kind for device in devices)

    def row(self, node: str) -> NodeShares:
        """Return a node before and after the moves."""
        amounts = self.amounts.get((node, self.kind), Amounts(node, self.kind))
        held = sum(n for _, n in self.running[node])
        # a share of a device is less than the device, and a CPU device stands for many CPUs
        unit = amounts.in_use / held if held and (self.kind == "cpu" or held > amounts.in_use) else 1.0
        arrived = {move.pod: step for move, step in zip(self.moves, self.steps, strict=True) if move.node_to == node}
        stays = [Share("stays", unit * n, pod) for pod, n in self.running[node] if n and pod not in arrived]
        arrives = [Share("arrives", unit * n, pod, arrived[pod]) for pod, n in self.running[node] if pod in arrived]
        rest = amounts.in_use - unit * held
        stays += [Share("used", rest)] if rest > 0 else []
        blocked = [Share("blocked", amounts.blocked)] if amounts.blocked else []
        leaves = tuple(
            Share("leaves" if step else "lost", unit * self._count(move.devices_from), move.pod, step)
            for move, step in zip(self.moves, self.steps, strict=True)
            if move.node_from == node
        )
        new = {name: devices for name, devices in self.new[node].items() if devices}
        placed = (Share("new", amounts.planned * n / sum(new.values()), name) for name, n in new.items())
        then = (*stays, *arrives, *placed, *_free(amounts.free + amounts.stranded), *blocked)
        before = amounts.total - amounts.blocked - sum(share.size for share in (*stays, *leaves))
        now = (*stays, *leaves, *_free(before if amounts.total else 0.0), *blocked)
        return NodeShares(node, now if leaves else (), then)


def _free(size: float) -> tuple[Share, ...]:
    return (Share("free", size),) if size > 1e-9 else ()
