"""Why one node, or one device of it, does not serve a claim: the tests with their counts, and the first reason."""

from __future__ import annotations

import time
from collections import Counter

from dra_lab.cel.no_match import plain
from dra_lab.cel.syntax_tree import reads
from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import published_amounts
from dra_lab.model.reasons import FailedTest, WhyNot
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, keeping_away
from dra_lab.planner.node.eligible import AskEligibility, eligibility, refuse_claim, rules_of
from dra_lab.planner.plan_findings import cordoned_shortfall
from dra_lab.planner.pod_claims import expand_pod, read_claims
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.why.funnel import funnels, node_counts


def why_not(
    cluster: Cluster,
    sketch: ClaimSketch,
    node: str,
    release: KubernetesRelease | str | None = None,
    *,
    seconds: float = 0.6,
    solver: str = "HiGHS",
) -> WhyNot:
    """Return why a node does not serve a drawing, or that it does; looks at this node only.

    Raises InputError for an unknown node, and what planning the drawing raises.
    """
    from dra_lab.planner.node.milp import is_feasible
    from dra_lab.planner.why.misfit import explain_misfit

    cluster.node_named(node)
    release = cluster.target_release(release)
    if not sketch.requests:
        return WhyNot(node, fits=None)
    refuse_claim(sketch)
    drawn = expand_pod(read_claims(sketch), cluster, release).sketch
    rules = rules_of(cluster, drawn, release, frozenset((node,)))
    budget = Budget(time.monotonic() + seconds)
    scan = scan_nodes(rules, budget)
    found = eligibility(rules, node)
    fits = is_feasible(scan.build(found), budget, solver=solver)
    rows = node_counts(scan, (node,), Budget())
    reasons = explain_misfit(scan, rows, budget, solver=solver, pinned=node)[0] if fits is False else ()
    if node in cluster.cordoned:
        fits, reasons = False, (cordoned_shortfall(cluster, {node}), *reasons)
    devices = scan.views.view(node).devices
    tests = {item.id: tuple(_test(scan, part, item) for part in found.asks) for item in devices}
    users = {}
    for part in found.asks:
        stuck = [device for device, stage in part.stages.items() if stage is Stage.IN_USE]
        holders = Counter(claim for device in stuck for claim in rules.allocated.holders(device))
        users[part.ask.reference] = tuple(holders.most_common())
    return WhyNot(node, fits, funnels(rows), reasons, users, tests, cluster.claims_known)


def _test(scan: Scan, part: AskEligibility, item: PoolDevice) -> FailedTest:
    """Return the first test of a request that a device does not pass, with what stands behind it."""
    rules, request, stage = scan.rules, part.ask.reference, part.stages[item.id]
    match stage:
        case Stage.CLASS | Stage.SELECTOR:
            match = rules.matching.match(part.ask, item.driver, item.device)
            own, values = match.expression in part.ask.selectors, []
            read = reads(rules.matching.selector(match.expression).tree).attributes if match.expression else ()
            for name in sorted(read):
                attribute = item.device.lookup(name, item.driver)
                # Those that are not published are named for the request's own selectors: the class may be another's.
                if own or attribute is not None:
                    value = "not published" if attribute is None else plain(attribute.value)
                    values.append(f"{name.rpartition('/')[2]} is {value}")
            words = f" ({', '.join(values)})" if values else ""
            text = f"{match.error or match.expression}{words}"
            return FailedTest(request, (Stage.SELECTOR if own else Stage.CLASS).test, text)
        case Stage.TAINT:
            taints = keeping_away(rules.cluster, rules.release, item.id, item.device)
            return FailedTest(request, stage.test, ", ".join(map(str, taints)))
        case Stage.IN_USE:
            return FailedTest(request, stage.test, ", ".join(rules.allocated.holders(item.id)))
        case Stage.CAPACITY:
            there = {key: str(capacity.value) for key, capacity in item.device.capacity.items()}
            asked = part.ask.capacity
            wanted = (published_amounts(item.device, asked, item.driver) if rules.gates.from_1_38 else asked).items()
            lacking = (f"{amount} of {key} asked for, {there.get(key, 'none')} published" for key, amount in wanted)
            return FailedTest(request, stage.test, "; ".join(lacking))
        case _:
            return FailedTest(request, "")
