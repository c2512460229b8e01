"""The answer to a drawing: its sentence, its figures, and the document with devices, goals, nodes and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dra_lab.findings import sentence_case
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS, GoalValue
from dra_lab.model.headroom import NodeFit
from dra_lab.model.placement import FirstFit, FirstFitStatus, Start
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.topology.locality import Locality, Place, localities
from dra_lab.words.document import Column, Detail, Lines, Part, Picture, Sentence, Table, Words, as_text, printable
from dra_lab.words.drawing_words import request_sentence
from dra_lab.words.facts import (
    FIRST_FITS,
    FIT_WORDS,
    counted,
    goal_proof,
    goal_words,
    proof_words,
    search_end,
    sentence,
    telling,
)
from dra_lab.words.reason_words import (
    blocking_lines,
    finding_lines,
    reasons_parts,
    regret_parts,
    shortfall_item,
    suggestion_item,
)
from dra_lab.words.verdict import cause, scheduler_sentences

NAMES = 8
"""Nodes that serve a claim alike and are named on a screen: `plan.fitting_nodes` and `plan.node_classes` have all."""

MOST_SUGGESTIONS = 3
"""Suggestions in the short form of an answer, the best first."""


def plan_text(plan: Plan, cluster: Cluster | None = None, *, names: int | None = None, detail: Detail = "all") -> str:
    """Return the answer as plain text; see `detailed_parts`."""
    return as_text(detailed_parts(plan, cluster, names=names, detail=detail)) + "\n"


def detailed_parts(
    plan: Plan, cluster: Cluster | None = None, *, names: int | None = None, detail: Detail
) -> Iterator[Part]:
    """Yield as much of the answer as is wanted; see `plan_parts` for all of it, `short_parts` for the short form."""
    if detail == "all":
        yield from plan_parts(plan, cluster, names=names)
    elif detail == "short":
        yield from short_parts(plan, cluster)
    else:
        yield Sentence(answer_sentence(plan, cluster))


def short_parts(plan: Plan, cluster: Cluster | None = None) -> Iterator[Part]:
    """Yield the short answer: sentence, devices, first cause, first suggestions, and the option that shows more."""
    yield Sentence(answer_sentence(plan, cluster))
    yield devices_table(plan, cluster)
    if plan.fits:
        yield Words("-v shows the goals with their proof, the bandwidth with its sources, and the nodes.")
    elif plan.status is not PlanStatus.EMPTY:
        causes = [sentence(line) for line in blocking_lines(plan.reasons)] if plan.reasons else []
        yield Lines("What is in the way", causes[:1])
        yield Lines("Suggestions", [suggestion_item(suggestion) for suggestion in plan.suggestions[:MOST_SUGGESTIONS]])
        yield Words("-v shows all reasons and suggestions, and the nodes.")


def plan_parts(
    plan: Plan, cluster: Cluster | None = None, *, picture: str = "", names: int | None = None
) -> Iterator[Part]:
    """Yield the answer: sentence, picture, devices, goals with proof, nodes, reasons, suggestions, findings.

    Args:
        plan: The plan.
        cluster: Its cluster, for the models and places of the devices.
        picture: HTML that is shown below the sentence.
        names: How many of the nodes that serve the claim alike are named; None names all.
    """
    yield Sentence(answer_sentence(plan, cluster))
    yield Words(request_sentence(plan.sketch, cluster))
    yield Picture(picture)
    yield devices_table(plan, cluster)
    yield goals_table(plan)
    yield from regret_parts(plan.regrets)
    yield Lines("Nodes", [*_nodes(plan, names)])
    yield Lines("Reasons", [shortfall_item(shortfall) for shortfall in plan.shortfalls])
    yield from reasons_parts(plan.reasons)
    yield Lines("Suggestions", [suggestion_item(suggestion) for suggestion in plan.suggestions])
    yield finding_lines(plan.findings)


# ---------------------------------------------------------------- the sentence


def answer_sentence(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return the answer in one to three short sentences.

    With the cluster it can say what is not known of the devices in use. Text from the cluster may be in it: escape it
    where it is shown.
    """
    if not plan.fits:
        return printable(" ".join(_no_fit(plan, cluster)))
    values = ", ".join([*map(goal_words, telling(plan.goals)), proof_words(plan)])
    return printable(" ".join((_where(plan, cluster), f"Best on {plan.node}: {values}.", *scheduler_sentences(plan))))


def headline(plan: Plan, cluster: Cluster | None = None, named: Callable[[str], str] = str) -> str:
    """Return the answer where its figures stand beside it: where it fits and which node is best, or the cause.

    `named` gives the name under which a node is shown beside it.
    """
    if plan.status is PlanStatus.INFEASIBLE:
        return printable(_misfit_words(plan, cluster))
    if not plan.fits:
        return answer_sentence(plan, cluster)
    return printable(f"{_where(plan, cluster, brief=True)} Best on {named(plan.node)}, {proof_words(plan)}.")


def _misfit_words(plan: Plan, cluster: Cluster | None) -> str:
    why = cause(plan, cluster) or "No node can serve it."
    begins_with_a_name = why.partition(" ")[0].rstrip(",:") in {shortfall.node for shortfall in plan.shortfalls}
    return f"Does not fit. {why if begins_with_a_name else sentence_case(why)}"


def _no_fit(plan: Plan, cluster: Cluster | None) -> Iterator[str]:
    reason = plan.shortfalls[0].message if plan.shortfalls else ""
    if plan.status is PlanStatus.EMPTY:
        yield allocated_words(plan) or "Nothing is drawn yet."
    elif plan.status is PlanStatus.NOT_CHECKED:
        yield f"Not checked: {sentence(reason)}"
    elif plan.status is PlanStatus.STOPPED:
        yield f"Not answered: {sentence(reason or _no_time(plan))}"
    else:
        yield _misfit_words(plan, cluster)
        yield from _help(plan)


