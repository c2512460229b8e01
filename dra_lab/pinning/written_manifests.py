"""Manifests with pins, or without them if these place more pods."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dra_lab.errors import ExportError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.planned_devices import sketches_of
from dra_lab.pinning.replay_result import Replay
from dra_lab.pinning.search_budget import WithinSearchBudget, within_search_budget

P = TypeVar("P", Plan, FleetPlan)


@dataclass(frozen=True)
class Written(Generic[P]):
    """The plan, its pins, the drawings of each workload that no search is too long for, and their run."""

    plan: P
    pinned_plan: PinnedPlan | None
    guarded: tuple[WithinSearchBudget, ...]
    replay: Replay


def what_is_written(
    cluster: Cluster,
    plan: P,
    release: KubernetesRelease,
    pinned_plan: PinnedPlan | None,
    *,
    whole: P | None = None,
    loop_seconds: float,
    guard_seconds: float,
    cancel: threading.Event | None = None,
) -> Written[P]:
    """Return the manifests of a plan with pins, or those without if they place more pods or alone may be written.

    Both are compared as they would be written: preferred links that make a search too long are left out of each, and
    pods are kept off nodes (`within_search_budget`). `whole` is the plan without groups of replicas, if `plan` has
    groups.
    `loop_seconds` bound each run, `guard_seconds` the search for long searches of each workload.
    Raises ExportError where neither may be written, Cancelled when `cancel` is set, UnsupportedFeature as `replay_plan`
    does.
    """
    seconds = loop_seconds, guard_seconds, cancel
    if pinned_plan is None:
        return _run(cluster, plan, release, None, None, *seconds)
    if not pinned_plan.pins:
        return _run(cluster, plan, release, pinned_plan, pinned_plan.replay, *seconds)
    base = whole or plan
    # the run before is that of `plan`, whose groups have other names
    before = pinned_plan.before if base is plan else None
    try:
        plain = _run(cluster, base, release, _without_pins(base, pinned_plan), before, *seconds)
    except ExportError:
        return _run(cluster, plan, release, pinned_plan, pinned_plan.replay, *seconds)
    try:
        pinned = _run(cluster, plan, release, pinned_plan, pinned_plan.replay, *seconds)
    except ExportError:
        return plain
    return plain if pinned.replay.not_run or pinned.replay.placed < plain.replay.most_placed else pinned


def _without_pins(plan: Plan | FleetPlan, pinned_plan: PinnedPlan) -> PinnedPlan:
    drawn = sketches_of(plan)
    bare = tuple(() for _ in drawn)
    return replace(pinned_plan, sketches=drawn, affinities=bare, pins=(), parts=())


def _run(
    cluster: Cluster,
    plan: P,
    release: KubernetesRelease,
    pinned_plan: PinnedPlan | None,
    known: Replay | None,
    loop_seconds: float,
    guard_seconds: float,
    cancel: threading.Event | None,
) -> Written[P]:
    drawn = pinned_plan.sketches if pinned_plan else sketches_of(plan)
    affinities = pinned_plan.affinities if pinned_plan else tuple(() for _ in drawn)
    guarded = tuple(
        within_search_budget(sketches, cluster, release, affinity=affinity, time_limit=guard_seconds, cancel=cancel)
        for sketches, affinity in zip(drawn, affinities, strict=True)
    )
    replay = known if not any(guard.changed for guard in guarded) else None
    if replay is None:
        replay = replay_plan(
            cluster,
            plan,
            release,
            exported=[guard.sketches for guard in guarded],
            parts=pinned_plan.parts if pinned_plan else (),
            affinity=[guard.affinity for guard in guarded],
            time_limit=loop_seconds,
            cancel=cancel,
        )
    return Written(plan, None if pinned_plan is None else replace(pinned_plan, replay=replay), guarded, replay)
