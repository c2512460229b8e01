"""Hold a plan against the rules of DRA, device by device; shares no code with the solver that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from dra_lab.checks.plan_amounts import capacity_kept, counters_kept, is_split
from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.checks.plan_bounds import check_bounds
from dra_lab.checks.plan_damage import Others, check_damage
from dra_lab.checks.plan_devices import all_devices, looks_at_every, stopping
from dra_lab.checks.plan_fits import fits_after_all
from dra_lab.checks.plan_places import check_goals, links_kept
from dra_lab.checks.plan_proofs import check_statements
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.nodes import node_matches
from dra_lab.model.plan import Placement, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES


def check_plan(
    cluster: Cluster,
    plan: Plan,
    release: KubernetesRelease,
    *,
    asks_for_nics: bool | None = None,
) -> tuple[Finding, ...]:
    """Return every rule that a plan breaks, as errors.

    Each device must be on the node, match class and selectors, have no taint that is not tolerated, be free, have the
    capacity and be used once unless it is shareable. The check covers shared counters, counts and alternatives, All,
    the limit of 32 in each claim, and every must-link. It also covers node selectors, including those of the pod's
    claims that hold devices already, and the values of the goals. `damage`, which is about other pods, is counted again
    where trying all replicas is short (`plan_damage`). Then status, bounds and proofs, and that its node classes cover
    every node; and the devices and goals of kube-scheduler's first fits, but for links. No node is called one that
    cannot take the claim if placing it there is simple (`plan_fits`), and no bound or goal contradicts counting or a
    better allocation (`plan_bounds`).

    The cluster must be the planned one, with the device classes of the plan. If it is only a part of that cluster,
    `asks_for_nics` says whether the plan's requests may use a NIC anywhere in the whole.
    """
    release = cluster.target_release(release)
    found = list(check_statements(plan, cluster))
    held = AuditedPlan(cluster, plan, release, asks_for_nics)
    others = Others(held)
    if plan.placements:
        found.extend(_broken(held, others, (*_RULES, links_kept)))
    for title, fit in (("first fit", plan.first_fit), ("first fit of counts", plan.first_fit_plain)):
        if not found and fit is not None and fit.placements:
            taken = held.taking(fit.placements, fit.goals)
            found.extend(replace(f, subject=f"{title}: {f.subject}") for f in _broken(taken, others, _RULES))
    found.extend(fits_after_all(held))
    if not found:
        found.extend(check_bounds(held, keeps_all))
    return sort_findings(found)


def keeps_all(held: AuditedPlan) -> bool:
    """Say whether a plan's devices keep every rule and every link."""
    return not any(finding for rule in (_known, *_RULES, links_kept) for finding in rule(held))


def _broken(
    held: AuditedPlan, others: Others, rules: Sequence[Callable[[AuditedPlan], Iterator[Finding]]]
) -> Iterator[Finding]:
    """Yield what a plan breaks; where it names what is not there, only that."""
    unknown = list(_known(held))
    found = unknown or [finding for rule in rules for finding in rule(held)]
    yield from found or check_damage(held, others)


def _known(held: AuditedPlan) -> Iterator[Finding]:
    """Placements name a request of the drawing and a device that the node sees."""
    for placement in held.plan.placements:
        if placement.reference not in held.asks:
            yield broken("request", placement.reference, "the drawing has no such request")
        if placement.device not in held.devices:
            yield broken("device", placement.device, f"node {held.plan.node} does not see this device")


def _eligible(held: AuditedPlan) -> Iterator[Finding]:
    """Class, selectors, gates, taints and exclusive use of every device that is taken."""
    for placement in held.plan.placements:
        yield from stopping(held, held.asks[placement.reference], placement.device)


def _exclusive(held: AuditedPlan) -> Iterator[Finding]:
    """A device is taken once; a shareable one once by each request; admin access looks away.

    Rules: docs/semantics.md 3.11.5, 3.5.1.
    """
    for first, second in combinations(held.plan.placements, 2):
        if first.device != second.device:
            continue
        if first.reference == second.reference:
            # The parts of a split request are requests of their own, and so are those that a manifest numbers.
            numbered = first.manifest_request != second.manifest_request and held.shareable(first.device)
            if not numbered and not is_split(held, first.reference):
                yield broken("taken-twice", first.device, f"request {first.reference} takes it twice")
        elif not held.shareable(first.device) and not _looks_away(held, first, second):
            yield broken("taken-twice", first.device, f"{first.reference} and {second.reference} both take it")


def _looks_away(held: AuditedPlan, first: Placement, second: Placement) -> bool:
    """Say whether the later of two claims of a pod takes the same device with `adminAccess`."""
    order = {claim: at for at, claim in enumerate(held.claims)}
    early, late = sorted((first, second), key=lambda placement: order[placement.claim])
    return early.claim != late.claim and held.asks[late.reference].admin_access


def _served(held: AuditedPlan) -> Iterator[Finding]:
    """`count`, `allocationMode`, `firstAvailable` and the limit of 32 devices."""
    for claim in held.claims:
        if len(mine := [p for p in held.plan.placements if p.claim == claim]) > MAX_DEVICES:
            yield broken("limit", claim or "claim", f"{len(mine)} devices are more than {MAX_DEVICES}")
    for request in held.plan.sketch.requests:
        used = [reference for reference in held.taken if split_request(reference)[0] == request.name]
        if len(used) != 1:
            yield broken("alternative", request.name, f"it is served in {len(used)} ways")
            continue
        ask, have = held.asks[used[0]], len(held.taken[used[0]])
        wanted = len(all_devices(held, ask)) if ask.all_devices else ask.count
        if have != wanted and not is_split(held, used[0]):
            yield broken("count", ask.reference, f"{have} devices are taken, {wanted} are asked for")


def _listed(held: AuditedPlan) -> Iterator[Finding]:
    """Every request for all is listed before any search, also as an alternative that is never reached.

    Rules: docs/semantics.md 3.4.7, 3.4.8.
    """
    for ask in held.asks.values():
        if ask.all_devices:
            yield from looks_at_every(held, ask)


def _tied_to_node(held: AuditedPlan) -> Iterator[Finding]:
    """`allocation.nodeSelector`: what the claims of the pod demand of its node, those allocated before too.

    Rule: docs/semantics.md 3.12.
    """
    node = held.cluster.node_named(held.plan.node)
    for claim in held.plan.allocated_claims:
        selector = claim.status.allocation.node_selector if claim.status.allocation else None
        if selector is not None and not node_matches(selector, node):
            yield broken("node", claim.metadata.name, f"the claim is allocated where node {node.name} is not")
    for name in held.claims:
        for placement in held.of_claim(name):
            item = held.published[placement.device]
            own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
            if own.node_name is not None or item.device.binds_to_node:
                break
            if own.node_selector is not None and len(own.node_selector.node_selector_terms) != 1:
                yield broken("node", placement.device, "its node selector has several terms: the pod is given up")
                break


_RULES = (_eligible, _exclusive, capacity_kept, counters_kept, _served, _listed, _tied_to_node, check_goals)
"""What holds for kube-scheduler's first fit as well; links it need not keep, as a manifest cannot say all of them."""
