"""The answer to a question in one to four short sentences: verdict, proof, what kube-scheduler does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GANGS, UNPLACED
from dra_lab.model.headroom import NodeFit
from dra_lab.model.placement import FirstFitStatus, Start
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import printable
from dra_lab.words.facts import counted, goal_meaning, goal_words, proof_words, sentence, telling
from dra_lab.words.moves_document import moves_sentence
from dra_lab.words.scheduler_sentences import scheduler_sentences
from dra_lab.words.verdict import cause
from dra_lab.words.workload_words import values_words


def answer_sentence(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return the answer in one to four short sentences.

    With the cluster it can say what is not known of the devices in use. Text from the cluster may be in it: escape it
    where it is shown.
    """
    moves = printable(moves_sentence(plan))
    if moves and plan.status is PlanStatus.EMPTY:
        return moves
    same = map(printable, (*_same_values(plan), *_inferred(plan)))
    scheduler = map(printable, scheduler_sentences(plan)) if plan.fits else ()
    parts = (moves, verdict_sentence(plan, cluster), *same, proof_sentence(plan), *scheduler)
    return " ".join(filter(None, parts))


def headline(plan: Plan, cluster: Cluster | None = None, named: Callable[[str], str] = str) -> str:
    """Return the answer where its figures stand beside it: where it fits and which node is best, or the cause.

    `named` gives the name under which a node is shown beside it.
    """
    if plan.status is PlanStatus.INFEASIBLE:
        return printable(_no_place(plan, cluster))
    if not plan.fits or not plan.node_classes:
        return answer_sentence(plan, cluster)
    return printable(f"{_where(plan, cluster, brief=True)} Best on {named(plan.node)}, {proof_words(plan)}.")


