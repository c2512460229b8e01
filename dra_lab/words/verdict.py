"""The verdict over a drawing: what is asked for, where it fits, what kube-scheduler does, and up to four figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import DAMAGE, GOAL_WORDS, GoalValue
from dra_lab.model.headroom import Headroom
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Scarcity, Shortfall
from dra_lab.model.sketch import Ask, How, Link, asks
from dra_lab.sketch.links import LEVEL_WORDS, listed
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import clean
from dra_lab.words.drawing_words import Noun, nouns, plural, selector_words
from dra_lab.words.facts import (
    COUNTING_ENDS,
    GLOSSARY,
    counted,
    goal_number,
    goal_proof,
    goal_words,
    links_say_nothing,
    proof_words,
    regret,
    sentence,
    telling,
)
from dra_lab.words.scheduler_sentences import Simulation, does

Tone = Literal["plain", "ok", "warn", "error"]


class Tile(Struct, frozen=True, omit_defaults=True):
    """One figure of a verdict: the number, its caption, whether it is good news, and what explains it."""

    value: str
    caption: str
    tone: Tone = "plain"
    title: str = ""
    lines: tuple[str, ...] = ()


# ---------------------------------------------------------------- why it does not fit


def cause(plan: Plan, cluster: Cluster | None = None) -> str:
    """Return in one or two short sentences why a claim does not fit; "" where no reason is known yet."""
    if not plan.shortfalls:
        return ""
    first = plan.shortfalls[0]
    known = {ask.reference: ask for request in plan.sketch.requests for ask in asks(request)}
    if first.rule == "link":
        link = next((link for link in plan.sketch.links if link.name == first.subject), None)
        cause = _link_cause(first, link, nouns(plan.sketch, cluster)) if link is not None else ""
        return cause or sentence(first.message)
    if first.subject not in known or not first.node:
        return sentence(first.message)
    noun = _of_devices(nouns(plan.sketch, cluster)[first.subject], known[first.subject])
    if first.rule == "class" and not first.available and first.widest:
        from dra_lab.sketch.palette import palette

        names = sorted({entry.device_class for entry in palette(cluster) if entry.in_cluster}) if cluster else []
        there = f" This cluster has {listed(names)}." if 0 < len(names) <= 3 else ""
        return f"No node has a device of class {known[first.subject].device_class_name}.{there}"
    return _short_of(plan, first, noun, cluster) or sentence(first.message)


def _of_devices(noun: Noun, ask: Ask) -> Noun:
    """Return what is counted where devices are: of `32 CPUs` the devices that have them."""
    if not noun.amount or len(ask.capacity) != 1:
        return noun
    amount = next(iter(ask.capacity.values()))
    return Noun(f"{noun.short} device with {amount} {plural(noun.short)}", f"{noun.short} device")


_COUNTS = re.compile(r"Request \S+ needs [^:]*\(node [^()]*\)")


def _short_of(plan: Plan, first: Shortfall, noun: Noun, cluster: Cluster | None) -> str:
    # a message that says more than the counts is needed whole
    if _COUNTS.fullmatch(first.message) is None:
        return ""
    scarce = next((s for s in plan.reasons.scarcity if s.request == first.subject), None) if plan.reasons else None
    if scarce is not None and scarce.kind == "shortage":
        return f"You ask for {noun.many(scarce.needed)}; {_there(first, scarce)}."
    if scarce is not None and scarce.kind == "fragmentation":
        free = "free " if cluster is None or cluster.claims_known else ""
        none = f"The most that one node has is {scarce.most:,}." if scarce.most else "Not one of them has any."
        return f"No node has {scarce.needed:,} {free}{noun.full if scarce.needed == 1 else plural(noun.full)}. {none}"
    test = {
        "class": "are of that class",
        "count": "are of that class",
        "selector": "match",
        "taint": "have no taint that keeps the pod away",
        "in-use": "are free",
        "capacity": "have enough capacity left",
    }.get(first.rule)
    return (
        f"{first.node} is short of {plural(noun.full)}: {first.available:,} of {first.needed:,} {test}." if test else ""
    )


def _there(first: Shortfall, scarce: Scarcity) -> str:
    """Return how many devices there are for a request; they are free only if others are in use."""
    if scarce.matching == 0:
        return "no device of the cluster matches"
    if first.rule == "capacity":
        return f"{scarce.free:,} in the whole cluster {'has' if scarce.free == 1 else 'have'} enough capacity left"
    if scarce.free == scarce.matching:
        return f"the whole cluster has {scarce.free:,}"
    return (
        f"{scarce.free:,} {'is' if scarce.free == 1 else 'are'} free in the whole cluster"
        if scarce.free
        else ("none is free in the whole cluster")
    )


def _link_cause(first: Shortfall, link: Link, names: Mapping[str, Noun]) -> str:
    place = LEVEL_WORDS.get(link.where, link.where)
    shorts = [names[end].short for end in link.requests]
    if not first.node:
        return ""
    if link.how is How.PAIRWISE:
        of = f"of {listed(shorts)} on the same {place}"
        if first.widest:
            if not first.available:
                return f"No node has a pair {of}."
            return f"No node has {first.needed} pairs {of}. The most that one node has is {first.available}."
        return f"{first.node}, the nearest node, has {first.available} of {first.needed} pairs {of}."
    if link.how is How.TOGETHER and first.widest:
        return f"No {place} has all {first.needed} devices. The most on one are {first.available}."
    if link.how is How.TOGETHER:
        return f"{first.node}, the nearest node, has {first.available} of {first.needed} devices on one {place}."
    return f"{first.node} has {first.available} {place}s for {first.needed} devices that must all be apart."


class Fix(Struct, frozen=True):
    """A change that makes a claim fit: what to do, what it brings, and the number of the suggestion that does it."""

    title: str
    brings: str
    number: int


MOST_FIXES = 3
"""Changes that stand in a verdict."""


MAKE_ROOM = -1
"""The number of the fix that moves running pods."""


def fixes(plan: Plan, room: Plan | None = None) -> tuple[Fix, ...]:
    """Return the changes that make a claim fit and can be applied: pods that make `room`, then those of the drawing.

    The closest to the drawing comes first.
    """
    found = []
    every = room.moves if room is not None and room.fits else ()
    moved = [move for move in every if not move.drained and move not in plan.moves]
    if moved and room is not None:
        nodes = some(sorted({move.node_from for move in moved}))
        leave = "it leaves" if len(moved) == 1 else "they leave"
        fewest = ", no fewer" if room.least_moves == len(moved) else ""
        found.append(Fix(f"Move {counted(len(moved), 'pod')}{fewest}", clean(f"it fits; {leave} {nodes}"), MAKE_ROOM))
    for number, suggestion in enumerate(plan.suggestions):
        if suggestion.sketch is None and not suggestion.selectors:
            continue
        title = _SELECTOR.sub(
            lambda found: f"Drop the selector “{selector_words(found[1]) or '…'}” of", suggestion.title
        )
        brings = suggestion.detail.split(". ")[0].removeprefix("It then ").rstrip(".")
        found.append(Fix(clean(title), clean(brings), number))
    return tuple(found[:MOST_FIXES])


_SELECTOR = re.compile(r"^Leave out the selector (.*) of\b")


# ---------------------------------------------------------------- the figures


def _if_idle(plan: Plan) -> Iterator[str]:
    now, idle, total = (
        len(plan.fitting_nodes),
        len(plan.fitting_idle_nodes),
        sum(len(fit.members) for fit in plan.node_classes),
    )
    if idle > now:
        every = "all " if idle == total and total > 1 else ""
        yield f"The claim fits on {now:,} nodes now, and would fit on {every}{idle:,} if nothing else were running."


def tiles(
    plan: Plan, headroom: Headroom | None = None, *, counting: bool = False, simulated: Simulation | None = None
) -> tuple[Tile, ...]:
    """Return the figures of a verdict: the first goal that says most, copies that fit, kube-scheduler's two choices.

    `headroom` is how many copies fit, None if that is not known, perhaps because they are being counted.
    `simulated` is what kube-scheduler does on every node that it may choose.
    """
    if not plan.fits:
        return tuple(_most(plan))
    known = [goal for goal in telling(plan.goals) if not goal.unknown]
    paired = next((goal for goal in known if goal.goal == "unpaired" and goal.of > goal.value), None)
    first = paired or next(iter(known), None)
    if first is not None:
        number, caption = goal_number(first)
        tone: Tone = "ok" if first.goal == "unpaired" and not first.value else "plain"
        here = f"On {plan.node}: {goal_words(first)}, {goal_proof(first)}."
        found = [Tile(number, caption, tone, goal_title(first), (GLOSSARY[first.goal], here))]
    else:
        value, tone = ("optimal", "ok") if plan.proven else ("not proven", "warn")
        proof = sentence(f"This plan: {proof_words(plan)}")
        found = [Tile(value, "this plan", tone, "Proof", (GLOSSARY["proof"], proof))]
    if headroom is not None:
        found.append(_copies(plan, headroom))
    elif counting:
        found.append(Tile("?", "copies fit, counting", title="Copies that fit", lines=(GLOSSARY["copies"],)))
    fits = [("manifest", "scheduler, this YAML", plan.first_fit)]
    if not links_say_nothing(plan):
        fits.append(("plain", "scheduler, no links", plan.first_fit_plain))
    for name, caption, fit in fits:
        if name == "manifest" and simulated is not None and simulated.achieves is False:
            title = "kube-scheduler with this YAML"
            found.append(Tile("differs", caption, "warn", title, (GLOSSARY[name], simulated.sentence)))
        elif fit is not None:
            found.append(_fit_tile(plan, first, name, caption, fit))
    return tuple(found)


def goal_title(goal: GoalValue) -> str:
    """Return what a goal is called above its figure."""
    words = _TITLES.get(goal.goal, GOAL_WORDS[goal.goal].many)
    return f"{words[0].upper()}{words[1:]}"


_TITLES: Mapping[str, str] = {"unpaired": "GPUs paired with a NIC", "damage": "Copies that no longer fit beside it"}


def _copies(plan: Plan, headroom: Headroom) -> Tile:
    value = f"{headroom.count.value:,}"
    if headroom.count.bound is None:
        proof, caption = f"At least {value}: {COUNTING_ENDS}.", "copies fit, at least"
    elif headroom.proven:
        proof, caption = f"Proven: no more than {value} fit.", "copies fit, proven"
    else:
        proof = f"At least {value}, at most {headroom.count.bound:,}: the time for counting was up."
        caption = "copies fit, at least"
    return Tile(value, caption, "plain", "Copies that fit", (GLOSSARY["copies"], proof, *_if_idle(plan)))


def _fit_tile(plan: Plan, first: GoalValue | None, name: str, caption: str, found: FirstFit) -> Tile:
    title = "kube-scheduler with this YAML" if name == "manifest" else "kube-scheduler without the links"
    lines = (GLOSSARY[name], f"It {does(plan, found)}.")
    if found.status is not FirstFitStatus.ALLOCATED:
        value = {FirstFitStatus.NONE: "none", FirstFitStatus.ERROR: "gives up"}.get(found.status, "not known")
        tone: Tone = "warn" if found.status is FirstFitStatus.STOPPED else "error"
        return Tile(value, caption, tone, title, lines)
    worse = regret(plan, found)
    goals = [goal for goal in found.goals if goal.goal in worse and goal.goal != DAMAGE]
    mine = first.goal if first is not None else ""
    shown = next((g for g in goals if g.goal == mine), next(iter(goals), None))
    if shown is None:
        same = next((goal for goal in found.goals if goal.goal == mine), None)
        return Tile(goal_number(same)[0] if same is not None else "same", caption, "ok", title, lines)
    number, words = goal_number(shown)
    text = caption if shown.goal == mine else f"{words}, {caption}"
    return Tile(number or "worse", text, "warn", title, lines)


def _most(plan: Plan) -> Iterator[Tile]:
    first = short_of_pairs(plan) or (plan.shortfalls[0] if plan.shortfalls else None)
    if plan.status is not PlanStatus.INFEASIBLE or first is None or not first.node or first.needed <= first.available:
        return
    if first.rule == "links":  # it counts links and no devices
        return
    what = "pairs" if first.rule == "link" and _link_of(plan, first).how is How.PAIRWISE else "devices"
    where = "most on one node" if first.widest else "on the nearest node"
    lines = (GLOSSARY["most"], f"{first.node} can serve {first.available:,} of {counted(first.needed, what[:-1])}.")
    yield Tile(f"{first.available:,} of {first.needed:,}", f"{what}, {where}", "warn", "How near it is", lines)


def _link_of(plan: Plan, shortfall: Shortfall) -> Link:
    return next(link for link in plan.sketch.links if link.name == shortfall.subject)


def short_of_pairs(plan: Plan) -> Shortfall | None:
    """Return how many pairs of a one-to-one link the nearest node has, if a claim does not fit for want of them."""
    if plan.status is not PlanStatus.INFEASIBLE:
        return None
    short = (found for found in plan.shortfalls if found.rule == "link" and found.node)
    return next(
        (found for found in short if found.available < found.needed and _link_of(plan, found).how is How.PAIRWISE), None
    )


def pairs_note(plan: Plan, node: str) -> str:
    """Return for the picture of the nearest node how many pairs it has, and how many find no place; "" for others."""
    found = short_of_pairs(plan)
    if found is None or found.node != node:
        return ""
    link = _link_of(plan, found)
    place, left = LEVEL_WORDS.get(link.where, link.where), found.needed - found.available
    return (
        f"{found.available:,} of {counted(found.needed, 'pair')} of {listed(link.requests)} fit here, each on one "
        f"{place}. No place is left for {counted(left, 'pair')}."
    )
