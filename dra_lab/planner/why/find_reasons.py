"""Reasons for a claim that fits nowhere, within a stated time: counts, conflicts, and every relaxation tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.authoring.links import attribute_for
from dra_lab.errors import UnsupportedFeature
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Shortfall, Suggestion
from dra_lab.model.reasons import Conflict, Reasons, Relaxation
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, keeping_away
from dra_lab.planner.node.eligible import eligibility
from dra_lab.planner.plan_findings import selector_failures
from dra_lab.planner.scan import Scan
from dra_lab.planner.why.conflict import Fits, find_conflict
from dra_lab.planner.why.fitting import Trial
from dra_lab.planner.why.funnel import figures, funnels, scarcity
from dra_lab.planner.why.relaxations import changes, try_changes


@dataclass(frozen=True)
class Question:
    """A claim that fits nowhere: its drawing as given, or that of a pod's claims (`expanded`), and its scan.

    `idle` are the nodes on which it fits with nothing in use, `idle_open` counts those of which that is not known.
    """

    cluster: Cluster
    sketch: ClaimSketch
    scan: Scan
    budget: Budget
    solver: str
    pinned: str = ""
    idle: tuple[str, ...] = ()
    idle_open: int = 0
    expanded: bool = False


def find_reasons(question: Question, shortfalls: Sequence[Shortfall], suggestions: Sequence[Suggestion]) -> Reasons:
    """Return the reasons; what was not found out, mostly for lack of time, is marked so, and `complete` is False."""
    scan, budget = question.scan, question.budget
    end = time.monotonic() + budget.shares.explain
    within = budget.until(end)
    budget.tell("reasons", "counting what passes each test")
    names = (question.pinned,) if question.pinned else scan.rules.nodes
    if not names:
        return Reasons()
    rows = figures(scan, names, within, looks=budget.sizes.looks)
    first = names[0]
    nearest = next((s.node for s in shortfalls if s.node), first)
    found = Reasons(
        nearest,
        selector_failures(scan),
        funnels(rows),
        () if question.pinned else scarcity(scan, rows),
        complete=sum(len(row.nodes) for row in rows) == len(names),
    )
    budget.tell("reasons", "looking for what cannot hold together")
    conflicts, tried = _conflicts(question, nearest, within.part(within.shares.step))
    trial = _trial(question, within, question.pinned)
    relaxed = try_changes(trial, _all_changes(question, first, nearest, suggestions))
    every = tried and all(change.fitting is not None for change in relaxed)
    return replace(found, conflicts=conflicts, relaxations=relaxed, complete=found.complete and every)


def _trial(question: Question, budget: Budget, node: str = "") -> Trial:
    scan = question.scan
    return Trial(scan.cluster, scan.release, budget, question.solver, node, question.expanded, scan.rules.only)


def _conflicts(question: Question, nearest: str, budget: Budget) -> tuple[tuple[Conflict, ...], bool]:
    """Return what cannot hold together on the nearest node, and in the cluster where that is another set."""
    trial = _trial(question, budget)
    tries = budget.sizes.tries
    on_nearest = _told_by(lambda s: trial.fits_on(s, nearest))
    here = find_conflict(question.sketch, on_nearest, tries, nearest) if nearest else None
    found = [here] if here is not None else []
    if not question.pinned and not budget.reached:
        everywhere = find_conflict(question.sketch, _told_by(trial.fits_somewhere), tries)
        if everywhere is not None:
            found.append(everywhere)
    return tuple(found), not budget.reached


def _told_by(fits: Fits) -> Fits:
    """Return a trial that does not know it of a drawing that needs a rule which is not known here."""

    def told(sketch: ClaimSketch) -> bool | None:
        try:
            return fits(sketch)
        except UnsupportedFeature:
            return None

    return told


def _all_changes(
    question: Question, first: str, nearest: str, suggestions: Sequence[Suggestion]
) -> tuple[Relaxation, ...]:
    total = 1 if question.pinned else len(question.scan.rules.nodes)
    offered = [Relaxation("suggestion", "", s.title, sketch=s.sketch) for s in suggestions if s.sketch is not None]
    own = list(changes(question.sketch, _taints(question, nearest or first)))
    # A suggestion may be for the expanded drawing: the same words are the same change.
    known, titles = [change.sketch for change in offered], {change.title for change in offered}
    found = [*offered, *(_told(question, c) for c in own if c.sketch not in known and c.title not in titles)]
    if question.idle:
        title = "Wait until the devices in use are freed"
        found.append(Relaxation("idle", "", title, len(question.idle), total, question.idle_open, question.idle[0]))
    return tuple(found)


def _told(question: Question, change: Relaxation) -> Relaxation:
    """Return a change that weakens a link with a word on whether a manifest can say the link then."""
    if change.kind != "level" or change.sketch is None:
        return change
    scan = question.scan
    link = next(link for link in change.sketch.links if link.name == change.subject)
    if attribute_for(scan.cluster, change.sketch, link, scan.release).name:
        return change
    return replace(change, title=f"{change.title} (Kubernetes cannot express this)")


def _taints(question: Question, node: str) -> dict[str, tuple[str, ...]]:
    """Return, for each request, the keys of the taints that keep devices of a node away from it."""
    if not node:
        return {}
    rules = question.scan.rules
    looked = eligibility(rules, node)
    found = {}
    for part in looked.asks:
        tainted = [device for device, stage in part.stages.items() if stage is Stage.TAINT]
        keys = [
            taint.key
            for device in tainted
            for taint in keeping_away(rules.cluster, rules.release, device, looked.seen[device])
        ]
        if keys:
            found[part.ask.reference] = tuple(dict.fromkeys(keys))
    return found