def verdict_sentence(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return whether everything has a place and where, or why not; of the proof only whether more fit."""
    reason = plan.shortfalls[0].message if plan.shortfalls else ""
    if plan.status is PlanStatus.EMPTY:
        words = allocated_words(plan) or ("Nothing is drawn yet." if plan.replicas else "No replicas are requested.")
    elif plan.status is PlanStatus.NOT_CHECKED:
        words = f"Not checked: {sentence(reason)}"
    elif plan.status is PlanStatus.STOPPED:
        unknown = sum(len(fit.members) for fit in plan.node_classes if fit.verdict is NodeFit.UNKNOWN)
        nodes = f"; {counted(unknown, 'node')} not decided, raise the time limit" if unknown else ""
        words = f"Not answered: {sentence(reason or f'there was not enough time{nodes}')}"
    elif plan.status is PlanStatus.INFEASIBLE:
        words = " ".join((_no_place(plan, cluster), *_help(plan)))
    else:
        words = _where(plan, cluster) if plan.node_classes else _placed(plan)
    return printable(words)


def verdict_and_values(plan: Plan, cluster: Cluster | None = None) -> tuple[str, str]:
    """Return the verdict with the values that all pods of the only gang use, and what else is to say of such values."""
    verdict, chosen = verdict_sentence(plan, cluster), {values_words(one) for one in plan.same}
    if len(plan.workloads) > 1 or len(chosen) != 1:
        return verdict, printable(" ".join((*_same_values(plan), *_inferred(plan))))
    values = chosen.pop()
    how = "on" if values.startswith("rail") else "with the"
    return f"{verdict.removesuffix('.')}, {how} {values}.", printable(" ".join(_inferred(plan)))


def allocated_words(plan: Plan) -> str:
    """Return where the allocated claims of a pod let it run, "" for a plan without such claims."""
    names = [claim.metadata.name for claim in plan.allocated_claims]
    if not names:
        return ""
    which = f"Its claims {listed(names)} are" if len(names) > 1 else f"Its claim {names[0]} is"
    nodes = "any node" if plan.admitted is None else some(sorted(plan.admitted))
    return f"{which} allocated already, and the pod may run on {nodes}."


def _no_place(plan: Plan, cluster: Cluster | None) -> str:
    if len(plan.workloads) == len(plan.gangs) == 1:
        without = [sentence(sentence_case(one.message)) for one in plan.shortfalls if one.rule == "same"]
        return " ".join((_no_domain(plan, plan.gangs[0]), *without))
    if plan.replicas == 1:
        why = cause(plan, cluster) or "No node can serve it."
        begins_with_a_name = why.partition(" ")[0].rstrip(",:") in {shortfall.node for shortfall in plan.shortfalls}
        return f"Does not fit. {why if begins_with_a_name else sentence_case(why)}"
    least = plan.goal(UNPLACED)
    few = plan.objective == "nodes" and not (least and least.value == plan.replicas)
    misfit = "The replicas do not all fit" if few else "Not one replica fits"
    reasons = f": {plan.shortfalls[0].message}" if plan.shortfalls else ""
    none = " You asked for all on the fewest nodes, so none is placed." if few else ""
    return sentence(f"{misfit}, proven{reasons}") + none


def _no_domain(plan: Plan, gang: Workload) -> str:
    best = max(plan.where, key=lambda fit: fit.pods.value, default=None)
    level = "node" if gang.level in HOSTS else gang.level
    if not gang.level:
        pods = f"; they have {best.pods.value:,} of {best.size:,} pods" if best is not None else ""
        return f"The nodes do not have all {gang.least:,} pods of the gang at once, proven{pods}."
    every = f"all {gang.size:,} pods of the gang" if gang.least == gang.size else f"the least {gang.least:,} pods"
    if best is None:
        return f"No {level} has {every}, proven: no node is in one."
    return f"No {level} has {every}, proven. {'/'.join(best.members)} has {best.pods.value:,}."


def _help(plan: Plan) -> Iterator[str]:
    idle = len(plan.fitting_idle_nodes)
    waiting = next((c.title for c in plan.reasons.relaxations if c.kind == "idle"), "") if plan.reasons else ""
    # Where the first suggestion is to wait, it has the same number of nodes.
    if idle and not (waiting and plan.suggestions and plan.suggestions[0].title == waiting):
        yield f"It would fit on {counted(idle, 'node')} if nothing else were running."
    if plan.suggestions:
        title = plan.suggestions[0].title
        tried = plan.reasons.relaxations if plan.reasons else ()
        gain = next((c for c in tried if c.title == title and c.fitting), None)
        more = f": it then fits on {gain.fitting} of {counted(gain.total, 'node')}" if gain else ""
        yield sentence(f"{title}{more}")
    elif plan.shortfalls and plan.shortfalls[0].advice:
        yield sentence(plan.shortfalls[0].advice)


def _where(plan: Plan, cluster: Cluster | None, *, brief: bool = False) -> str:
    total = sum(len(fit.members) for fit in plan.node_classes)
    now, idle = len(plan.fitting_nodes), len(plan.fitting_idle_nodes)
    exists = f"An allocation exists on {now:,} of {counted(total, 'node')}"
    if plan.start is Start.NEVER or (plan.first_fit is not None and plan.first_fit.status is FirstFitStatus.ERROR):
        # devices for it exist, and no pod starts: "fits" would say that one does
        return f"{exists}, but no pod starts with this manifest."
    if plan.start is Start.OPEN:
        return f"{exists}; whether a pod starts with this manifest is not known."
    every = "all " if idle == total and total > 1 else ""
    when_idle = f" (on {every}{idle:,} if nothing else were running)" if idle > now and not brief else ""
    # without all claims it is not known what is in use now
    in_use = cluster is None or any(claim.status.allocation is not None for claim in cluster.claims)
    when = f" now{when_idle}" if in_use else ""  # else "now" would be no other time than idle
    if cluster is not None and not cluster.claims_known:
        when = " if nothing is in use (no claims were read)"
    elif cluster is not None and cluster.claims_in_part:
        when = f" if other namespaces use nothing (their claims were not read){when_idle}"
    return f"Fits on {now:,} of {counted(total, 'node')}{when}."


def _placed(plan: Plan) -> str:
    if len(plan.workloads) == len(plan.gangs) == len(plan.placed_gangs) == plan.replicas == 1:
        placed, pods = plan.placed_gangs[0], counted(len(plan.pods), "pod")
        where = f" in {'/'.join(placed.domain)}" if placed.domain else ""
        if len(plan.pods) < plan.gangs[0].size:
            pods = f"{len(plan.pods):,} of {counted(plan.gangs[0].size, 'pod')}"
        return f"The gang fits{where}: {pods} on {counted(len(placed.nodes), 'node')}."
    if len(plan.single_pods) == plan.replicas == 1:
        return f"Fits on {plan.node}."
    if plan.start is Start.NEVER:
        # "placed" would say that the pods run
        counts = f"An allocation exists for {len(plan.pods):,} of {plan.replicas:,} replicas"
        return f"{counts}, but not every pod starts with its manifest."
    not_known = "Whether every pod starts with its manifest is not known. " if plan.start is Start.OPEN else ""
    counts = _gang_counts(plan) if plan.gangs else f"{len(plan.pods):,} of {plan.replicas:,} replicas placed"
    return f"{not_known}{counts} on {counted(len(plan.nodes), 'node')}{_more(plan)}."


def _same_values(plan: Plan) -> Iterator[str]:
    """Yield which values all pods of a replica use."""
    for one in dict.fromkeys(replace(one, replica=0) for one in plan.same):
        yield f"All pods of {one.workload} use the {values_words(one)} ({one.attribute})."


def _inferred(plan: Plan) -> Iterator[str]:
    for attribute in dict.fromkeys(one.attribute for one in plan.same if one.inferred):
        yield f"The rails are inferred from {attribute}, because no device publishes its rail."


def _gang_counts(plan: Plan) -> str:
    gangs = sum(gang.replicas for gang in plan.gangs)
    others = plan.replicas - gangs
    other = f" and {len(plan.single_pods):,} of {counted(others, 'other pod')}" if others else ""
    return f"{len(plan.placed_gangs):,} of {counted(gangs, 'gang')}{other} placed, {counted(len(plan.pods), 'pod')}"


def _more(plan: Plan) -> str:
    missing = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, UNPLACED)]
    if not any(goal.value for goal in missing):
        return ""
    if all(goal.proven for goal in missing):
        return "; no more fit, proven"
    bounds = [goal.bound for goal in missing]
    if plan.gangs or None in bounds:
        return "; more may fit, not proven"
    return f"; at most {plan.replicas - sum(bound or 0 for bound in bounds):,} could, not proven"


def proof_sentence(plan: Plan, most: int | None = None) -> str:
    """Return what is proven of the alignment, of many pods with up to `most` open goals; "" if nothing is placed."""
    if plan.goals and not plan.sums_over_pods:
        values = ", ".join([*map(goal_words, telling(plan.goals)), proof_words(plan)])
        return printable(f"Best on {plan.node}: {values}.")
    if not plan.pods or not plan.goals or plan.start is Start.NEVER:
        return ""
    placed = plan.goals[0] if plan.gangs else plan.goal(UNPLACED)
    left_open = [
        f"{goal_meaning(goal.goal)} {goal.value:,}" + ("" if goal.bound is None else f" (at least {goal.bound:,})")
        for goal in plan.goals
        if not goal.proven and goal is not placed
    ]
    if left_open:
        return printable(f"Best so far, not proven: {', '.join(left_open[:most])}.")
    return "Every goal is proven optimal." if all(goal.proven for goal in plan.goals) else ""
