"""From a plan to the manifests that make first fit do it: no more pins than needed, each with its price."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pin_budget import DEFAULT_SECONDS, SEEDS, PinBudget, budget_of
from dra_lab.pinning.pin_search import Pins, PinSearch
from dra_lab.pinning.plan_replay import expected_of
from dra_lab.pinning.pod_kinds import Parts
from dra_lab.pinning.replay_result import Replay
from dra_lab.sketch.claim_objects import Affinity


@dataclass(frozen=True)
class Pin:
    """A pin that the manifests of a workload need: what it says, why, and what it costs."""

    text: str
    reason: str
    price: str
    workload: int = 0

    def as_json(self) -> dict[str, str]:
        """Return it as plain values."""
        return {"pin": self.text, "reason": self.reason, "price": self.price}


@dataclass(frozen=True)
class PinnedPlan:
    """The drawings to export and what their pods require of a node, per workload; `before` and `replay` are the runs.

    `pins` are what was added, none where first fit does what was planned anyway. `findings` list each with its price,
    and say where not every replica could be had. `parts` are those of `PinnedClaims`. `price` is that of all
    pins of one workload together, "" without pins or for several workloads.
    """

    plan: Plan
    sketches: tuple[tuple[ClaimSketch, ...], ...]
    affinities: tuple[Affinity, ...]
    parts: tuple[Parts, ...]
    pins: tuple[Pin, ...]
    before: Replay
    replay: Replay
    price: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return a note for each pin, and a warning where pinning does not bring what was planned."""
        found = [Finding("pinned", Severity.NOTE, pin.text, f"{pin.reason}; {pin.price}") for pin in self.pins]
        if self.replay.wanted and not self.replay.as_planned:
            message = "dra-lab found no pins that give every replica devices as planned"
            advice = "Use another order of goals. Some devices publish nothing that distinguishes them."
            found.append(Finding("not-pinned", Severity.WARNING, "kube-scheduler", message, advice))
        return tuple(found)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the pins as plain values."""
        return [pin.as_json() for pin in self.pins]


def pin_plan(
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    *,
    time_limit: float = DEFAULT_SECONDS,
    seeds: int = SEEDS,
    cancel: threading.Event | None = None,
) -> PinnedPlan:
    """Return the drawings to export so that first fit serves every planned replica as well as planned.

    A pin is kept only if a run of kube-scheduler's copy shows that it helps. The order is: another order of requests,
    preferences as musts, links that hold in the plan, the planned alternatives only, requirements on nodes, selectors
    for the places of the planned devices. In the end every pin that is not needed is removed again. Pins are compared
    by the pods placed, then by those served as planned, and pins that place fewer pods than no pins are never
    returned. Devices are distinguished by what they publish, never by name, which CEL cannot see.

    Args:
        cluster: The cluster of the plan.
        plan: A plan of one claim or of a fleet.
        release: The release whose kube-scheduler is simulated.
        time_limit: Seconds for the whole search.
        seeds: The number of runs with random ties between nodes that confirm pins.
        cancel: Ends the search when it is set. Pins that no run confirmed are not returned.

    Returns:
        The drawings to export and the pins, each with its reason and price. `before` and `replay` are the runs without
        and with the pins. There are none if kube-scheduler does what was planned, or if none help.

    Raises:
        UnsupportedFeature: The plan uses a rule that the copy of the scheduler does not have.

    Example:
        >>> from dra_lab import KubernetesRelease, load_cluster, make_plan, pin_plan, read_sketch
        >>> # On a sample cluster.
        >>> cluster, sketch = load_cluster("sample:mi300x"), read_sketch("sample:mi300x/gpu-nic-pairs")
        >>> pinned = pin_plan(cluster, make_plan(cluster, sketch), KubernetesRelease("1.36"))
        >>> # What it returns.
        >>> [pin.text for pin in pinned.pins], pinned.replay.as_planned
        (['gpu together on one NUMA node'], True)
    """
    return pin_whole(cluster, plan, release, budget_of(time_limit, cancel), seeds)


def pin_whole(
    cluster: Cluster, plan: Plan, release: KubernetesRelease, budget: PinBudget, seeds: int = SEEDS
) -> PinnedPlan:
    """Return the pins of a plan with one template for each of its workloads; see `pin_plan`."""
    on = with_documented_classes(cluster)
    pods, expected = expected_of(on, plan, release)
    search = PinSearch(on, plan, release, expected, budget)
    before = Replay(0, 0, not_run="there is no plan")
    pins: Pins = ()
    if any(replica.planned for replica in expected):
        before = search.run((), seeds)
        pins = search.find(before)
    replay = search.run(pins, seeds) if pins else before
    if replay.not_run or replay.placed < before.most_placed:
        # pins that may cost a pod, or of which it is not known, are never written
        pins, replay = (), before
    priced = tuple(Pin(pin.text, pin.reason, search.price_of((pin,), pin.workload), pin.workload) for pin in pins)
    claims, price = search.with_pins(pins), search.price_of(pins) if pins and len(pods) == 1 else ""
    return PinnedPlan(plan, claims.sketches, claims.affinities, claims.parts, priced, before, replay, price=price)
