"""The answer in one sentence, as it stands above the planner and in the first line of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import MOST_COUNTED
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.plan import DAMAGE, FirstFit, FirstFitStatus, GoalValue, NodeFit, Plan, PlanStatus, Start
from dra_lab.pictures.words import counted
from dra_lab.topology.locality import localities

GIVES_UP = "manifest-gives-up"
"""Rule of the findings that say on which nodes kube-scheduler gives up the pod (`exports.replay`)."""

NOT_ALLOCATED = "manifest-not-allocated"
"""Rule of the finding that kube-scheduler allocates no devices on any node, although an allocation exists."""

OPEN = frozenset(("manifest-undecided", "manifest-not-replayed"))
"""Rules of the findings that say that a search for the manifest did not end here (`exports.replay`)."""

RUN_TIME_ERROR = "selector-run-time-error"
"""Rule of the findings that name devices on which a selector fails (`planner.plan_findings`)."""

_IN_OWN_WORDS = ("alternatives", "preferences", "numa", "roots", "damage", "unpaired")
"""Goals whose sentence says more than their number."""

_BREAKS = re.compile(r"\s*[\r\n\t]\s*")
COUNTING_ENDS = f"counting ends at {MOST_COUNTED:,} on a node"
"""The remark beside a number of replicas that is a cap."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return text from a cluster in one line, without what steers a terminal or turns the direction of writing."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text))


def never_starts(findings: Iterable[Finding]) -> Finding | None:
    """Return the finding with which no pod starts, None if there is none."""
    errors = (f for f in findings if f.severity is Severity.ERROR)
    return next((f for f in errors if f.rule in (GIVES_UP, NOT_ALLOCATED)), None)


def start_of(findings: Sequence[Finding]) -> Start:
    """Return whether a pod starts, by the findings of kube-scheduler's search on every node (`exports.replay`)."""
    if never_starts(findings) is not None:
        return Start.NEVER
    return Start.OPEN if any(f.rule in OPEN for f in findings) else Start.STARTS


def with_start(plan: Plan, findings: Sequence[Finding]) -> Plan:
    """Return a plan as the answer after kube-scheduler's search on every node, of which these are the findings.

    The plan itself knows kube-scheduler's search on its own node only; a finding knows that of every node. An error on
    any node ends the whole attempt, so that an answer with "fits" beside it would contradict itself.
    """
    if not plan.fits:
        return plan
    plan, found = replace(plan, start=start_of(findings)), never_starts(findings)
    if found is None or plan.first_fit is None or plan.first_fit.status is FirstFitStatus.ERROR:
        return plan
    status, message = FirstFitStatus.NONE, ""
    if found.rule == GIVES_UP:
        status, message = FirstFitStatus.ERROR, f"on {found.subject}"
    return replace(plan, first_fit=FirstFit(status, message=message, recorded=plan.first_fit.recorded))


def searched(plan: Plan, findings: Iterable[Finding]) -> tuple[Plan, tuple[Finding, ...]]:
    """Return a plan and its findings as the answer after kube-scheduler's search on every node.

    The findings of this search are among `findings`. If none of them is against the plan, no pod of it meets a device
    on which a selector fails, so that this is a warning.
    """
    findings = tuple(findings)
    plan = with_start(plan, findings)
    ended = not any(f.rule in OPEN or f.rule == GIVES_UP for f in findings)
    if plan.first_fit is None or plan.first_fit.status is not FirstFitStatus.ALLOCATED or not ended:
        return plan, findings
    return plan, sort_findings(unmet(f) if f.rule == RUN_TIME_ERROR else f for f in findings)


def unmet(finding: Finding) -> Finding:
    """Return a finding about a selector that fails on devices as a warning: the search ends before it meets one."""
    message = f"{finding.message}. On the nodes as they are, the search ends before it meets one; later it may not"
    return replace(finding, severity=Severity.WARNING, message=message)


