"""PinBudget: deadline and cancel of a search for pins, and the sizes and shares of time that choose how it goes on."""

from __future__ import annotations

import threading
import time

from msgspec import Struct, field

from dra_lab.planner.budget import Budget


class PinSizes(Struct, frozen=True):
    """How much is tried to find pins, and how many gangs and pods are simulated.

    Attributes:
        turns: Orders of workloads, one workload after the other, that are run.
        seeds: Runs with random ties between nodes that compare two sets of pins.
        pods: Pods that are put on one node, one after the other; kubelet runs no more by default.
        values: Values that one selector lists.
        copies: Gangs that are given to Kueue one after the other; 40 on 5,000 nodes take 3 seconds.
        mixes: Histories of pods of several groups that are tried on a node; with more, their order is left open.
    """

    turns: int = 6
    seeds: int = 3
    pods: int = 110
    values: int = 32
    copies: int = 100
    mixes: int = 300


class PinShares(Struct, frozen=True):
    """Shares of the time that is left, and seconds of the steps that have a limit of their own.

    Attributes:
        pins: Share for finding pins; the rest is for long searches and for running the manifests.
        found: Share of that for trying pins; the rest is for running and pricing those that were found.
        step: Share for one of several steps, such as the manifests without pins, or the nodes as they are now.
        node: Seconds for one search of one node.
    """

    pins: float = 0.5
    found: float = 0.7
    step: float = 0.5
    node: float = 10.0


_SIZES, _SHARES = PinSizes(), PinShares()


def default_pin_sizes() -> PinSizes:
    """Return the sizes of a budget that is given none."""
    return _SIZES


def default_pin_shares() -> PinShares:
    """Return the shares of a budget that is given none."""
    return _SHARES


class PinBudget(Budget):
    """When to stop, and the sizes and shares of time of everything between a plan and its manifests."""

    pin_sizes: PinSizes = field(default_factory=default_pin_sizes)
    pin_shares: PinShares = field(default_factory=default_pin_shares)

    @property
    def node_seconds(self) -> float:
        """Return the seconds for the search of one node, 0 if no time is left."""
        left = self.left
        return self.pin_shares.node if left is None else min(self.pin_shares.node, left)


def budget_of(seconds: float, cancel: threading.Event | None = None) -> PinBudget:
    """Return a budget of some seconds from now."""
    return PinBudget(time.monotonic() + seconds, cancel)
