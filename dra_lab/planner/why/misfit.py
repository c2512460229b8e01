"""The plan of a claim that fits nowhere: what is short, what cannot hold together, and what each change would bring."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as changed

from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.findings import sentence_case
from dra_lab.model.device import Device
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.plan import Plan, PlanStatus, Shortfall, Suggestion
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.reasons import Conflict, Reasons, Relaxation
from dra_lab.model.sketch import Ask, ClaimSketch, Link, covers
from dra_lab.planner.answer import Work, once
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, keeping_away
from dra_lab.planner.node.eligible import eligibility
from dra_lab.planner.plan_findings import failure_shortfalls, selector_failures
from dra_lab.planner.pod_claims import compile_pod
from dra_lab.planner.scan import Scan
from dra_lab.planner.why.conflict import Fits, find_conflict
from dra_lab.planner.why.fitting import Trial
from dra_lab.planner.why.funnel import funnels, node_counts, scarcity
from dra_lab.planner.why.nearest import explain_misfit
from dra_lab.planner.why.no_match import MOST_VALUES, unpublished_words, value_counts, why_no_match
from dra_lab.planner.why.relaxations import as_suggestions, changes, try_changes
from dra_lab.sketch.links import attribute_for


def plan_of_misfit(work: Work, pinned: str, early: Callable[[Plan], None] | None = None) -> Plan:
    """Return the plan with its reasons, within their own time; `pinned` is the only node examined ("": all).

    `early` gets the plan with what is short, before every change is tried.
    """
    plan = changed(work.plan, node_classes=work.choice.classes)
    if not work.choice.decided:
        return changed(plan, status=PlanStatus.STOPPED, findings=once(work.findings))
    compiled = compile_pod(work.scan.sketch, work.scan.cluster, work.scan.release)
    plan = changed(plan, status=PlanStatus.INFEASIBLE, findings=once((*work.findings, *compiled.findings)))
    misfit = explain_misfit(work.scan, work.budget, solver=work.solver, pinned=pinned)
    shortfalls = tuple(_with_values(work.scan, shortfall, pinned) for shortfall in misfit.shortfalls)
    plan = changed(plan, shortfalls=shortfalls)
    if early is not None:
        early(plan)
    suggestions = work.suggestions()
    reasons = _reasons(work, pinned, plan, suggestions)
    reasons = replace(reasons, complete=reasons.complete and misfit.complete)
    return changed(
        plan,
        shortfalls=(*failure_shortfalls(reasons.failures), *shortfalls),
        suggestions=work.offered(as_suggestions(reasons.relaxations, suggestions, work.sketch, work.scan.sketch)),
        reasons=reasons,
    )


def _reasons(work: Work, pinned: str, plan: Plan, suggestions: Sequence[Suggestion]) -> Reasons:
    """Return the reasons; what was not found out, mostly for lack of time, is marked so, and `complete` is False."""
    scan, budget = work.scan, work.budget
    within = budget.until(time.monotonic() + budget.shares.explain)
    budget.report_step("reasons", "counting what passes each test")
    names = (pinned,) if pinned else scan.rules.nodes
    if not names:
        return Reasons()
    rows = node_counts(scan, names, within.part(within.shares.first))
    nearest = next((s.node for s in plan.shortfalls if s.node), names[0])
    counted = sum(len(row.nodes) for row in rows) == len(names)
    failures, scarce = selector_failures(scan), () if pinned else scarcity(scan, rows)
    budget.report_step("reasons", "looking for what cannot hold together")
    conflicts, tried = _conflicts(work, pinned, nearest, within.part(within.shares.step))
    offered = [Relaxation("suggestion", "", s.title, sketch=s.sketch) for s in suggestions if s.sketch is not None]
    relaxed = try_changes(_trial(work, within, pinned), (*_changes(work, nearest, offered), *_idle(plan, names)))
    complete = counted and tried and all(change.fitting is not None for change in relaxed)
    return Reasons(nearest, failures, funnels(rows), scarce, conflicts, relaxed, complete)


def _with_values(scan: Scan, shortfall: Shortfall, pinned: str) -> Shortfall:
    """Return a reason with what the devices publish, if no device at all has what a selector or link needs."""
    nodes = (pinned,) if pinned else scan.rules.nodes
    seen = {item.id: (item.driver, item.device) for node in nodes for item in scan.views.view(node).devices}
    ask = next((ask for ask in scan.rules.asks if ask.reference == shortfall.subject), None)
    link = next((link for link in scan.sketch.links if link.name == shortfall.subject), None)
    if ask is not None and shortfall.rule == "selector" and not shortfall.available:
        why = why_no_match(scan.rules.matching, ask, seen.values())
        return changed(shortfall, message=sentence_case(why)) if why else shortfall
    if ask is not None and shortfall.rule == "taint":
        return _with_taints(scan, shortfall, ask)
    if ask is not None and shortfall.rule == "capacity" and ask.capacity:
        return _with_amounts(scan, shortfall, ask, list(seen.values()))
    if link is not None and shortfall.rule == "link":
        return _without_attribute(scan, shortfall, link, list(seen.values()))
    return shortfall


def _with_taints(scan: Scan, shortfall: Shortfall, ask: Ask) -> Shortfall:
    """Return the reason of a request with the taints of the devices that match it, on its node."""
    rules, found = scan.rules, eligibility(scan.rules, shortfall.node)
    part = next(part for part in found.asks if part.ask.reference == ask.reference)
    tainted = [device for device, stage in part.stages.items() if stage is Stage.TAINT]
    every = (keeping_away(rules.cluster, rules.release, device, found.seen[device]) for device in tainted)
    taints = Counter(str(taint) for own in every for taint in own)
    if not taints:
        return shortfall
    rows = [f"the taint {taint}, which {count:,} of its devices" for taint, count in taints.most_common(MOST_VALUES)]
    have = "have" if taints.total() > 1 else "has"
    message = f"Request {ask.reference} does not tolerate {' or '.join(rows)} on {shortfall.node} {have}"
    return changed(shortfall, message=message)


def _with_amounts(scan: Scan, shortfall: Shortfall, ask: Ask, seen: Sequence[tuple[str, Device]]) -> Shortfall:
    """Return the reason of a request with what devices publish of the capacity, if each publishes too little."""
    own = [device for driver, device in seen if scan.rules.matching.match(ask, driver, device)]
    for key, amount in ask.capacity.items():
        there = [device.capacity[key].value for device in own if key in device.capacity]
        if there and max(map(parse_quantity, there)) < parse_quantity(amount):
            values = value_counts(list(map(str, there)), missing=len(own) - len(there))
            what = "CPUs" if key.rpartition("/")[2] == "cpu" else f"of {key}"
            message = f"Request {ask.reference} asks for {amount} {what} in one device, and devices have {values}"
            return changed(shortfall, message=message)
    return shortfall


def _without_attribute(scan: Scan, shortfall: Shortfall, link: Link, seen: Sequence[tuple[str, Device]]) -> Shortfall:
    """Return the reason of a link as the attribute that no device of one of its requests publishes."""
    name = PCIE_ROOT if link.where == "pcieRoot" else link.where
    if "/" not in name:
        return shortfall
    ways: dict[str, list[Ask]] = {}
    for ask in scan.rules.asks:
        if any(covers(end, ask) for end in link.requests):
            ways.setdefault(ask.request, []).append(ask)
    for request, parts in ways.items():
        own = [one for one in seen if any(scan.rules.matching.match(ask, *one) for ask in parts)]
        if own and all(device.lookup(name, driver) is None for driver, device in own):
            why = unpublished_words(name, own, f"no device of request {request}")
            return changed(shortfall, rule="attribute", message=f"A constraint compares {name}: {why}", available=0)
    return shortfall


def _drawn(work: Work) -> ClaimSketch:
    """Return the drawing that is changed: as given, or where no request is split, as it was planned."""
    return work.scan.sketch if work.several or work.exact else work.sketch


def _trial(work: Work, budget: Budget, node: str = "") -> Trial:
    scan = work.scan
    expanded = work.several or work.exact
    return Trial(scan.cluster, scan.release, budget, work.solver, node, expanded, scan.rules.only)


def _conflicts(work: Work, pinned: str, nearest: str, budget: Budget) -> tuple[tuple[Conflict, ...], bool]:
    """Return what cannot hold together on the nearest node, and in the cluster where that is another set."""
    trial, tries, drawn = _trial(work, budget), budget.sizes.tries, _drawn(work)
    found = [find_conflict(drawn, _unknown_if_unsupported(lambda s: trial.fits_on(s, nearest)), tries, nearest)]
    if not pinned and not budget.reached:
        found.append(find_conflict(drawn, _unknown_if_unsupported(trial.fits_somewhere), tries))
    return tuple(conflict for conflict in found if conflict is not None), not budget.reached


def _unknown_if_unsupported(fits: Fits) -> Fits:
    """Return a trial that does not know it of a drawing that needs a rule which is not known here."""

    def result(sketch: ClaimSketch) -> bool | None:
        try:
            return fits(sketch)
        except UnsupportedFeature:
            return None

    return result


def _changes(work: Work, nearest: str, offered: Sequence[Relaxation]) -> list[Relaxation]:
    """Return the changes that are offered, then the planner's own, each once."""
    # A suggestion may be for the expanded drawing: the same words are the same change.
    known, titles = [change.sketch for change in offered], {change.title for change in offered}
    own = list(changes(_drawn(work), _taints(work, nearest)))
    return [*offered, *(_with_manifest_note(work, c) for c in own if c.sketch not in known and c.title not in titles)]


def _idle(plan: Plan, names: Sequence[str]) -> Iterator[Relaxation]:
    """Yield to wait, where the claim fits on nodes with nothing in use."""
    examined = set(names)
    idle = tuple(name for name in plan.fitting_idle_nodes if name in examined)
    unknown = sum(name in examined for c in plan.node_classes if c.fits_idle is None for name in c.nodes)
    if idle:
        title = "Wait until the devices in use are freed"
        yield Relaxation("idle", "", title, len(idle), len(names), unknown, idle[0])


def _with_manifest_note(work: Work, change: Relaxation) -> Relaxation:
    """Return a change that weakens a link with a word on whether a manifest can say the link then."""
    if change.kind != "level" or change.sketch is None:
        return change
    scan = work.scan
    link = next(link for link in change.sketch.links if link.name == change.subject)
    if attribute_for(scan.cluster, change.sketch, link, scan.release).name:
        return change
    return replace(change, title=f"{change.title} (Kubernetes cannot express this)")


def _taints(work: Work, node: str) -> dict[str, tuple[str, ...]]:
    """Return, for each request, the keys of the taints that keep devices of a node away from it."""
    rules = work.scan.rules
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
