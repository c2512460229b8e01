"""The plan of a claim that fits nowhere: what is short, what cannot hold together, and what each change would bring."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as changed

from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.model.device import DeviceTaint
from dra_lab.model.names import PCIE_ROOT, split_request
from dra_lab.model.plan import Plan, PlanStatus, Shortfall, Suggestion
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.reasons import Conflict, Reasons, Relaxation
from dra_lab.model.sketch import Ask, ClaimSketch, Link, covers
from dra_lab.planner.answer import Work, once
from dra_lab.planner.node.device_tests import Stage, keeping_away
from dra_lab.planner.node.eligible import eligibility
from dra_lab.planner.plan_findings import failure_shortfalls, selector_failures
from dra_lab.planner.pod_claims import compile_pod
from dra_lab.planner.scan import Scan
from dra_lab.planner.why.changes import Trial, as_suggestions, changes, find_conflict, tried
from dra_lab.planner.why.funnel import funnels, node_counts, scarcity
from dra_lab.planner.why.nearest import explain_misfit
from dra_lab.planner.why.no_match import MOST_VALUES, Seen, unpublished_words, value_counts, why_no_match
from dra_lab.sketch.links import attribute_for


def plan_of_misfit(work: Work, pinned: str, early: Callable[[Plan], None] | None = None) -> Plan:
    """Return the plan with its reasons, within their own time; `pinned` is the only node examined ("": all).

    `early` gets the plan with what is short, before every change is tried.
    """
    plan, scan = changed(work.plan, node_classes=work.choice.classes), work.scan
    if not work.choice.decided:
        return changed(plan, status=PlanStatus.STOPPED, findings=once(work.findings))
    compiled = compile_pod(scan.sketch, scan.cluster, scan.release)
    found, complete = explain_misfit(scan, work.budget, solver=work.solver, pinned=pinned)
    plan = changed(
        plan,
        status=PlanStatus.INFEASIBLE,
        findings=once((*work.findings, *compiled.findings)),
        shortfalls=tuple(_with_values(scan, shortfall, pinned) for shortfall in found),
    )
    if early is not None:
        early(plan)
    suggestions = work.suggestions()
    reasons = _reasons(work, pinned, plan, suggestions)
    return changed(
        plan,
        shortfalls=(*failure_shortfalls(reasons.failures), *plan.shortfalls),
        suggestions=work.offered(as_suggestions(reasons.relaxations, suggestions, work.sketch, scan.sketch)),
        reasons=replace(reasons, complete=reasons.complete and complete),
    )


def _reasons(work: Work, pinned: str, plan: Plan, suggestions: Sequence[Suggestion]) -> Reasons:
    """Return the reasons; what was not found out, mostly for lack of time, is marked so, and `complete` is False."""
    scan, budget = work.scan, work.budget
    names = (pinned,) if pinned else scan.rules.nodes
    if not names:
        return Reasons()
    within = budget.until(time.monotonic() + budget.shares.explain)
    budget.report_step("reasons", "counting what passes each test")
    rows = node_counts(scan, names, within.part(within.shares.first))
    counted = sum(len(row.nodes) for row in rows) == len(names)
    nearest = next((s.node for s in plan.shortfalls if s.node), names[0])
    scarce = () if pinned else scarcity(scan, rows)
    budget.report_step("reasons", "looking for what cannot hold together")
    # as it was planned if no request is split, else as given
    expanded = work.several or work.exact
    drawn, part = scan.sketch if expanded else work.sketch, within.part(within.shares.step)
    trial = Trial(scan.cluster, scan.release, part, work.solver, pinned, expanded, scan.rules.only)
    conflicts = _conflicts(trial, drawn, nearest)
    in_time, trial = not part.reached, replace(trial, budget=within)
    offered = [Relaxation("suggestion", "", s.title, sketch=s.sketch) for s in suggestions if s.sketch is not None]
    every = (*_changes(scan, drawn, nearest, offered), *_idle(plan, names))
    relaxed = tuple(tried(trial, change) for change in every)
    complete = counted and in_time and all(change.fitting is not None for change in relaxed)
    return Reasons(nearest, selector_failures(scan), funnels(rows), scarce, conflicts, relaxed, complete)


def _conflicts(trial: Trial, drawn: ClaimSketch, nearest: str) -> tuple[Conflict, ...]:
    """Return what cannot hold together on the nearest node, and in the cluster."""
    tries = trial.budget.sizes.tries
    found = [find_conflict(drawn, lambda sketch: trial.fits_on(sketch, nearest), tries, nearest)]
    if not trial.node and not trial.budget.reached:
        found.append(find_conflict(drawn, trial.fits_somewhere, tries))
    return tuple(conflict for conflict in found if conflict is not None)


def _changes(scan: Scan, drawn: ClaimSketch, nearest: str, offered: Sequence[Relaxation]) -> list[Relaxation]:
    """Return the changes that are offered, then the planner's own, each once.

    One that weakens a link says whether a manifest can say the link then.
    """
    # A suggestion may be for the expanded drawing: the same words are the same change.
    known, titles = [change.sketch for change in offered], {change.title for change in offered}
    found = list(offered)
    taints = {name: dict.fromkeys(taint.key for taint in own) for name, own in _taints(scan, nearest).items()}
    for change in changes(drawn, taints):
        if change.sketch is None or change.sketch in known or change.title in titles:
            continue
        link = next((link for link in change.sketch.links if link.name == change.subject), None)
        if change.kind == "level" and link is not None:
            written = attribute_for(scan.cluster, change.sketch, link, scan.release).name
            found.append(
                change if written else replace(change, title=f"{change.title} (Kubernetes cannot express this)")
            )
        else:
            found.append(change)
    return found


def _idle(plan: Plan, names: Sequence[str]) -> Iterator[Relaxation]:
    """Yield to wait, where the claim fits on nodes with nothing in use."""
    examined = set(names)
    idle = tuple(name for name in plan.fitting_idle_nodes if name in examined)
    unknown = sum(name in examined for c in plan.node_classes if c.fits_idle is None for name in c.nodes)
    if idle:
        title = "Wait until the devices in use are freed"
        yield Relaxation("idle", "", title, len(idle), len(names), unknown, idle[0])


def _taints(scan: Scan, node: str) -> dict[str, list[DeviceTaint]]:
    """Return the taints that keep devices of a node away from each request, by its reference."""
    found, rules = eligibility(scan.rules, node), scan.rules
    return {
        part.ask.reference: [
            taint
            for device, stage in part.stages.items()
            if stage is Stage.TAINT
            for taint in keeping_away(rules.cluster, rules.release, device, found.seen[device])
        ]
        for part in found.asks
    }


def causes(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return ("request" or "link", name) of what keeps a plan from fitting; () for one that fits or is not decided.

    They are the parts that cannot hold together on any node, else those on the nearest node. As long as these are not
    known, they are what the sentences of the answer are about; a link then comes with its requests.
    """
    if plan.status is not PlanStatus.INFEASIBLE:
        return ()
    conflicts, sketch = plan.reasons.conflicts if plan.reasons is not None else (), plan.sketch
    if conflicts:
        parts = {(part.kind == "link", part.subject) for part in conflicts[-1].elements}
        names = {subject if is_link else split_request(subject)[0] for is_link, subject in parts}
    else:
        subjects = {name for shortfall in plan.shortfalls for name in shortfall.subject.split(", ")}
        ends = {end for link in sketch.links if link.name in subjects for end in link.requests}
        names = {split_request(name)[0] for name in subjects | ends}
    requests = (("request", request.name) for request in sketch.requests if request.name in names)
    return (*requests, *(("link", link.name) for link in sketch.links if link.name in names))


