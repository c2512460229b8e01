"""The manifests of a plan: with pins, or without them if these place more pods."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dra_lab.errors import ExportError, UnsupportedFeature
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pin_budget import STEP, TO_FIND_PINS, PinBudget
from dra_lab.pinning.pin_plan import PinnedPlan, pin_whole
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.planned_devices import replicas_of, sketches_of
from dra_lab.pinning.replay_result import Replay
from dra_lab.pinning.search_budget import WithinSearchBudget, within_search_budget


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
    if not pinned_plan.pins:
        return _run(cluster, pinned_plan.plan, release, pinned_plan, pinned_plan.replay, budget)
    drawn = sketches_of(plan)
    none = tuple(() for _ in drawn)
    bare = replace(pinned_plan, plan=plan, sketches=drawn, affinities=none, pins=(), parts=())
    # the run without pins is that of the planned workloads, whose groups have other names
    before = pinned_plan.before if pinned_plan.plan is plan else None
    try:
        plain = _run(cluster, plan, release, bare, before, budget.part(STEP))
    except ExportError:
        return _run(cluster, pinned_plan.plan, release, pinned_plan, pinned_plan.replay, budget)
    try:
        pinned = _run(cluster, pinned_plan.plan, release, pinned_plan, pinned_plan.replay, budget)
    except ExportError:
        return plain
    assert pinned.replay is not None
    assert plain.replay is not None
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
