"""What a plan says does not fit, contradicted by placing it: one replica after another, and no solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.checks.plan_damage import Others
from dra_lab.findings import Finding
from dra_lab.model.plan import NodeFit
from dra_lab.model.sketch import How

MOST_DEVICES = 512
"""Devices on a node above which nothing is placed on it here."""

MOST_NODES = 100
"""Nodes that are tried."""


def fits_for_certain(held: AuditedPlan, wanted: int = 1) -> int:
    """Return how many replicas of a plan's claim fit on its node for certain, at most `wanted`.

    Every link is kept, preferred ones too. The answer is 0 if nothing was found, or if a rule is not tried here:
    requests for all devices, several one-to-one links, feature gates that are off, incomplete pools, selectors that
    fail, compatibility groups.
    """
    takes_all = any(ask.all_devices for ask in held.asks.values())
    return Others(held, MOST_DEVICES).for_certain(wanted) if is_simple(held) and not takes_all else 0


def is_simple(held: AuditedPlan) -> bool:
    """Say whether every device can be judged by itself."""
    if held.plan.node not in held.cluster.node_by_name or not all(held.release.gates.values()):
        return False
    if sum(link.how is How.PAIRWISE for link in held.plan.sketch.links) > 1:
        return False
    if any(pool.invalid or not pool.complete for pool in held.pools):
        return False
    return not any(
        any(use.compatibility_groups for use in device.consumes_counters)
        or any(held.matching.match(ask, name.driver, device).stage == "error" for ask in held.asks.values())
        for name, device in held.devices.items()
    )


def fits_after_all(held: AuditedPlan) -> Iterator[Finding]:
    """A node on which the claim can be placed is not called one that cannot take it.

    Claims that hold devices already tie the pod to nodes in ways that are not tried here.
    """
    if held.plan.allocated_claims:
        return
    refused = [equal.nodes[0] for equal in held.plan.node_classes if equal.fit is NodeFit.NO and equal.nodes]
    for node in refused[:MOST_NODES]:
        if held.plan.admitted is not None and node not in held.plan.admitted:
            continue
        if fits_for_certain(replace(held, plan=replace(held.plan, node=node))):
            yield broken("room", node, "the plan says that the claim does not fit, but counting places it")
