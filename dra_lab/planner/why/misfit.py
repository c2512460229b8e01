"""The plan of a claim that fits nowhere: what is short, what cannot hold together, and what each change would bring."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace as changed

from msgspec.structs import replace

from dra_lab.cel.no_match import MOST_VALUES, Seen, unpublished_words, value_counts, why_no_match
from dra_lab.findings import sentence_case
from dra_lab.model.device import DeviceTaint
from dra_lab.model.names import PCIE_ROOT, split_request
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.reasons import Reasons, Relaxation, Shortfall, Suggestion
from dra_lab.model.sketch import Ask, ClaimSketch, Link, covers
from dra_lab.planner.answer import PodWork, once
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, keeping_away
from dra_lab.planner.node.eligible import eligibility
from dra_lab.planner.plan_findings import failure_shortfalls, selector_failures
from dra_lab.planner.pod_claims import compile_pod
from dra_lab.planner.scan import EqualNodes, Scan
from dra_lab.planner.why.conflicts import Trial, as_suggestions, changes, find_conflict, tried
from dra_lab.planner.why.funnel import Rows, funnels, matching_devices, node_counts, rule_of, scarcity
from dra_lab.planner.why.node_reasons import TESTS, NodeCase, explain_node, missing
from dra_lab.sketch.cluster_candidates import counts_cpus
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for


def plan_of_misfit(work: PodWork, pinned: str, early: Callable[[Plan], None] | None = None) -> Plan:
    """Return the plan with its reasons, within their own time; `pinned` is the only node examined ("": all).

    `early` gets the plan with what is short, before every change is tried.
    """
    plan, scan = changed(work.plan, where=work.choice.classes), work.scan
    if not work.choice.decided:
        return changed(plan, status=PlanStatus.STOPPED, findings=once(work.findings))
    compiled = compile_pod(scan.sketch, scan.cluster, scan.release)
    within = work.budget.until(time.monotonic() + work.budget.shares.explain)
    work.budget.report_step("reasons", "counting what passes each test")
    names = (pinned,) if pinned else scan.rules.nodes
    rows = node_counts(scan, names, within.part(within.shares.step))
    found, complete = explain_misfit(scan, rows, within, solver=work.solver, pinned=pinned)
    seen = {item.id: (item.driver, item.device) for node in names for item in scan.views.view(node).devices}
    plan = changed(
        plan,
        status=PlanStatus.INFEASIBLE,
        findings=once((*work.findings, *compiled.findings)),
        shortfalls=tuple(_with_published_values(scan, list(seen.values()), shortfall) for shortfall in found),
    )
    if early is not None:
        early(plan)
    suggestions = work.suggestions()
    reasons = _reasons(work, pinned, plan, rows, suggestions) if names else Reasons()
    return changed(
        plan,
        shortfalls=(*failure_shortfalls(reasons.failures), *plan.shortfalls),
        suggestions=work.offered(as_suggestions(reasons.relaxations, suggestions, work.sketch, scan.sketch)),
        reasons=replace(reasons, complete=reasons.complete and complete),
    )


def _reasons(work: PodWork, pinned: str, plan: Plan, rows: Rows, suggestions: Sequence[Suggestion]) -> Reasons:
    """Return the reasons; what was not found out, mostly for lack of time, is marked so, and `complete` is False."""
    scan, budget = work.scan, work.budget
    names = (pinned,) if pinned else scan.rules.nodes
    nearest = next((s.node for s in plan.shortfalls if s.node), names[0])
    budget.report_step("reasons", "looking for what cannot hold together")
    within = budget.until(time.monotonic() + budget.shares.explain)
    # as it was planned if no request is split, else as given
    expanded = work.several or work.exact
    drawn, part = scan.sketch if expanded else work.sketch, within.part(within.shares.step)
    nodes = frozenset((pinned,)) if pinned else scan.rules.only
    trial = Trial(scan.cluster, scan.release, within, work.solver, nodes, expanded)
    there = find_conflict(drawn, replace(trial, budget=part, nodes=frozenset((nearest,))), nearest)
    anywhere = None if pinned or part.reached else find_conflict(drawn, replace(trial, budget=part))
    in_time = not part.reached
    offered = [Relaxation("suggestion", "", s.title, sketch=s.sketch) for s in suggestions if s.sketch is not None]
    origin = {} if expanded else work.expansion.origin
    taints: dict[str, list[str]] = {}
    for ask in scan.rules.asks:
        reference = ask.reference.replace(ask.request, origin.get(ask.request, ask.request), 1)
        taints.setdefault(reference, []).extend(taint.key for taint in _taints(scan, ask, nearest))
    every = (*_changes(scan, drawn, taints, offered), *_idle(plan, names))
    relaxed = tuple(tried(trial, change) for change in every)
    counted = sum(map(len, rows.values())) == len(names)
    return Reasons(
        nearest,
        selector_failures(scan),
        funnels(rows),
        () if pinned else scarcity(scan, rows),
        tuple(conflict for conflict in (there, anywhere) if conflict is not None),
        relaxed,
        counted and in_time and all(change.fitting is not None for change in relaxed),
    )


def _changes(
    scan: Scan, drawn: ClaimSketch, taints: Mapping[str, Sequence[str]], offered: Sequence[Relaxation]
) -> Iterator[Relaxation]:
    """Yield the changes that are offered, then the planner's own, each once.

    One that weakens a link says whether a manifest can say the link then.
    """
    yield from offered
    # A suggestion may be for the expanded drawing: the same words are the same change.
    known, titles = [change.sketch for change in offered], {change.title for change in offered}
    for change in changes(drawn, taints):
        if change.sketch is None or change.sketch in known or change.title in titles:
            continue
        weaker = [link for link in change.sketch.links if link.name == change.subject and change.kind == "level"]
        written = all(attribute_for(scan.cluster, change.sketch, link, scan.release).name for link in weaker)
        yield change if written else replace(change, title=f"{change.title} (Kubernetes cannot express this)")


def _idle(plan: Plan, names: Sequence[str]) -> Iterator[Relaxation]:
    """Yield to wait, where the claim fits on nodes with nothing in use."""
    examined = set(names)
    idle = tuple(name for name in plan.fitting_idle_nodes if name in examined)
    unknown = sum(name in examined for fit in plan.where if fit.fits_idle is None for name in fit.members)
    if idle:
        title = "Wait until the devices in use are freed"
        yield Relaxation("idle", "", title, len(idle), len(names), unknown, idle[0])


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


# ---------------------------------------------------------------- the node that comes nearest


def explain_misfit(
    scan: Scan, rows: Rows, budget: Budget, *, solver: str, pinned: str = ""
) -> tuple[tuple[Shortfall, ...], bool]:
    """Return why the claim fits on no node, explained for the node that comes nearest, or on the pinned node.

    `rows` are the counts of the nodes. If time ends before every kind of node is explained, the reasons say how many
    were, and the second value is False.
    """
    counted = not pinned and sum(map(len, rows.values())) == len(scan.rules.nodes)
    classes = [equal for equal in scan.classes if not pinned or pinned in equal.nodes]
    classes = _lacking_the_same(classes, rows) if counted else classes
    classes.sort(key=lambda c: (-len(c.nodes), c.nodes[0]))
    # One of every kind of hardware comes first: what is missing although it is free is the same on all of them.
    first = {c.idle: c for c in reversed(classes)}
    classes.sort(key=lambda c: first[c.idle] is not c)
    explained: list[tuple[tuple[Shortfall, ...], str]] = []
    for name in [pinned or equal.nodes[0] for equal in classes][: budget.sizes.tries]:
        if explained and budget.reached:
            break
        budget.report_step("reasons", f"explained {len(explained)} of {len(classes)} kinds of nodes")
        explained.append((explain_node(NodeCase(scan, eligibility(scan.rules, name), budget, solver)), name))
    if not explained:
        return (Shortfall("count", "cluster", "The cluster has no node", advice="Load a cluster with nodes."),), True
    known = [row for row in explained if all(shortfall.rule != "undecided" for shortfall in row[0])]
    nearest, _ = min(known or explained, key=lambda row: (missing(row[0]), row[1]))
    done = len(known) == len(classes)
    part = f"the nearest of {len(known)} of {len(classes)} kinds of nodes that were explained"
    # A link of which an end has no device at all is left out: the request says that, and its places say nothing.
    bare = {split_request(s.subject)[0] for s in nearest if s.rule in ("count", *TESTS) and not s.available}
    ends = {link.name: {split_request(end)[0] for end in link.requests} for link in scan.sketch.links}
    found = []
    for shortfall in nearest:
        if shortfall.rule == "link" and bare & ends.get(shortfall.subject, set()):
            continue
        most = counted and _has_most(shortfall, [row[0] for row in known], rows, done=done)
        more = "; no node has more" if most else "" if done or pinned else f", {part}"
        found.append(_finish(scan, changed(shortfall, widest=most), more) if shortfall.node else shortfall)
    return tuple(found), done


def _lacking_the_same(classes: Sequence[EqualNodes], rows: Rows) -> list[EqualNodes]:
    """Return the classes with nodes apart that lack something else, though equal for the claim."""
    short = {node: tuple(ask.short for ask in asks) for asks, nodes in rows.items() for node in nodes}
    found = []
    for equal in classes:
        apart: dict[Hashable, list[str]] = {}
        for node in equal.nodes:
            apart.setdefault(short[node], []).append(node)
        found += [replace(equal, nodes=tuple(nodes)) for nodes in apart.values()]
    return found


def _has_most(shortfall: Shortfall, known: Sequence[Sequence[Shortfall]], rows: Rows, *, done: bool) -> bool:
    """Say whether all nodes have this reason, and no node more for it; if not all were explained, by their counts."""
    if done:
        same = [s.available for row in known for s in row if (s.rule, s.subject) == (shortfall.rule, shortfall.subject)]
        return len(same) == len(known) and max(same) <= shortfall.available
    short = [ask.short for asks in rows for ask in asks if ask.request == shortfall.subject]
    steps = [step for step in short if step is not None and rule_of(step) == shortfall.rule]
    return len(steps) == len(rows) and max(step.count for step in steps) <= shortfall.available


def _finish(scan: Scan, shortfall: Shortfall, more: str) -> Shortfall:
    """Add the node, what is known beyond it (`more`), and whether a link at another place would help."""
    text = f"{shortfall.message} (node {shortfall.node}{more})"
    link = next((link for link in scan.sketch.links if link.name == shortfall.subject), None)
    # Devices on different NUMA nodes are on different PCIe roots too: where they must not be near, that is no help.
    if link is not None and link.where == "pcieRoot" and shortfall.available == 0 and link.kind.near:
        choice = attribute_for(scan.cluster, scan.sketch, replace(link, where="numaNode"), scan.release)
        without = [end for end, names in choice.sides.items() if not names]
        verb = "publishes" if len(without) == 1 else "publish"
        lacking = f"{' and '.join(without)} {verb} no NUMA node" if without else choice.reason
        can = f"A link at the {LEVEL_WORDS['numaNode']} can be written ({choice.name})"
        text += f". {can}" if choice.name else f". No NUMA link can be written: {lacking}"
    return changed(shortfall, message=text)


# ---------------------------------------------------------------- what devices publish


def _with_published_values(scan: Scan, seen: Seen, shortfall: Shortfall) -> Shortfall:
    """Return a reason with what the devices publish, if no device at all has what a selector or link needs."""
    ask = next((ask for ask in scan.rules.asks if ask.reference == shortfall.subject), None)
    link = next((link for link in scan.sketch.links if link.name == shortfall.subject), None)
    message = ""
    if ask is not None and shortfall.rule == "selector" and not shortfall.available:
        message = sentence_case(why_no_match(scan.rules.matching, ask, seen))
    elif ask is not None and shortfall.rule == "taint":
        taints = Counter(map(str, _taints(scan, ask, shortfall.node)))
        found = [
            f"the taint {taint}, which {count:,} of its devices" for taint, count in taints.most_common(MOST_VALUES)
        ]
        have = "have" if taints.total() > 1 else "has"
        message = f"Request {ask.reference} does not tolerate {' or '.join(found)} on {shortfall.node} {have}"
        message = message if found else ""
    elif ask is not None and shortfall.rule == "capacity":
        message = _amount_words(ask, _matching(scan, [ask], seen))
    elif link is not None and shortfall.rule == "link" and (message := _attribute_words(scan, link, seen)):
        return changed(shortfall, rule="attribute", message=message, available=0)
    return changed(shortfall, message=message) if message else shortfall


def _matching(scan: Scan, asks: Sequence[Ask], seen: Seen) -> Seen:
    return [one for one in seen if any(scan.rules.matching.match(ask, *one) for ask in asks)]


def _taints(scan: Scan, ask: Ask, node: str) -> list[DeviceTaint]:
    """Return the taints that keep devices of a node away from a request."""
    devices, rules = scan.devices(node), scan.rules
    stuck = [device for device, stage in matching_devices(scan, ask, node) if stage is Stage.TAINT]
    return [taint for one in stuck for taint in keeping_away(rules.cluster, rules.release, one, devices[one])]


def _amount_words(ask: Ask, own: Seen) -> str:
    """Return what devices publish of the capacity of a request, if each publishes too little; else ""."""
    for key, amount in ask.capacity.items():
        there = [device.capacity[key].value for _, device in own if key in device.capacity]
        if there and max(map(parse_quantity, there)) < parse_quantity(amount):
            values = value_counts(list(map(str, there)), missing=len(own) - len(there))
            what = "CPUs" if counts_cpus(key) else f"of {key}"
            return f"Request {ask.reference} asks for {amount} {what} in one device, and devices have {values}"
    return ""


def _attribute_words(scan: Scan, link: Link, seen: Seen) -> str:
    """Return that no device of one of its requests publishes the attribute of a link; "" if some do."""
    name = PCIE_ROOT if link.where == "pcieRoot" else link.where
    ways: dict[str, list[Ask]] = {}
    for ask in scan.rules.asks:
        if "/" in name and any(covers(end, ask) for end in link.requests):
            ways.setdefault(ask.request, []).append(ask)
    for request, parts in ways.items():
        own = _matching(scan, parts, seen)
        if own and all(device.lookup(name, driver) is None for driver, device in own):
            return f"A constraint compares {name}: {unpublished_words(name, own, f'no device of request {request}')}"
    return ""
