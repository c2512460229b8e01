"""make_plan: one claim on every node: the best allocation with its proof, or the reasons why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dra_lab.authoring.classes import with_documented_classes
from dra_lab.authoring.expand import Expansion
from dra_lab.authoring.suggestions import suggest
from dra_lab.errors import InputError, SolverError
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import (
    DAMAGE,
    FirstFit,
    GoalValue,
    NodeClass,
    NodeFit,
    Placement,
    Plan,
    PlanStatus,
    Shortfall,
    Suggestion,
    goal_order,
)
from dra_lab.model.quantity import format_quantity
from dra_lab.model.regret import Regret
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.compare import compare_first_fit
from dra_lab.planner.eligible import Rules, eligibility
from dra_lab.planner.plan_findings import (
    binding_findings,
    claim_findings,
    failure_shortfalls,
    first_fit_findings,
    placement_findings,
    unknown_root_findings,
)
from dra_lab.planner.pods import (
    CompiledPod,
    Planned,
    compile_pod,
    expand_pod,
    held_cluster,
    in_claim,
    pod_findings,
    read_claims,
)
from dra_lab.planner.progress import Limits, Progress
from dra_lab.planner.refuse import refuse_claim
from dra_lab.planner.regret import regret_of
from dra_lab.planner.scan import Scan, scan_nodes
from dra_lab.planner.values import Scale, value_placements
from dra_lab.planner.views import views_of
from dra_lab.topology.locality import Locality, localities

if TYPE_CHECKING:
    from dra_lab.planner.choose import Choice

_FIRST_FIT_SECONDS = 3.0
_LEAST_SECONDS = 0.05
_MOST_NODES = 200


def make_plan(
    cluster: Cluster,
    claims: Planned,
    *,
    release: KubernetesRelease,
    node: str = "",
    goals: Sequence[str] = (),
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Plan:
    """Return the best allocation of a drawing on a cluster, proven goal by goal, or why it does not fit.

    `claims` is one drawing, or the claims of one pod: a sequence, a mapping from names, a Workload, or PodClaims.
    Claims that hold devices already keep them and tie the pod to their nodes.
    The node is the one with the best values, then the first by name; `node` pins one. `goals` puts goals in front of
    the others, after `alternatives` and `preferences` (`model.plan.goal_order`). At the end of `time_limit` (seconds)
    or when `cancel` is set, the best answer so far comes back, marked as not proven; with none at all the status is
    STOPPED. `progress` is called from this thread.
    Raises SketchError for an inconsistent drawing, InputError for an unknown node or goal, CelCompileError for a
    selector that does not compile, UnsupportedFeature for a rule of DRA that is not known here yet, SolverError.
    """
    began = time.monotonic()
    pod = read_claims(claims)
    sketch = pod.sketch
    order = goal_order(goals)
    if node and node not in cluster.node_by_name:
        where = cluster.name or "the cluster"
        raise InputError(f"there is no node {node!r} in {where}; leave the node open or pick one")
    allowed = pod.allowed(cluster)
    findings = (*pod_findings(pod, allowed), *cluster.findings)
    plan = Plan(PlanStatus.EMPTY, sketch, cluster.name, str(release), findings=findings)
    plan = replace(plan, claims=pod.claims if pod.several else {}, allocated_claims=pod.allocated)
    if not sketch.requests:
        return plan
    if allowed is not None and (not allowed or (node and node not in allowed)):
        return _elsewhere(plan, cluster, node)
    refuse_claim(sketch)
    limits = Limits(None if time_limit is None else began + time_limit, cancel, progress)
    complete = with_documented_classes(held_cluster(cluster, pod))
    expansion = expand_pod(pod, complete, release)
    rules = Rules(complete, expansion.sketch, release, views_of(complete, release).matching, only=allowed)
    for problem in (p for ask in rules.asks for p in rules.matching.problems(ask)):
        raise problem
    scan = scan_nodes(rules, limits)
    # The solver takes half a second to import; only who plans waits for it.
    from dra_lab.planner.choose import choose_node

    choice = choose_node(scan, order, limits, solver=solver, pinned=node)
    work = _Work(cluster, plan, scan, expansion, order, limits, solver, choice)
    plan = _fitting(work) if choice.node else _misfit(work, node)
    return replace(plan, seconds=time.monotonic() - began)


@dataclass(frozen=True)
class _Work:
    """What is known once every node is decided; `cluster` is as it was given, `plan` what holds for every answer."""

    cluster: Cluster
    plan: Plan
    scan: Scan
    expansion: Expansion
    order: tuple[str, ...]
    limits: Limits
    solver: str
    choice: Choice

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing as it was given."""
        return self.plan.sketch


