"""Manifests with pins, or without them if these place more pods."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dra_lab.errors import ExportError
from dra_lab.exports.loop import close_loop
from dra_lab.exports.loop_result import Loop
from dra_lab.exports.step_guard import Guarded, guard_steps
from dra_lab.exports.tightening import Tightened
from dra_lab.exports.tightening_plan import sketches_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease

P = TypeVar("P", Plan, FleetPlan)


@dataclass(frozen=True)
class Written(Generic[P]):
    """The plan, its pins, the drawings of each workload that no search is too long for, and their run."""

    plan: P
    tightened: Tightened | None
    guarded: tuple[Guarded, ...]
    loop: Loop


def what_is_written(
    cluster: Cluster,
    plan: P,
    release: KubernetesRelease,
    tightened: Tightened | None,
    *,
    whole: P | None = None,
    loop_seconds: float,
    guard_seconds: float,
    cancel: threading.Event | None = None,
) -> Written[P]:
    """Return the manifests of a plan with pins, or those without if they place more pods or alone may be written.

    Both are compared as they would be written: preferred links that make a search too long are left out of each, and
    pods are kept off nodes (`guard_steps`). `whole` is the plan without groups of replicas, if `plan` has groups.
    `loop_seconds` bound each run, `guard_seconds` the search for long searches of each workload.
    Raises ExportError where neither may be written, Cancelled when `cancel` is set, UnsupportedFeature as `close_loop`
    does.
    """
    seconds = loop_seconds, guard_seconds, cancel
    if tightened is None:
        return _run(cluster, plan, release, None, None, *seconds)
    if not tightened.pins:
        return _run(cluster, plan, release, tightened, tightened.loop, *seconds)
    base = whole or plan
    # the run before is that of `plan`, whose groups have other names
    before = tightened.before if base is plan else None
    try:
        plain = _run(cluster, base, release, _without_pins(base, tightened), before, *seconds)
    except ExportError:
        return _run(cluster, plan, release, tightened, tightened.loop, *seconds)
    try:
        pinned = _run(cluster, plan, release, tightened, tightened.loop, *seconds)
    except ExportError:
        return plain
    return plain if pinned.loop.not_run or pinned.loop.placed < plain.loop.most_placed else pinned


def _without_pins(plan: Plan | FleetPlan, tightened: Tightened) -> Tightened:
    drawn = sketches_of(plan)
    bare = tuple(() for _ in drawn)
    return replace(tightened, sketches=drawn, affinities=bare, pins=(), parts=())


def _run(
    cluster: Cluster,
    plan: P,
    release: KubernetesRelease,
    tightened: Tightened | None,
    known: Loop | None,
    loop_seconds: float,
    guard_seconds: float,
    cancel: threading.Event | None,
) -> Written[P]:
    drawn = tightened.sketches if tightened else sketches_of(plan)
    affinities = tightened.affinities if tightened else tuple(() for _ in drawn)
    guarded = tuple(
        guard_steps(sketches, cluster, release, affinity=affinity, time_limit=guard_seconds, cancel=cancel)
        for sketches, affinity in zip(drawn, affinities, strict=True)
    )
    loop = known if not any(guard.changed for guard in guarded) else None
    if loop is None:
        loop = close_loop(
            cluster,
            plan,
            release,
            exported=[guard.sketches for guard in guarded],
            parts=tightened.parts if tightened else (),
            affinity=[guard.affinity for guard in guarded],
            time_limit=loop_seconds,
            cancel=cancel,
        )
    return Written(plan, None if tightened is None else replace(tightened, loop=loop), guarded, loop)