def allocated_words(plan: Plan) -> str:
    """Return where the allocated claims of a pod let it run, "" for a plan without such claims."""
    names = [claim.metadata.name for claim in plan.allocated_claims]
    if not names:
        return ""
    which = f"Its claims {listed(names)} are" if len(names) > 1 else f"Its claim {names[0]} is"
    nodes = "any node" if plan.admitted is None else some(sorted(plan.admitted))
    return f"{which} allocated already, and the pod may run on {nodes}."


def _no_time(plan: Plan) -> str:
    unknown = sum(len(c.nodes) for c in plan.node_classes if c.fit is NodeFit.UNKNOWN)
    return f"there was not enough time; {counted(unknown, 'node')} not decided, raise the time limit"


def _help(plan: Plan) -> Iterator[str]:
    idle = len(plan.fitting_idle_nodes)
    waiting = next((c.title for c in plan.reasons.relaxations if c.kind == "idle"), "") if plan.reasons else ""
    # Where the first suggestion is to wait, it tells the same number of nodes.
    if idle and not (waiting and plan.suggestions and plan.suggestions[0].title == waiting):
        yield f"It would fit on {counted(idle, 'node')} if nothing else were running."
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


def _where(plan: Plan, cluster: Cluster | None, *, brief: bool = False) -> str:
    total = sum(len(node_class.nodes) for node_class in plan.node_classes)
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
    when = f" now{when_idle}" if cluster is None or _any_held(cluster) else ""
    if cluster is not None and not cluster.claims_known:
        when = " if nothing is in use (no claims were read)"
    elif cluster is not None and cluster.claims_in_part:
        when = f" if other namespaces use nothing (their claims were not read){when_idle}"
    return f"Fits on {now:,} of {counted(total, 'node')}{when}."


def _any_held(cluster: Cluster) -> bool:
    """Say whether any claim holds devices; else "now" would be no other time than idle."""
    return any(claim.status.allocation is not None for claim in cluster.claims)


# ---------------------------------------------------------------- the tables


def devices_table(plan: Plan, cluster: Cluster | None = None) -> Table:
    """Return the devices of a plan: for which request, the model and the places, and what is taken of a shared one."""
    here = localities(cluster, plan.node) if cluster is not None and plan.node in cluster.node_by_name else {}
    rows = []
    for placement in plan.placements:
        takes = ", ".join(f"{key} {amount}" for key, amount in placement.consumed.items())
        locality = here.get(placement.device)
        places = _places(locality) if here else ("", "", "")
        name = placement.device.device if locality is None else locality.name
        rows.append((placement.reference, name, *places, takes, str(placement.device)))
    columns = ("request", "device", "model", "NUMA node", "PCIe root", "takes", "published as")
    return Table(columns, rows, f"Devices on {plan.node}")


def _places(locality: Locality | None) -> tuple[str, str, str]:
    if locality is None:
        return "", "not known", "not known"
    return locality.label, place_words(locality.numa_node, "not known"), place_words(locality.pcie_root, "not known")


def place_words(place: Place | None, unknown: str = "") -> str:
    """Return a place with the remark that it is derived; `unknown` where there is none."""
    if place is None:
        return unknown
    return f"{place.value} (derived)" if place.derived else str(place.value)


GOAL_COLUMNS = (
    Column(name="goal"),
    Column("goal", "meaning"),
    Column("best"),
    Column("proof"),
    Column(name="best"),
    Column(name="bound"),
    Column(name="proven"),
    Column(name="unknown"),
    *(Column(name) for name in FIRST_FITS.values()),
    Column(name="manifest"),
    Column(name="plain"),
    Column(name="regret"),
    Column(name="plain_regret"),
)


def goals_table(plan: Plan) -> Table:
    """Return the goals: the plan's value and proof, and kube-scheduler's two values on the same node."""
    rows = []
    for goal in plan.goals:
        unknown = f" ({goal.unknown} of unknown place)" if goal.unknown else ""
        fits = (plan.first_fit, plan.first_fit_plain)
        values = [found.value(goal.goal) if found is not None else None for found in fits]
        worse = [None if value is None or goal.at_most else value - goal.value for value in values]
        shown = [reached(goal, found) for found in fits]
        exact = [goal.value, goal.bound, goal.proven, goal.unknown]
        head = [goal.goal, GOAL_WORDS[goal.goal].meaning, f"{goal.words}{unknown}", goal_proof(goal)]
        rows.append([*head, *exact, *shown, *values, *worse])
    return Table(GOAL_COLUMNS, rows, "Goals, most important first (smaller is better)")


def reached(goal: GoalValue, found: FirstFit | None) -> str:
    """Return what kube-scheduler reaches in a goal and how much worse that is, or what its search ended with."""
    value = found.value(goal.goal) if found is not None else None
    if found is None or found.status is not FirstFitStatus.ALLOCATED or value is None:
        return search_end(found) if found is not None else ""
    return f"{value} ({value - goal.value:+d})" if value != goal.value and not goal.at_most else str(value)


def _nodes(plan: Plan, most: int | None) -> Iterator[str]:
    for fit, word in FIT_WORDS.items():
        names = sorted(name for c in plan.node_classes if c.fit is fit for name in c.nodes)
        if names:
            left = f" and {len(names) - most:,} more" if most is not None and len(names) > most else ""
            yield f"{word}: {', '.join(names[:most])}{left}"