def _elsewhere(plan: Plan, cluster: Cluster, node: str) -> Plan:
    """Return the plan of a pod that an allocated claim keeps from all nodes that are asked about."""
    where = f"on node {node}" if node else "on any node of the cluster"
    reasons = tuple(
        Shortfall(
            "node",
            claim.metadata.name,
            f"claim {claim.metadata.name} is allocated, and its nodeSelector does not let the pod run {where}",
            node=node,
            advice="Leave the node open, or free the claim.",
        )
        for claim in plan.allocated_claims
    )
    classes = (NodeClass(cluster.node_names, NodeFit.NO, fits_idle=False),)
    return replace(plan, status=PlanStatus.INFEASIBLE, node_classes=classes, shortfalls=reasons)


def _fitting(work: _Work) -> Plan:
    """Return the plan of an allocation that was found."""
    scan, node = work.scan, work.choice.node
    inner = _placements(work)
    scale = Scale(scan.sketch, localities(scan.cluster, node), scan.devices(node), scan.paired, scan.rules.lists)
    compiled = compile_pod(scan.sketch, scan.cluster, scan.release)
    plain = compile_pod(scan.sketch, scan.cluster, scan.release, links=False)
    fits = (_first_fit(work, compiled, scale), _first_fit(work, plain, scale))
    findings = (
        *_findings(work),
        *compiled.findings,
        *placement_findings(scan, node, inner),
        *unknown_root_findings(scan, node, inner),
        *binding_findings(scan, node, inner),
        *first_fit_findings(scale, node, fits[0]),
    )
    goals = _goals(work, scale, inner)
    proven = work.choice.decided and work.choice.ended and work.choice.solution.proven
    return replace(
        work.plan,
        status=PlanStatus.OPTIMAL if proven else PlanStatus.FEASIBLE,
        node=node,
        placements=tuple(_drawn(work, placement) for placement in inner),
        goals=goals,
        node_classes=work.choice.classes,
        first_fit=_renamed(work, fits[0]),
        first_fit_plain=_renamed(work, fits[1]),
        suggestions=_suggestions(work) if any(f.rule == "link-not-writable" for f in compiled.findings) else (),
        findings=_once(findings),
        regrets=_regrets(goals, inner, fits, scale.places),
    )


def _regrets(
    goals: Sequence[GoalValue],
    placements: Sequence[Placement],
    fits: tuple[FirstFit | None, FirstFit | None],
    places: Mapping[DeviceID, Locality],
) -> tuple[Regret, ...]:
    found = (
        regret_of(against, goals, placements, fit, places)
        for against, fit in zip(("manifest", "plain"), fits, strict=True)
    )
    return tuple(regret for regret in found if regret is not None)


def _placements(work: _Work) -> tuple[Placement, ...]:
    """Return the devices taken, in the claim's order, for the requests of the expanded drawing."""
    found = eligibility(work.scan.rules, work.choice.node)
    return tuple(
        Placement(
            found.asks[ask].ask.reference,
            device,
            consumed={k: format_quantity(v) for k, v in sorted(found.asks[ask].uses.get(device, {}).items())},
        )
        for ask, device in work.choice.solution.taken or ()
    )


def _drawn(work: _Work, placement: Placement) -> Placement:
    """Return a placement under the name of the request in the drawing as it was given."""
    request, slash, alternative = placement.request.partition("/")
    name = work.expansion.origin.get(request, request)
    return in_claim(replace(placement, request=f"{name}{slash}{alternative}"))


def _goals(work: _Work, scale: Scale, placements: tuple[Placement, ...]) -> tuple[GoalValue, ...]:
    """Return the goals with their proofs; the values are recounted from the placements, not taken from the solver."""
    stages = {stage.goal: stage for stage in work.choice.solution.stages}
    counted = {value.goal: value for value in value_placements(scale, placements, work.order)}
    if DAMAGE in work.order and (lost := _damage(work, placements)) is not None:
        counted[DAMAGE] = lost
    goals, decided = [], work.choice.decided
    for goal in (goal for goal in work.order if goal in counted):
        decided = decided and (goal != DAMAGE or work.choice.ended)
        value, stage = counted[goal], stages.get(goal)
        if stage is not None and (stage.proven or goal != DAMAGE) and value.value != stage.value:
            raise SolverError(
                f"goal {goal!r}: the solver says {stage.value}, the placements have {value.value}; "
                "please report the claim and the cluster"
            )
        bound = stage.bound if decided and stage is not None else None
        goals.append(replace(value, bound=bound, proven=decided and stage is not None and stage.proven))
    return tuple(goals)