# ---------------------------------------------------------------- what devices publish


def _with_values(scan: Scan, shortfall: Shortfall, pinned: str) -> Shortfall:
    """Return a reason with what the devices publish, if no device at all has what a selector or link needs."""
    nodes = (pinned,) if pinned else scan.rules.nodes
    seen = {item.id: (item.driver, item.device) for node in nodes for item in scan.views.view(node).devices}
    every = list(seen.values())
    ask = next((ask for ask in scan.rules.asks if ask.reference == shortfall.subject), None)
    link = next((link for link in scan.sketch.links if link.name == shortfall.subject), None)
    message = ""
    if ask is not None and shortfall.rule == "selector" and not shortfall.available:
        message = sentence_case(why_no_match(scan.rules.matching, ask, every))
    elif ask is not None and shortfall.rule == "taint":
        message = _taint_words(scan, ask, shortfall.node)
    elif ask is not None and shortfall.rule == "capacity":
        message = _amount_words(scan, ask, every)
    elif link is not None and shortfall.rule == "link" and (message := _attribute_words(scan, link, every)):
        return changed(shortfall, rule="attribute", message=message, available=0)
    return changed(shortfall, message=message) if message else shortfall


def _taint_words(scan: Scan, ask: Ask, node: str) -> str:
    """Return the taints of the devices of a node that match a request; "" if there are none."""
    taints = Counter(map(str, _taints(scan, node)[ask.reference]))
    rows = [f"the taint {taint}, which {count:,} of its devices" for taint, count in taints.most_common(MOST_VALUES)]
    have = "have" if taints.total() > 1 else "has"
    return f"Request {ask.reference} does not tolerate {' or '.join(rows)} on {node} {have}" if rows else ""


def _amount_words(scan: Scan, ask: Ask, seen: Seen) -> str:
    """Return what devices publish of the capacity of a request, if each publishes too little; else ""."""
    own = [device for driver, device in seen if scan.rules.matching.match(ask, driver, device)]
    for key, amount in ask.capacity.items():
        there = [device.capacity[key].value for device in own if key in device.capacity]
        if there and max(map(parse_quantity, there)) < parse_quantity(amount):
            values = value_counts(list(map(str, there)), missing=len(own) - len(there))
            what = "CPUs" if key.rpartition("/")[2] == "cpu" else f"of {key}"
            return f"Request {ask.reference} asks for {amount} {what} in one device, and devices have {values}"
    return ""


def _attribute_words(scan: Scan, link: Link, seen: Seen) -> str:
    """Return that no device of one of its requests publishes the attribute of a link; "" if some do."""
    name = PCIE_ROOT if link.where == "pcieRoot" else link.where
    if "/" not in name:
        return ""
    ways: dict[str, list[Ask]] = {}
    for ask in scan.rules.asks:
        if any(covers(end, ask) for end in link.requests):
            ways.setdefault(ask.request, []).append(ask)
    for request, parts in ways.items():
        own = [one for one in seen if any(scan.rules.matching.match(ask, *one) for ask in parts)]
        if own and all(device.lookup(name, driver) is None for driver, device in own):
            return f"A constraint compares {name}: {unpublished_words(name, own, f'no device of request {request}')}"
    return ""
