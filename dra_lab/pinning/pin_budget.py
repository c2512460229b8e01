"""PinBudget: deadline and cancel of everything between a plan and its manifests, and the sizes of the searches."""

from __future__ import annotations

import threading
import time

from dra_lab.planner.budget import Budget

DEFAULT_SECONDS = 30.0
"""Seconds for finding pins, or for running manifests, without another limit."""

TURNS = 6
"""Orders of workloads, one workload after the other, that are run."""

SEEDS = 20
"""Runs with random ties between nodes that confirm pins."""

SEEDS_TO_COMPARE = 3
"""Runs with random ties between nodes that compare two sets of pins."""

PODS_ON_NODE = 110
"""Pods that are put on one node, one after the other; kubelet runs no more by default."""

MOST_VALUES = 32
"""Values that one selector lists."""

MOST_GANGS = 100
"""Gangs that are given to Kueue one after the other; 40 on 5,000 nodes take 3 seconds."""

MOST_MIXES = 300
"""Histories of pods of several groups that are tried on a node; with more, their order is left open."""

TO_FIND_PINS = 0.5
"""Share of the time that is left for finding pins; the rest is for long searches and for running the manifests."""

TO_TRY_PINS = 0.7
"""Share of that for trying pins; the rest is for running and pricing those that were found."""

STEP = 0.5
"""Share for one of several steps, such as the manifests without pins, or the nodes as they are now."""

NODE_SECONDS = 10.0
"""Seconds for one search of one node."""


class PinBudget(Budget):
    """When to stop everything between a plan and its manifests."""

    @property
    def node_seconds(self) -> float:
        """Return the seconds for the search of one node, 0 if no time is left."""
        left = self.left
        return NODE_SECONDS if left is None else min(NODE_SECONDS, left)


def budget_of(seconds: float, cancel: threading.Event | None = None) -> PinBudget:
    """Return a budget of some seconds from now."""
    return PinBudget(time.monotonic() + seconds, cancel)
