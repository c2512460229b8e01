"""What kube-scheduler does beside a plan, in sentences: one wording for the verdict, the fleet, Compare and exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.model.placement import FirstFit, FirstFitStatus, PathShare
from dra_lab.model.plan import Plan
from dra_lab.sketch.links import listed
from dra_lab.words.facts import (
    compared_words,
    goal_meaning,
    goal_number,
    goal_words,
    links_say_nothing,
    regret,
    search_end,
)
from dra_lab.words.reason_words import measured_remark

MOST_DIFFERING = 2
"""Goals in which kube-scheduler differs that are named, the pairs first, then the most important."""

_VERBS: Mapping[str, str] = {"numa": "uses", "roots": "uses", "preferences": "leaves", "alternatives": "goes"}


class Simulation(Struct, frozen=True):
    """What our copy of kube-scheduler does with the manifests of an export, on every node that it may choose.

    `achieves` says whether it allocates every planned replica as planned, None if that is not known; `sentence` says it
    in words, and `detail` why it does something else.
    """

    achieves: bool | None
    sentence: str
    detail: str = ""


def scheduler_sentences(plan: Plan, simulated: Simulation | None = None) -> Iterator[str]:
    """Yield what kube-scheduler does beside the plan: with the manifest if that is worse, and without the links.

    If the manifest was `simulated` on every node, that replaces what happens on the node of the plan.
    """
    first_fit, plain = plan.first_fit, plan.first_fit_plain
    if plan.sums_over_pods:
        yield from _with_the_same_replicas(plan)
        return
    if simulated is not None and simulated.achieves is not None:
        yield simulated.sentence
        if plain is not None and not links_say_nothing(plan):
            yield f"Without {'your link' if len(plan.sketch.links) == 1 else 'your links'}, it {does(plan, plain)}."
        yield from _bandwidth(plan)
        return
    if first_fit is not None and links_say_nothing(plan):
        yield f"kube-scheduler {does(plan, first_fit)}."
        return
    links = "your link" if len(plan.sketch.links) == 1 else "your links"
    if first_fit is not None and plain is not None and does(plan, first_fit) == does(plan, plain):
        yield f"With or without {links}, kube-scheduler {does(plan, first_fit)}."
        yield from _bandwidth(plan)
        return
    if first_fit is not None and (first_fit.status is not FirstFitStatus.ALLOCATED or bool(regret(plan, first_fit))):
        yield f"With this YAML, kube-scheduler {does(plan, first_fit)}."
    if plain is not None:
        yield f"Without {links}, kube-scheduler {does(plan, plain)}."
    yield from _bandwidth(plan)


def _with_the_same_replicas(plan: Plan) -> Iterator[str]:
    if plan.first_fit is None:
        return
    worse = [f"{goal_meaning(goal)} {more:+,}" for goal, more in regret(plan, plan.first_fit).items()]
    difference = ", ".join(worse) or "as good"
    yield f"kube-scheduler's first fit with the same replicas{compared_words(plan)}: {difference}."
    yield from _bandwidth(plan)


def does(plan: Plan, found: FirstFit) -> str:
    """Return what kube-scheduler does: `pairs only 1 of 2 GPUs and uses 2 NUMA nodes`, or how its search ends."""
    if found.status is FirstFitStatus.STOPPED:
        steps = f" after {found.steps:,} steps" if found.steps else ""
        return f"was not followed to the end: the search was stopped{steps}"
    if found.status is FirstFitStatus.ERROR and found.message:
        return f"gives up the pod ({found.message})"
    if found.status is not FirstFitStatus.ALLOCATED:
        return search_end(found)
    return differing_words(plan.goals, found.goals)


def differing_words(best: Sequence[GoalValue], theirs: Sequence[GoalValue]) -> str:
    """Return in which goals kube-scheduler's choice differs from the best one: `uses 2 NUMA nodes`."""
    values = {goal.goal: goal.value for goal in theirs}
    differ = [goal for goal in best if goal.goal != DAMAGE and values.get(goal.goal, goal.value) != goal.value]
    # the pairs say most
    differ.sort(key=lambda goal: goal.goal != "unpaired")
    by_verb: dict[str, list[str]] = {}
    for goal in differ[:MOST_DIFFERING]:
        reached = next(one for one in theirs if one.goal == goal.goal)
        if reached.goal == "unpaired" and reached.of:
            few = "only " if reached.value > goal.value else ""
            by_verb["pairs"] = [f"{few}{goal_number(reached)[0]} GPUs"]
        else:
            by_verb.setdefault(_VERBS.get(goal.goal, "reaches"), []).append(goal_words(reached))
    if not by_verb:
        return "picks an equally good set"
    return listed([f"{verb} {listed(words)}" for verb, words in by_verb.items()])


def _bandwidth(plan: Plan) -> Iterator[str]:
    for found in plan.regrets:
        far = [share for share in found.theirs if share.path != "root" and share.low is not None]
        if found.paths_differ and far:
            gpus = sum(share.gpus for share in far)
            keeps = "GPU keeps" if gpus == 1 else "GPUs keep"
            yield f"{gpus} {keeps} {_percent(far)} of {'its' if gpus == 1 else 'their'} bandwidth."
            yield from {measured_remark(share) for share in far} - {""}
            return


def _percent(shares: Sequence[PathShare]) -> str:
    low = min(share.low or 0.0 for share in shares)
    high = max(share.high or 0.0 for share in shares)
    return f"{100 * low:.0f} %" if low == high else f"{100 * low:.0f} to {100 * high:.0f} %"