def _damage(work: _Work, placements: Sequence[Placement]) -> GoalValue | None:
    """Return how many fewer replicas fit after some placements, None where that is not known or not counted."""
    from dra_lab.planner.replicas import Others, has_damage

    if not has_damage(work.scan.sketch) or work.limits.reached:
        return None
    others = Others(work.scan, work.choice.node, work.limits, work.solver, work.choice.counts)
    (least, most), after = others.before, others.after(placements)
    return GoalValue(DAMAGE, most - after[0]) if (least, after[0]) == (most, after[1]) else None


def _first_fit(work: _Work, compiled: CompiledPod, scale: Scale) -> FirstFit | None:
    if work.limits.cancelled:
        return None
    left = work.limits.left
    seconds = _FIRST_FIT_SECONDS if left is None else max(_LEAST_SECONDS, min(left, _FIRST_FIT_SECONDS))
    work.limits.tell("first fit", "what kube-scheduler would take on this node")
    cluster, node, release = work.scan.cluster, work.choice.node, work.scan.release
    found = compare_first_fit(
        cluster, node, compiled, release, scale, work.order, time_limit=seconds, cancel=work.limits.cancel
    )
    if found is None or not found.placements or DAMAGE not in work.order:
        return found
    lost = _damage(work, found.placements)
    goals = {goal.goal: goal for goal in (*found.goals, *([lost] if lost else []))}
    return replace(found, goals=tuple(goals[goal] for goal in work.order if goal in goals))


def _renamed(work: _Work, found: FirstFit | None) -> FirstFit | None:
    if found is None:
        return None
    return replace(found, placements=tuple(_drawn(work, placement) for placement in found.placements))


def _misfit(work: _Work, pinned: str) -> Plan:
    """Return the plan of a claim that fits nowhere, or of which nothing is known yet."""
    proven = work.choice.decided
    compiled = compile_pod(work.scan.sketch, work.scan.cluster, work.scan.release)
    plan = replace(
        work.plan,
        status=PlanStatus.INFEASIBLE if proven else PlanStatus.STOPPED,
        node_classes=work.choice.classes,
        findings=_once((*_findings(work), *compiled.findings)),
    )
    if not proven:
        return plan
    from dra_lab.planner.misfit import explain_misfit
    from dra_lab.planner.reasons import Question, find_reasons
    from dra_lab.planner.relaxations import as_suggestions

    shortfalls = explain_misfit(work.scan, work.limits, solver=work.solver, pinned=pinned)
    if work.plan.allocated_claims:
        # What is held already ties the pod to nodes, which no change to the drawing would know of.
        return replace(plan, shortfalls=shortfalls)
    idle = tuple(name for name in plan.fitting_idle_nodes if not pinned or name == pinned)
    several = bool(work.plan.claims)
    drawn = work.scan.sketch if several else work.sketch
    question = Question(work.cluster, drawn, work.scan, work.limits, work.solver, pinned, idle, expanded=several)
    suggestions = _suggestions(work)
    reasons = find_reasons(question, shortfalls, suggestions)
    offered = as_suggestions(reasons.relaxations, suggestions)
    return replace(
        plan,
        shortfalls=(*failure_shortfalls(reasons.failures), *shortfalls),
        # The drawing of several claims is the planner's own: what would help is told, and not to be applied.
        suggestions=tuple(replace(s, sketch=None) for s in offered) if several else offered,
        reasons=reasons,
    )


def _suggestions(work: _Work) -> tuple[Suggestion, ...]:
    if work.plan.claims:
        return ()
    # Counts of nodes in a suggestion are exact where every node is looked at; a large cluster has no time for that.
    few = len(work.scan.cluster.node_names) <= _MOST_NODES
    nodes = () if few else tuple(equal.nodes[0] for equal in work.scan.classes)
    return suggest(work.scan.cluster, work.scan.sketch, work.scan.release, nodes=nodes)


def _findings(work: _Work) -> tuple[Finding, ...]:
    return (*claim_findings(work.scan), *work.plan.findings)


def _once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings, errors first, one for each rule and subject; what the planner itself says comes first."""
    first: dict[tuple[str, str, object], Finding] = {}
    for finding in findings:
        first.setdefault((finding.rule, finding.subject, finding.origin), finding)
    return sort_findings(first.values())
