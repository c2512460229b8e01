"""From a plan to the manifests that make first fit do it: no more pinning than needed, each piece with its price."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pin_options import PinDraft
from dra_lab.pinning.pin_search import PinSearch, with_pins
from dra_lab.pinning.plan_replay import SEEDS, expected_of
from dra_lab.pinning.planned_devices import sketches_of
from dra_lab.pinning.pod_kinds import Parts
from dra_lab.pinning.replay_result import Replay
from dra_lab.sketch.claim_objects import Affinity


@dataclass(frozen=True)
class Pin:
    """A piece of pinning that the manifests of a workload need: what it says, why, and what it costs."""

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
    and say where not every replica could be had. `parts` are those of `PinDraft`. `split` says whether groups of
    replicas were tried as well (`split.pin_in_groups`), None where there is one replica only, which cannot be split.
    `price` is that of all pins of one workload together, "" without pins or for several workloads.
    """

    sketches: tuple[tuple[ClaimSketch, ...], ...]
    affinities: tuple[Affinity, ...]
    pins: tuple[Pin, ...]
    before: Replay
    replay: Replay
    parts: tuple[Parts, ...] = ()
    split: bool | None = None
    price: str = ""

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing of the first claim of the first workload: all there is for a plan of one claim."""
        return self.sketches[0][0]

    @property
    def affinity(self) -> Affinity:
        """Return what the pods of the first workload require of a node."""
        return self.affinities[0]

    def run_findings(self, replay: Replay) -> tuple[Finding, ...]:
        """Return the findings of a run with these pins: to add pins is no advice any more."""
        return tuple(replace(finding, advice="") for finding in replay.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return a note for each pin, and a warning where pinning does not bring what was planned."""
        found = [Finding("pinned", Severity.NOTE, pin.text, f"{pin.reason}; {pin.price}") for pin in self.pins]
        if self.replay.wanted and not self.replay.as_planned:
            message = "dra-lab found no pins that give every replica devices as planned"
            split = "--split, or " if self.split is False else ""
            advice = f"Use {split}another order of goals. Some devices publish nothing that distinguishes them."
            found.append(Finding("not-pinned", Severity.WARNING, "kube-scheduler", message, advice))
        return tuple(found)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the pins as plain values."""
        return [pin.as_json() for pin in self.pins]


def pin_plan(
    cluster: Cluster,
    plan: Plan | FleetPlan,
    release: KubernetesRelease,
    *,
    time_limit: float = 30.0,
    seeds: int = SEEDS,
    cancel: threading.Event | None = None,
) -> PinnedPlan:
    """Return the drawings to export so that first fit serves every planned replica as well as planned.

    A pin is kept only if a run of kube-scheduler's copy shows that it helps. The order is: another order of requests,
    preferences as musts, links that hold in the plan, the planned alternatives only, requirements on nodes, selectors
    for the places of the planned devices. In the end every piece that is not needed is taken out again. Drafts are
    compared by the pods placed, then by those served as planned, and pins that place fewer pods than no pins are never
    returned. Devices are told apart by what they publish, never by name, which CEL cannot see.

    Args:
        cluster: The cluster of the plan.
        plan: A plan of one claim or of a fleet.
        release: The release whose kube-scheduler is simulated.
        time_limit: Seconds for the whole search.
        seeds: The number of runs with random ties between nodes, for each draft.
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
    on = with_documented_classes(cluster)
    pods, expected = expected_of(on, plan, release)
    base = PinDraft(sketches_of(plan), tuple(() for _ in pods))
    if not any(replica.planned for replica in expected):
        replay = Replay(0, 0, not_run="there is no plan")
        return PinnedPlan(base.sketches, base.affinity, (), replay, replay)
    split = False if isinstance(plan, FleetPlan) and len(plan.replicas) > 1 else None
    search = PinSearch(on, plan, release, expected, time_limit, cancel)
    before = search.run(base, seeds)
    if before.as_planned:
        return PinnedPlan(base.sketches, base.affinity, (), before, before)
    chosen = search.find(base, before)
    draft = with_pins(base, chosen)
    replay = search.run(draft, seeds) if chosen else before
    if replay.not_run or replay.placed < before.most_placed:
        # pins that may cost a pod, or of which it is not known, are never written
        chosen, draft, replay = (), base, before
    pins = tuple(Pin(piece.text, piece.reason, search.price(base, piece), piece.workload) for piece in chosen)
    price = search.price_of(base, draft) if pins and len(pods) == 1 else ""
    return PinnedPlan(draft.sketches, draft.affinity, pins, before, replay, draft.parts, split, price)
