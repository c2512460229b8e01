"""From a plan to the manifests that make first fit do it: no more pins than needed, each with its price."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from dra_lab.errors import ExportError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pin_budget import DEFAULT_SECONDS, SEEDS, STEP, TO_FIND_PINS, PinBudget, budget_of
from dra_lab.pinning.pin_search import Pins, PinSearch
from dra_lab.pinning.plan_replay import Replay, expected_of, replay_plan
from dra_lab.pinning.pod_kinds import Parts, replicas_of, sketches_of
from dra_lab.pinning.search_budget import WithinSearchBudget, within_search_budget
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
    """
    return pin_whole(cluster, plan, release, budget_of(time_limit, cancel), seeds)


def pin_whole(
    cluster: Cluster, plan: Plan, release: KubernetesRelease, budget: PinBudget, seeds: int = SEEDS
) -> PinnedPlan:
    """Return the pins of a plan with one template for each of its workloads; see `pin_plan`."""
    expected = expected_of(plan)
    search = PinSearch(cluster, plan, release, expected, budget)
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
    claims, price = search.with_pins(pins), search.price_of(pins) if pins and len(plan.workloads) == 1 else ""
    return PinnedPlan(plan, claims.sketches, claims.affinities, claims.parts, priced, before, replay, price=price)


@dataclass(frozen=True)
class Written:
    """The plan, its pins, the drawings of each workload for which no search is too long, and their run."""

    plan: Plan | None = None
    pinned_plan: PinnedPlan | None = None
    exported: tuple[WithinSearchBudget, ...] = ()
    replay: Replay | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the pins and of the run; with pins, to add pins is no advice any more."""
        found = self.replay.findings if self.replay else ()
        if self.pinned_plan is None:
            return found
        return (*self.pinned_plan.findings, *(replace(finding, advice="") for finding in found))


def what_is_written(
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    budget: PinBudget,
    *,
    pin: bool = False,
) -> Written:
    """Return the manifests of a plan with pins, or those without if they place more pods or alone may be written.

    Both are compared as they would be written: preferred links that make a search too long are left out of each, and
    pods are kept off nodes (`within_search_budget`). A plan that
    needs a rule which the copy of the scheduler does not have is written as it is. Raises ExportError where neither may
    be written, Cancelled when the budget is cancelled.
    """
    replicas = len(replicas_of(plan))
    try:
        if not pin or not replicas:
            return _run(cluster, plan, release, None, None, budget)
        pinned_plan = pin_whole(cluster, plan, release, budget.part(TO_FIND_PINS))
        return _better(cluster, plan, release, pinned_plan, budget)
    except UnsupportedFeature as error:
        return Written(plan, replay=Replay(replicas, 0, not_run=str(error)))


def _better(
    cluster: Cluster, plan: Plan, release: KubernetesRelease, pinned_plan: PinnedPlan, budget: PinBudget
) -> Written:
    plain = None
    if pinned_plan.pins:
        drawn = sketches_of(plan)
        bare = replace(pinned_plan, sketches=drawn, affinities=tuple(() for _ in drawn), pins=(), parts=())
        with suppress(ExportError):
            plain = _run(cluster, plan, release, bare, pinned_plan.before, budget.part(STEP))
    try:
        pinned = _run(cluster, plan, release, pinned_plan, pinned_plan.replay, budget)
    except ExportError:
        if plain is None:
            raise
        return plain
    if plain is None or plain.replay is None or pinned.replay is None:
        return pinned
    return plain if pinned.replay.not_run or pinned.replay.placed < plain.replay.most_placed else pinned


def _run(
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    pinned_plan: PinnedPlan | None,
    known: Replay | None,
    budget: PinBudget,
) -> Written:
    """Return the manifests as they would be written; `known` is their run if no search makes them others."""
    drawn = pinned_plan.sketches if pinned_plan else sketches_of(plan)
    affinities = pinned_plan.affinities if pinned_plan else tuple(() for _ in drawn)
    exported = tuple(
        within_search_budget(sketches, cluster, release, affinity=affinity, budget=budget.part(STEP))
        for sketches, affinity in zip(drawn, affinities, strict=True)
    )
    if known is None or any(one.changed for one in exported):
        known = replay_plan(
            cluster,
            plan,
            release,
            budget=budget,
            exported=[one.sketches for one in exported],
            parts=pinned_plan.parts if pinned_plan else (),
            affinity=[one.affinity for one in exported],
        )
    return Written(plan, None if pinned_plan is None else replace(pinned_plan, replay=known), exported, known)