def answer_sentence(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return the answer in one to three short sentences.

    With the cluster it can say how many of the GPUs are paired; without, only how many are not. Text from the cluster
    may be in it: escape it where it is shown.
    """
    if plan.status is PlanStatus.EMPTY:
        return "Nothing is drawn yet."
    if plan.status is PlanStatus.NOT_CHECKED:
        return printable(f"Not checked: {sentence(plan.shortfalls[0].message)}")
    if plan.status is PlanStatus.STOPPED:
        reason = plan.shortfalls[0].message if plan.shortfalls else _no_time(plan)
        return printable(f"Not answered: {sentence(reason)}")
    if plan.status is PlanStatus.INFEASIBLE:
        return printable(" ".join(_misfit(plan)))
    parts = [
        _where(plan, cluster),
        f"Best on {plan.node}: {', '.join((*_values(plan, plan.goals, cluster), _proof(plan)))}.",
    ]
    parts += _kube_scheduler(plan, cluster)
    return printable(" ".join(parts))


def _no_time(plan: Plan) -> str:
    unknown = sum(len(c.nodes) for c in plan.node_classes if c.fit is NodeFit.UNKNOWN)
    return f"there was not enough time; {counted(unknown, 'node')} not decided, raise the time limit"


def headline(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return the answer where its figures stand beside it: where it fits and which node is best, or the reason."""
    if not plan.fits:
        return answer_sentence(plan, cluster)
    return printable(f"{_where(plan, cluster)} Best on {plan.node}.")


def _where(plan: Plan, cluster: Cluster | None) -> str:
    total = sum(len(node_class.nodes) for node_class in plan.node_classes)
    now, idle = len(plan.fitting_nodes), len(plan.fitting_idle_nodes)
    if plan.start is Start.NEVER or (plan.first_fit is not None and plan.first_fit.status is FirstFitStatus.ERROR):
        # devices for it exist, and no pod starts: "fits" would say that one does
        return f"An allocation exists on {now:,} of {counted(total, 'node')}, but no pod starts with this manifest."
    if plan.start is Start.OPEN:
        exists = f"An allocation exists on {now:,} of {counted(total, 'node')}"
        return f"{exists}; whether a pod starts with this manifest is not known."
    when_idle = f" ({idle:,} when idle)" if idle > now else ""
    # without claims nobody knows what is in use now, and with those of some namespaces not all of it
    when = f" now{when_idle}"
    if cluster is not None and not cluster.claims_known:
        when = " if nothing is in use (no claims were read)"
    elif cluster is not None and cluster.claims_in_part:
        when = f" as far as claims were read, which are those of some namespaces{when_idle}"
    return f"Fits on {now:,} of {counted(total, 'node')}{when}."


def _misfit(plan: Plan) -> Iterator[str]:
    reason = plan.shortfalls[0].message if plan.shortfalls else "no node can serve it"
    yield f"Does not fit: {sentence(reason)}"
    idle = len(plan.fitting_idle_nodes)
    waiting = next((c.title for c in plan.reasons.relaxations if c.kind == "idle"), "") if plan.reasons else ""
    # Where the first suggestion is to wait, it tells the same number of nodes.
    if idle and not (waiting and plan.suggestions and plan.suggestions[0].title == waiting):
        yield f"It would fit on {counted(idle, 'node')} with nothing in use."
    if plan.suggestions:
        yield sentence(_offer(plan))
    elif plan.shortfalls and plan.shortfalls[0].advice:
        yield sentence(plan.shortfalls[0].advice)


def _offer(plan: Plan) -> str:
    """Return the first suggestion with the number of nodes that it brings, where it was tried."""
    title = plan.suggestions[0].title
    tried = plan.reasons.relaxations if plan.reasons else ()
    gain = next((c for c in tried if c.title == title and c.fitting), None)
    return title if gain is None else f"{title}: it then fits on {gain.fitting} of {counted(gain.total, 'node')}"


def sentence(text: str) -> str:
    """Return a text with a full stop where it has no end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _proof(plan: Plan) -> str:
    if plan.status is PlanStatus.OPTIMAL:
        return "proven as far as places are known" if any(goal.unknown for goal in plan.goals) else "proven"
    open_goals = [_open(goal) for goal in plan.goals if not goal.proven]
    unknown = sum(len(c.nodes) for c in plan.node_classes if c.fit is NodeFit.UNKNOWN)
    open_goals += [f"{counted(unknown, 'node')} not decided"] if unknown else []
    if not open_goals and plan.goal(DAMAGE) is None:
        open_goals.append(f"the goal {DAMAGE} was not counted")
    return f"best so far, not proven ({', '.join(open_goals)})" if open_goals else "best so far, not proven"


def _open(goal: GoalValue) -> str:
    """Say how far a goal may still be from the best: `numa 2, bound 1`."""
    if goal.bound is None:
        return goal.goal
    return f"{goal.goal} {goal.words}, bound {goal.bound}, gap {goal.value - goal.bound}"


def _values(plan: Plan, goals: tuple[GoalValue, ...], cluster: Cluster | None, *, only: bool = False) -> Iterator[str]:
    """Yield the values of the goals that mean something for this claim, in words; `only` where it differs."""
    value = {goal.goal: goal.value for goal in goals}
    unknown = {goal.goal: goal.unknown for goal in goals}
    if value.get("alternatives"):
        yield f"alternatives' ranks {value['alternatives']}"
    if value.get("preferences"):
        yield f"{counted(value['preferences'], 'preference')} broken"
    # none of GPUs, NICs and CPUs, of which places are counted: nothing to say
    if value.get("numa") or (only and "numa" in value):
        yield places_words(value["numa"], unknown["numa"], "NUMA node")
    if value.get("roots"):
        yield places_words(value["roots"], unknown["roots"], "root")
    if only and value.get("damage"):
        yield f"{value['damage']} fewer of the same claim fit beside it"
    if "unpaired" in value:
        yield from _paired(plan, value["unpaired"], cluster)
    for goal in (goal for goal in goals if goal.goal not in _IN_OWN_WORDS and goal.value):
        yield GOAL_WORDS[goal.goal].counted(goal.value)


def places_words(value: int, unknown: int, place: str) -> str:
    """Return the places that are known and the devices whose place is not; each of these counts as one in the goal."""
    if not unknown:
        return counted(value, place)
    devices = f"{place} of {counted(unknown, 'device')} unknown"
    return f"{counted(value - unknown, place)}, {devices}" if value > unknown else devices


def _paired(plan: Plan, unpaired: int, cluster: Cluster | None) -> Iterator[str]:
    if cluster is not None and plan.node in cluster.node_by_name:
        here = localities(cluster, plan.node)
        kinds = [here[p.device].kind for p in plan.placements if p.device in here]
        gpus, nics = kinds.count("gpu"), kinds.count("nic")
        if gpus and nics:
            yield f"{gpus - unpaired} of {gpus} GPUs paired"
            return
    if unpaired:
        yield f"{counted(unpaired, 'GPU')} without a NIC of {'its' if unpaired == 1 else 'their'} own"


def _kube_scheduler(plan: Plan, cluster: Cluster | None) -> Iterator[str]:
    told, plain = plan.first_fit, plan.first_fit_plain
    if told is not None and links_say_nothing(plan):
        yield f"kube-scheduler: {_taken(plan, told, cluster)}."
        return
    if told is not None and (told.status is not FirstFitStatus.ALLOCATED or regret(plan, told)):
        yield f"kube-scheduler with this manifest: {_taken(plan, told, cluster)}."
    if plain is not None:
        yield f"kube-scheduler without links: {_taken(plan, plain, cluster)}."


def links_say_nothing(plan: Plan) -> bool:
    """Say whether both first fits of a claim without links end alike: its manifest says nothing of places."""
    told, plain = plan.first_fit, plan.first_fit_plain
    if told is None or plain is None or plan.sketch.links:
        return False
    return (told.status, told.goals, told.message) == (plain.status, plain.goals, plain.message)


def _taken(plan: Plan, found: FirstFit, cluster: Cluster | None) -> str:
    if found.status is FirstFitStatus.NONE:
        return "nothing"
    if found.status is FirstFitStatus.ERROR:
        return f"gives up the pod ({found.message})" if found.message else "gives up the pod"
    if found.status is FirstFitStatus.STOPPED:
        return f"not known, stopped after {found.steps:,} steps"
    worse = regret(plan, found)
    if not worse:
        return "as good"
    return ", ".join(_values(plan, tuple(g for g in found.goals if g.goal in worse), cluster, only=True)) or "worse"


def regret(plan: Plan, found: FirstFit) -> dict[str, int]:
    """Return, by goal, how much worse kube-scheduler's choice is than the plan's (negative: better); zeros left out."""
    values = {goal.goal: goal.value for goal in found.goals}
    differences = {g.goal: values[g.goal] - g.value for g in plan.goals if g.goal in values}
    return {goal: difference for goal, difference in differences.items() if difference}
