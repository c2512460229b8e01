"""The plan of an allocation that was found: devices, goals recounted, what kube-scheduler would take, the regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.errors import Cancelled, SolverError, UnsupportedFeature
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedPod, Placement
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.reasons import Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.choose import Choice
from dra_lab.planner.kube_scheduler import regret_of, with_goals
from dra_lab.planner.node.goal_table import Scale, broken_links, value_placements
from dra_lab.planner.plan_findings import (
    claim_findings,
    first_fit_findings,
    placement_findings,
)
from dra_lab.planner.pod_claims import CompiledPod, compile_pod, in_claim
from dra_lab.planner.replicas import FurtherReplicas, has_damage
from dra_lab.planner.scan import Scan
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.numbered_requests import Expansion
from dra_lab.topology.locality import localities


class PodWork(Struct, frozen=True):
    """What is known once every node is decided; `cluster` is as it was given, `plan` what holds for every answer.

    `exact` says that the claim was given as a ResourceClaim: no request of it is split, also where a change is tried.
    """

    cluster: Cluster
    plan: Plan
    scan: Scan
    expansion: Expansion
    order: tuple[str, ...]
    budget: Budget
    solver: str
    choice: Choice
    exact: bool = False

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing as it was given."""
        return self.plan.sketch

    @property
    def several(self) -> bool:
        """Say whether several claims were planned together: then the drawing is the planner's own."""
        return len(self.plan.workloads[0].claims) > 1

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what holds whatever the answer is, run-time errors of selectors first."""
        return (*claim_findings(self.scan), *self.plan.findings)

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Return what could be drawn instead, not tried yet; of several claims, with all of them as one drawing."""
        from dra_lab.sketch.suggestions import suggest

        # Counts of nodes in a suggestion are exact where every node is looked at; a large cluster has no time for that.
        most, names = self.budget.sizes.tries, self.scan.rules.nodes
        if len(names) > most:
            first = [equal.nodes[0] for equal in self.scan.classes] or [fit.members[0] for fit in self.choice.classes]
            names = tuple([node for node in first if node in self.scan.kind_of][:most])
        return suggest(self.scan.cluster, self.scan.sketch, self.scan.release, nodes=names)

    def offered(self, suggestions: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """Return suggestions as they are shown; those for claims that are not one drawing cannot be applied."""
        if not self.several:
            return tuple(suggestions)
        drawn, found = self.sketch, []
        names = {request.name for request in drawn.requests}
        for one in suggestions:
            sketch = one.sketch
            if sketch is not None and drawn.claims and names.issuperset(request.name for request in sketch.requests):
                sketch = changed(sketch, name=drawn.name, config=drawn.config, claims=drawn.claims)
            else:
                sketch = None
            found.append(Suggestion(one.title, one.detail, one.source, one.selectors, sketch))
        return tuple(found)


def once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings, errors first, one for each rule and subject; what the planner itself says comes first."""
    first: dict[tuple[str, str, object], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.subject, finding.origin), finding)
    return sort_findings(first.values())


def plan_of_fit(work: PodWork) -> Plan:
    """Return the plan of an allocation that was found."""
    scan, node = work.scan, work.choice.node
    inner = scan.placements(node, work.choice.solution.taken or ())
    scale = Scale(scan.sketch, localities(scan.cluster, node), scan.devices(node), scan.paired, scan.rules.lists)
    # How a claim is written depends on all devices. To read them takes as long as to look at every node.
    compiled, plain = (
        compile_pod(scan.sketch, scan.cluster, scan.release, links=links) if scan.complete else CompiledPod()
        for links in (True, False)
    )
    fits = (_first_fit(work, compiled, scale), _first_fit(work, plain, scale))
    goals = _goals(work, scale, inner)
    inner = _taken_anyway(scale, goals, fits[0]) or inner
    findings = (
        *work.findings,
        *compiled.findings,
        *placement_findings(scan, node, inner),
        *first_fit_findings(scale, node, fits[0]),
    )
    regrets = (regret_of(*row, goals, inner, scale.places) for row in zip(("manifest", "plain"), fits, strict=True))
    unwritable = any(f.rule == "link-not-writable" for f in compiled.findings)
    name = work.plan.workloads[0].name

    def pods(devices: Sequence[Placement], values: tuple[GoalValue, ...]) -> tuple[PlacedPod, ...]:
        return (PlacedPod(name, 0, node, tuple(_drawn(work, one) for one in devices), values),) if devices else ()

    drawn_fits = [f and changed(f, pods=pods(f.placements, f.goals)) for f in fits]
    proven = work.choice.decided and work.choice.ended and work.choice.solution.proven
    return replace(
        work.plan,
        status=PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE,
        pods=pods(inner, goals),
        goals=goals,
        where=work.choice.classes,
        first_fit=drawn_fits[0],
        first_fit_plain=drawn_fits[1],
        suggestions=work.offered(work.suggestions()) if unwritable else (),
        findings=once(findings),
        regrets=tuple(regret for regret in regrets if regret is not None),
    )


def _taken_anyway(scale: Scale, goals: Sequence[GoalValue], found: FirstFit | None) -> tuple[Placement, ...]:
    """Return the devices that kube-scheduler takes, if all goals have the same values: a tie is its to break.

    The manifest may have parts of a request as requests of their own, which share devices; the request itself may not.
    """
    if found is None or not found.placements or broken_links(scale, found.placements):
        return ()
    if len({(placement.request, placement.device) for placement in found.placements}) < len(found.placements):
        return ()
    theirs, ours = ([(g.goal, g.value, g.unknown, g.at_most) for g in values] for values in (found.goals, goals))
    if theirs != ours:
        return ()
    amounts = [{k: format_quantity(parse_quantity(v)) for k, v in sorted(p.consumed.items())} for p in found.placements]
    return tuple(Placement(p.request, p.device, consumed=c) for p, c in zip(found.placements, amounts, strict=True))


def _drawn(work: PodWork, placement: Placement) -> Placement:
    """Return a placement under the name of the request in the drawing as it was given."""
    request, slash, alternative = placement.request.partition("/")
    name = work.expansion.origin.get(request, request)
    return in_claim(changed(placement, request=f"{name}{slash}{alternative}"))


def _goals(work: PodWork, scale: Scale, placements: tuple[Placement, ...]) -> tuple[GoalValue, ...]:
    """Return the goals with their proofs; the values are recounted from the placements, not taken from the solver."""
    stages = {stage.goal: stage for stage in work.choice.solution.stages}
    counted = {value.goal: value for value in value_placements(scale, placements, work.order)}
    if DAMAGE in work.order:
        lost = _damage(work, placements)
        if lost is None and DAMAGE in stages:
            # it is not known how many replicas fit, before or after: what the solver found stands
            lost = GoalValue(DAMAGE, stages[DAMAGE].value, at_most=not stages[DAMAGE].proven)
        counted |= {DAMAGE: lost} if lost is not None else {}
    goals: list[GoalValue] = []
    decided = work.choice.decided
    for goal in (goal for goal in work.order if goal in counted):
        decided = decided and (goal != DAMAGE or work.choice.ended)
        value, stage = counted[goal], stages.get(goal)
        if stage is not None and (stage.proven or goal != DAMAGE) and value.value != stage.value:
            raise SolverError(
                f"goal {goal!r}: the solver says {stage.value}, the placements have {value.value}; "
                "please report the claim and the cluster"
            )
        if decided:
            bound, proven = (stage.bound, stage.proven) if stage is not None else (None, False)
        else:
            # Only one fact is known of nodes that were not examined: no goal goes below 0.
            least = all(goal.proven for goal in goals)
            bound, proven = (0 if least else None), least and value.value == 0
        goals.append(replace(value, bound=bound, proven=proven))
    return tuple(goals)


def _damage(work: PodWork, placements: Sequence[Placement]) -> GoalValue | None:
    """Return how many fewer replicas fit after some placements, None where that is not known or not counted."""
    if not has_damage(work.scan.sketch) or work.budget.reached:
        return None
    return FurtherReplicas(work.scan, work.choice.node, work.budget, work.solver, work.choice.counts).lost_to(
        placements
    )


def _first_fit(work: PodWork, compiled: CompiledPod, scale: Scale) -> FirstFit | None:
    """Return what first fit takes on the node, with its goals; None if it was not simulated, or was cancelled."""
    if work.budget.cancelled or not compiled.claims:
        return None
    left = work.budget.left
    shares = work.budget.shares
    seconds = shares.compare if left is None else max(shares.compare_at_least, min(left, shares.compare))
    work.budget.report_step("first fit", "what kube-scheduler would take on this node")
    cluster, node, claims = work.scan.cluster, work.choice.node, compiled.resource_claims
    try:
        verdict = first_fit(cluster, node, claims, work.scan.release, time_limit=seconds, cancel=work.budget.cancel)
    except Cancelled:
        return None
    except UnsupportedFeature as error:
        # The planner looks at the devices that match, the scheduler at all: what it cannot know there is not known.
        return FirstFit(FirstFitStatus.STOPPED, (), (), str(error), 0, recorded=False)
    found = with_goals(verdict, compiled, scale, work.order)
    if not found.placements or DAMAGE not in work.order:
        return found
    lost = _damage(work, found.placements)
    goals = {goal.goal: goal for goal in (*found.goals, *([lost] if lost else []))}
    return changed(found, goals=tuple(goals[goal] for goal in work.order if goal in goals))
