"""A scheduler's choice for a gang and its regret as a document, and as JSON has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from dra_lab.findings import sentence_case
from dra_lab.model.gang import GANG_GOALS
from dra_lab.model.gang_replay import GangRegret, GangReplay, GangStep, GoalRange
from dra_lab.words.document import Column, Detail, Part, Sentence, Table, Words, printable
from dra_lab.words.facts import counted, sentence
from dra_lab.words.gang_steps import short_names, step_sentence


def replay_sentence(replay: GangReplay) -> str:
    """Return whether a scheduler finds a place for a gang, and why: `Kueue 0.19: no. Kueue does not admit it ...`."""
    why = sentence(replay.sentence)
    return printable(f"{replay.scheduler}: {replay.verdict.value}. {sentence_case(why)}")


def replay_parts(replay: GangReplay, detail: Detail = "short") -> Iterator[Part]:
    """Yield whether a scheduler finds a place, then its steps; with "all" the domains and the source of each step."""
    yield Sentence(replay_sentence(replay))
    if detail == "answer":
        return
    rows = [
        (number, printable(step_sentence(replay, step)), step.source if detail == "all" else "")
        for number, step in enumerate(replay.steps, 1)
    ]
    yield Table((Column("step", "step"), Column("what happens", "what"), Column("source", "source")), rows, "Steps")
    if detail == "all":
        yield from (_domains_table(number, step) for number, step in enumerate(replay.steps, 1) if step.domains)


def _domains_table(number: int, step: GangStep) -> Table:
    names = short_names(step.domains)
    cells = [
        (name, row.pods, row.slices or None, row.taken or None, "leader" if row.leader else "")
        for name, row in zip(names, step.domains, strict=True)
    ]
    notes = [f"{step.more:,} more are not listed."] if step.more else []
    return Table(("domain", "room in pods", "slices", "gets", ""), cells, f"Step {number}", notes)


def replay_json(replay: GangReplay) -> dict[str, Any]:
    """Return a scheduler's choice as JSON has it; each step with its sentence and source."""
    found: dict[str, Any] = to_builtins(replay)
    found["steps"] = [
        {**row, "sentence": step_sentence(replay, step), "source": step.source}
        for row, step in zip(found["steps"], replay.steps, strict=True)
    ]
    return found


def regret_sentence(regret: GangRegret) -> str:
    """Return how far a scheduler's choice stays behind the best plan, in one or two sentences."""
    if regret.unknown:
        return printable(f"The cost of {regret.scheduler} is unknown: {sentence(regret.unknown)}")
    best = f"{regret.best:,} of {counted(regret.wanted, 'gang')}"
    proven = ", proven" if regret.proven else ""
    if not regret.best and not regret.most:
        none = "the gang" if regret.wanted == 1 else f"any of {regret.wanted:,} gangs"
        return printable(f"Neither the best plan nor {regret.scheduler} starts {none}{proven}.")
    if regret.gangs == (0, 0):
        begin = f"{regret.scheduler} starts as many gangs as the best plan, {best}."
        costs = [words for goal in regret.goals if (words := _goal_words(goal))]
        if costs:
            return printable(f"{begin} Its choice is worse in: {'; '.join(costs)}.")
        return printable(f"{begin} No goal is worse." if regret.goals else begin)
    return printable(
        f"{regret.scheduler} starts {_range(regret.least, regret.most)}; the best plan starts {best}{proven}."
    )


def _goal_words(goal: GoalRange) -> str:
    if not goal.regret[1]:
        return ""
    return f"{GANG_GOALS.get(goal.goal, goal.goal)} {_range(goal.least, goal.most)} instead of {goal.best:,}"


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def regret_parts(regret: GangRegret) -> Iterator[Part]:
    """Yield how far a scheduler's choice stays behind the best plan, and each goal beside that of the plan."""
    yield Sentence(regret_sentence(regret))
    if regret.unknown:
        return
    rows: list[tuple[object, ...]] = [
        ("gangs that start", _range(regret.least, regret.most), regret.best),
        ("pods of these gangs", _range(*regret.pods), regret.best_pods),
    ]
    shown = [one for one in regret.goals if one.most or one.best]
    rows += [(GANG_GOALS.get(one.goal, one.goal), _range(one.least, one.most), one.best) for one in shown]
    heads = (Column("what counts", "goal"), Column(regret.scheduler, "scheduler"), Column("best plan", "best"))
    yield Table(heads, rows)
    if not regret.goals and regret.best:
        yield Words("The goals are not compared, because the two do not place as many pods.")


def regret_json(regret: GangRegret) -> dict[str, Any]:
    """Return a regret as JSON has it."""
    found: dict[str, Any] = to_builtins(regret)
    return {**found, "sentence": regret_sentence(regret)}
