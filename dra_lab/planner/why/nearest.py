"""Why a claim fits on no node, explained for the node that comes nearest."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.model.names import split_request
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import Link
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import eligibility
from dra_lab.planner.scan import EqualNodes, Scan
from dra_lab.planner.why.funnel import node_counts
from dra_lab.planner.why.node_reasons import NodeCase, explain_node, missing
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for

PARTITIONS = "DRAPartitionableDevices"
"""The gate without which kube-scheduler passes over devices that consume shared counters (KEP-4815)."""

_HARDWARE = ("class", "count", "selector")
_ALONE = (*_HARDWARE, "taint", "in-use", "capacity")

Found = tuple[Shortfall, ...]
"""The reasons on one node."""


def explain_misfit(scan: Scan, budget: Budget, *, solver: str, pinned: str = "") -> tuple[Found, bool]:
    """Return why the claim fits on no node, explained for the node that comes nearest, or on the pinned node.

    Ends after `Shares.explain`, or with the budget; the reasons then say how many kinds of nodes were explained. The
    second value is False where not every kind of node was explained to the end.
    """
    within = budget.until(time.monotonic() + budget.shares.explain)
    classes = [c for c in scan.classes if not pinned or pinned in c.nodes]
    apart = None if pinned else _lacking_the_same(scan, classes, within.part(within.shares.step))
    classes = sorted(apart or classes, key=lambda c: (-len(c.nodes), c.nodes[0]))
    # One of every kind of hardware comes first: what is missing although it is free is the same on all of them.
    first = {c.idle: c for c in reversed(classes)}
    classes.sort(key=lambda c: first[c.idle] is not c)
    explained = list(_explained(scan, [pinned or equal.nodes[0] for equal in classes], within, solver))
    if not explained:
        return (Shortfall("count", "cluster", "The cluster has no node", advice="Load a cluster with nodes."),), True
    known = [row for row in explained if all(shortfall.rule != "undecided" for shortfall in row[0])]
    nearest, _ = min(known or explained, key=lambda row: (missing(row[0]), row[1]))
    done = len(known) == len(classes)
    part = f"the nearest of {len(known)} of {len(classes)} kinds of nodes that were explained"
    asks = {ask.reference for ask in scan.rules.asks}
    # All are known, or of what hardware alone decides one of each kind.
    hardware = asks if len(known) == len(explained) >= len(first) else set()
    found = []
    for shortfall in _telling(scan, nearest):
        every = (done and apart is not None) or (shortfall.subject in hardware and shortfall.rule in _HARDWARE)
        widest = not pinned and every and _has_most(shortfall, [row[0] for row in known])
        more = "; no node has more" if widest else "" if done or pinned else f", {part}"
        found.append(_finish(scan, replace(shortfall, widest=widest), more) if shortfall.node else shortfall)
    return tuple(found), done


def _explained(scan: Scan, nodes: Sequence[str], budget: Budget, solver: str) -> Iterator[tuple[Found, str]]:
    """Yield nodes with their reasons, the first one whatever the time."""
    for number, name in enumerate(nodes[: budget.sizes.explained], 1):
        budget.report_step("reasons", f"explained {number - 1} of {len(nodes)} kinds of nodes")
        yield explain_node(NodeCase(scan, eligibility(scan.rules, name), budget, solver)), name
        if budget.reached:
            break


def _lacking_the_same(scan: Scan, classes: Sequence[EqualNodes], budget: Budget) -> list[EqualNodes] | None:
    """Return the classes with nodes apart that lack something else, though equal for the claim; None: not found out."""
    rows = node_counts(scan, scan.rules.nodes, budget)
    kinds = {node: tuple(ask.short for ask in row.asks) for row in rows for node in row.nodes}
    if len(kinds) < len(scan.rules.nodes):
        return None
    found = []
    for equal in classes:
        apart: dict[Hashable, list[str]] = {}
        for node in equal.nodes:
            apart.setdefault(kinds[node], []).append(node)
        found += [changed(equal, nodes=tuple(nodes)) for nodes in apart.values()]
    return found


def _telling(scan: Scan, found: Found) -> Found:
    """Leave out links of which an end has no device at all: that says the request, and their places say nothing."""
    bare = {split_request(s.subject)[0] for s in found if s.rule in _ALONE and not s.available}
    ends = {link.name: {split_request(end)[0] for end in link.requests} for link in scan.sketch.links}
    return tuple(s for s in found if s.rule != "link" or not bare & ends.get(s.subject, set()))


def _has_most(shortfall: Shortfall, every: Sequence[Found]) -> bool:
    """Say whether all nodes have this reason, and no node more for it."""
    same = [s.available for row in every for s in row if (s.rule, s.subject) == (shortfall.rule, shortfall.subject)]
    return len(same) == len(every) > 0 and max(same) <= shortfall.available


def _finish(scan: Scan, shortfall: Shortfall, more: str) -> Shortfall:
    """Add the node, what is known beyond it (`more`), and whether another link or a gate would help."""
    text = f"{shortfall.message} (node {shortfall.node}{more})"
    link = next((link for link in scan.sketch.links if link.name == shortfall.subject), None)
    # Devices on different NUMA nodes are on different PCIe roots too: where they must not be near, that is no help.
    if link is not None and link.where == "pcieRoot" and shortfall.available == 0 and link.kind.near:
        text += _numa_instead(scan, link)
    if shortfall.rule == "capacity" and (without := _partitions_without_gate(scan, shortfall)):
        message = f"{text}. {without} of them are partitions, and Kubernetes {scan.release} has {PARTITIONS} off"
        advice = f"Target a release that has the gate on (1.36), or turn it on: --feature-gates {PARTITIONS}=true"
        return replace(shortfall, message=message, advice=advice)
    return replace(shortfall, message=text)


def _partitions_without_gate(scan: Scan, shortfall: Shortfall) -> int:
    """Return how many devices of a request are kept away only by the gate of partitionable devices, on its node."""
    if scan.rules.gates.partitionable_devices:
        return 0
    found = eligibility(scan.rules, shortfall.node)
    part = next(part for part in found.asks if part.ask.reference == shortfall.subject)
    stuck = (device for device, stage in part.stages.items() if stage is Stage.CAPACITY)
    return sum(bool(found.seen[device].consumes_counters) for device in stuck)


def _numa_instead(scan: Scan, link: Link) -> str:
    """Say whether the link could be written on the NUMA node instead, and if not, which end lacks the attribute."""
    choice = attribute_for(scan.cluster, scan.sketch, changed(link, where="numaNode"), scan.release)
    if choice.name:
        return f". A link at the {LEVEL_WORDS['numaNode']} can be written ({choice.name})"
    without = [end for end, names in choice.sides.items() if not names]
    verb = "publishes" if len(without) == 1 else "publish"
    lacking = f"{' and '.join(without)} {verb} no NUMA node" if without else choice.reason
    return f". No NUMA link can be written: {lacking}"
