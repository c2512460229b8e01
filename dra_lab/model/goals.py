"""The goals of a claim, most important first: one row a goal, with its words wherever a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from dra_lab.errors import InputError


class GoalWords(Struct, frozen=True):
    """The names of one goal.

    `meaning` says what its value counts, `of_fleet` what the sum over the replicas of a fleet counts ("": a fleet does
    not have it). `one` and `many` stand behind a number. `fixed` goals keep their place whatever a person prefers.
    `why` says what lets kube-scheduler do worse than the plan ("": the goal is not about the devices that are taken).
    """

    meaning: str
    of_fleet: str
    one: str
    many: str
    fixed: bool = False
    why: str = ""

    def counted(self, value: int) -> str:
        """Return a value with its words: `1 NUMA node`."""
        return f"{value:,} {self.one if value == 1 else self.many}"


GOAL_WORDS: Mapping[str, GoalWords] = {
    "alternatives": GoalWords(
        "how far down the list of alternatives",
        "how far down the lists of alternatives (sum)",
        "step down the list of alternatives",
        "steps down the list of alternatives",
        fixed=True,
        why="kube-scheduler uses the better alternatives of an earlier request first",
    ),
    "preferences": GoalWords(
        "preferred links broken",
        "preferred links broken",
        "preferred link broken",
        "preferred links broken",
        fixed=True,
        why="kube-scheduler tries every alternative of a later request before it changes the devices of an earlier one",
    ),
    "numa": GoalWords(
        "NUMA nodes spanned",
        "NUMA nodes spanned (sum over replicas)",
        "NUMA node",
        "NUMA nodes",
        why="no constraint of the claim keeps its devices on one NUMA node",
    ),
    "unpaired": GoalWords(
        "GPUs without their own NIC on the same PCIe root",
        "GPUs without their own NIC on the same PCIe root",
        "GPU unpaired",
        "GPUs unpaired",
        why="nothing in the claim pairs them",
    ),
    "roots": GoalWords(
        "PCIe roots spanned by GPUs and NICs",
        "PCIe roots spanned by GPUs and NICs (sum over replicas)",
        "PCIe root",
        "PCIe roots",
        why="no constraint of the claim keeps its devices on fewer PCIe roots",
    ),
    "damage": GoalWords(
        "copies that this plan prevents on its node",
        "",
        "copy fewer fits beside it",
        "copies fewer fit beside it",
    ),
}
"""The goals by name, all minimised; `planner/node/goal_table.py` says how each is counted.

Goal 1 (replicas placed) and goal 8 (nodes used) are those of fleets: a claim is one replica on one node. `damage` is
how many fewer replicas of the same claim fit on the node, every preferred link kept, once this one is there.
"""

GOALS: Mapping[str, str] = {name: words.meaning for name, words in GOAL_WORDS.items()}
"""The goals for one claim on one node, most important first, with what their values count."""

FIXED_GOALS = tuple(name for name, words in GOAL_WORDS.items() if words.fixed)
"""The goals that come first whatever a person prefers; the others may be put in any order."""

DAMAGE = "damage"


def named_goals(goals: Sequence[str]) -> tuple[str, ...]:
    """Return goals one by one; a single text is read as on the command line, `roots,numa`."""
    return tuple(filter(None, map(str.strip, goals.split(",")))) if isinstance(goals, str) else tuple(goals)


def goal_order(goals: Sequence[str]) -> tuple[str, ...]:
    """Return all goals in order of importance: FIXED_GOALS, those given, the rest. Raises InputError for others."""
    goals = named_goals(goals)
    for goal in goals:
        if goal not in GOALS:
            raise InputError(f"goal {goal!r} is not known; use {', '.join(g for g in GOALS if g not in FIXED_GOALS)}")
    return tuple(dict.fromkeys((*FIXED_GOALS, *goals, *GOALS)))


@dataclass(frozen=True, slots=True)
class GoalValue:
    """One goal's value in a plan.

    `value` counts what GOALS says. `bound` is the best value that could still exist (None when unknown). `proven` is
    True when no better value exists, the goals before it being kept. `unknown` counts devices whose locality is
    unknown, each of which counts as a place of its own. `at_most` says that `value` is only the most that it can be: of
    `damage`, where counting the replicas took too long. `of` is how many devices the value is a part of: of `unpaired`,
    the GPUs of a claim that asks for GPUs and NICs; 0 where it is not counted.
    """

    goal: str
    value: int
    bound: int | None = None
    proven: bool = False
    unknown: int = 0
    at_most: bool = False
    of: int = field(default=0, compare=False)

    @property
    def words(self) -> str:
        """Return the value as it is shown: `2`, or `at most 2`."""
        return f"at most {self.value}" if self.at_most else str(self.value)


UNPLACED = "unplaced"
NODES = "nodes"

FLEET_GOALS: Mapping[str, str] = {
    UNPLACED: "replicas without a place",
    **{name: words.of_fleet for name, words in GOAL_WORDS.items() if words.of_fleet},
    NODES: "nodes used",
}
"""The goals of a fleet, most important first, all minimised; each is a sum over the placed replicas."""

GANGS = "gangs"
BEYOND = "beyond"
LEVELS = "levels"
DOMAINS = "domains"

GANG_GOALS: Mapping[str, str] = {
    GANGS: "gangs without a place",
    BEYOND: "pods beyond the minimum without a place",
    UNPLACED: "ordinary replicas without a place",
    "alternatives": GOAL_WORDS["alternatives"].of_fleet,
    "preferences": GOAL_WORDS["preferences"].of_fleet,
    LEVELS: "domains of preferred levels (sum over gangs)",
    **{name: words.of_fleet for name, words in GOAL_WORDS.items() if words.of_fleet},
    DOMAINS: "domains of required levels with a gang",
    NODES: "nodes used",
}
"""The goals of a plan with gangs, most important first, all minimised.

The first three are there once for every priority, from high to low: `gangs 10`, `beyond 10`, `gangs 0` and so on. With
one priority they have no number.
"""
