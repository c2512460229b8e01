"""Budget: the deadline, the cancel event, and the sizes and shares of time that choose how a question is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dra_lab.planner.progress import Progress


@dataclass(frozen=True)
class Sizes:
    """Sizes up to which an exact way to answer is tried; above, a coarser one answers, with a bound.

    Attributes:
        layouts: Kinds of hardware whose ways are listed; a fleet with more is planned as trees.
        ways: Ways of all pods on all kinds of hardware that are listed; a fleet with more is planned as trees.
        pod_ways: Ways that are listed of one pod, or of all pods in one model; with more, a model of devices.
        solved_alone: Nodes or node states that are solved one by one; with more, per kind of hardware.
        explained: Nodes that are examined one by one for reasons and suggestions; with more, one per kind.
        looks: Node states whose counts are read one by one for the reasons; with more, the reasons are not complete.
        tries: Sets of requests and links tried for a smaller conflict, and choices of alternatives for one link.
        rivals: Requests of which all sets are compared to find those that compete; with more, all are named.
        beside: Replicas that are modelled together for `damage`; with more, their number is a bound.
        damaged: Equally good nodes that are compared by `damage`; with more, it is not proven.
        replicas: Replicas, in all combinations, for which every node state is decided before a plan is made.
        numbers: Numbers of replicas that are listed for a node state; with more, only those that are found.
        tree_steps: Places and numbers that are examined to list every number on a tree; with more, a model of the tree.
        tree_pods: Pods on a tree of which every number is kept; of more, only some.
        tree_sums: Amounts that pods can reach on one root; with more, unusable devices are not left out.
        shapes: Shapes of a pod on trees; a fleet with more is planned as other hardware.
        shape_units: Combinations of units of one shape; a fleet with more is planned as other hardware.
        orders: Orders of workloads in which pods are placed greedily at first.
    """

    layouts: int = 32
    ways: int = 300_000
    pod_ways: int = 60_000
    solved_alone: int = 20
    explained: int = 200
    looks: int = 5_000
    tries: int = 120
    rivals: int = 10
    beside: int = 32
    damaged: int = 24
    replicas: int = 60
    numbers: int = 2_000
    tree_steps: int = 50_000
    tree_pods: int = 200
    tree_sums: int = 4_096
    shapes: int = 24
    shape_units: int = 1_000
    orders: int = 6


@dataclass(frozen=True)
class Shares:
    """Shares of the time that is left, and seconds of the steps that have a limit of their own.

    Attributes:
        first: Share for a step without which there is no answer, such as examining the nodes.
        step: Share for one of several steps that improve the answer.
        explain: Seconds for the reasons on the nearest node, and again for conflicts and changes that help.
        compare: Seconds for what kube-scheduler would take instead.
        damage: Seconds for counting replicas on one node, and for comparing equally good nodes by `damage`.
    """

    first: float = 0.6
    step: float = 0.5
    explain: float = 2.5
    compare: float = 3.0
    damage: float = 1.0


_SIZES, _SHARES = Sizes(), Shares()


def default_sizes() -> Sizes:
    """Return the sizes of a budget that is given none."""
    return _SIZES


def default_shares() -> Shares:
    """Return the shares of a budget that is given none."""
    return _SHARES


@dataclass
class Budget:
    """When to stop: `deadline` is a moment of `time.monotonic()`, `cancel` an event that another thread may set."""

    deadline: float | None = None
    cancel: threading.Event | None = None
    report: Callable[[Progress], None] | None = field(default=None, repr=False)
    sizes: Sizes = field(default_factory=default_sizes)
    shares: Shares = field(default_factory=default_shares)

    @property
    def cancelled(self) -> bool:
        """Say whether a person cancelled."""
        return self.cancel is not None and self.cancel.is_set()

    @property
    def reached(self) -> bool:
        """Say whether it is time to stop, for either reason."""
        return self.cancelled or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def until(self, moment: float) -> Budget:
        """Return a budget that ends at a moment of `time.monotonic()`, or earlier if this one does."""
        return replace(self, deadline=moment if self.deadline is None else min(moment, self.deadline))

    def part(self, share: float) -> Budget:
        """Return a budget that ends after a share of the time that is left."""
        left = self.left
        return self if left is None else replace(self, deadline=time.monotonic() + share * left)

    def tell(self, stage: str, text: str, best: int | None = None, bound: int | None = None) -> None:
        """Report a step, if a report is wanted."""
        if self.report is not None:
            self.report(Progress(stage, text, best, bound))
