"""What IPython shows of answers about fleets: HTML without scripts, plain text for a terminal."""

from __future__ import annotations

import pytest

from dra_lab.model.goals import GoalValue
from dra_lab.model.headroom import Bounded, Fit, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.placement import PlacedPod
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.workload import Workload

HOSTILE = "<script>alert(1)</script>"
FLEET = Plan(
    PlanStatus.FEASIBLE,
    (Workload(HOSTILE, (), replicas=3),),
    pods=tuple(PlacedPod(HOSTILE, at, f"n{at // 2}", ()) for at in range(3)),
    goals=(GoalValue("unplaced", 0, 0, proven=True), GoalValue("nodes", 2, 1)),
    shortfalls=(Shortfall(HOSTILE, HOSTILE, HOSTILE, advice=HOSTILE),),
)
ANSWERS = [
    (FLEET, "3 of 3 replicas placed on 2 nodes"),
    (Headroom(HOSTILE, Bounded(2, 5), (Fit("w", "node", (HOSTILE, "b"), Bounded(1, 2)),)), "at least 2 more"),
    (LargestJob(HOSTILE, 2, 4, Bounded(3, 9), HOSTILE), "at most 4 times"),
    (Stranded((HOSTILE,), (StrandedKind("gpu", 8, 5, 7),)), "3 of 8 free GPUs"),
]


@pytest.mark.parametrize(("answer", "words"), ANSWERS)
def test_an_answer_about_a_fleet_is_shown_in_words_and_escaped(shell, answer, words):
    """Sentence in both forms; names are text."""
    shown, _ = shell.display_formatter.format(answer)
    assert words in shown["text/html"]
    assert words in shown["text/plain"]
    assert "<script" not in shown["text/html"]


def test_nodes_that_hold_the_same_are_one_row(shell):
    """A plan over many nodes stays a small table: what a node holds, and how many do."""
    many = Plan(
        PlanStatus.FEASIBLE,
        (Workload("w", (), replicas=600),),
        pods=tuple(PlacedPod("w", n, f"n{n % 300}", ()) for n in range(600)),
    )
    shown, _ = shell.display_formatter.format(many)
    assert shown["text/html"].count("<tr>") < 8
    assert "2 × w" in shown["text/html"]
