"""Each step of a scheduler's choice for a gang is one plain sentence."""

from __future__ import annotations

import pytest

from dra_lab.model.gang_replay import (
    GangRegret,
    GangReplay,
    GangRule,
    GangStep,
    GangVerdict,
    GoalRange,
    StepDomain,
)
from dra_lab.words.document import as_html, as_text
from dra_lab.words.gang_replay_document import regret_parts, regret_sentence, replay_parts
from dra_lab.words.gang_steps import step_sentence

RACKS = (StepDomain(("b1", "r2"), 8, taken=8), StepDomain(("b1", "r1"), 3, taken=1))
HOSTS = (StepDomain(("n1",), 2, taken=4, least=2), StepDomain(("n2",), 4, taken=4, least=4))

STEPS = {
    GangRule.TIGHTEST: (
        GangStep(GangRule.TIGHTEST, 1, 8, domains=RACKS[:1]),
        "Kueue takes the rack r2, the one with the least room that suffices.",
    ),
    GangRule.NONE_FITS: (
        GangStep(GangRule.NONE_FITS, 1, 9, domains=RACKS, fits=(8, 11)),
        (
            "No rack has room for all 9 pods; the largest has room for 8 pods. The level is required, so Kueue does "
            "not look further."
        ),
    ),
    GangRule.WIDER: (
        GangStep(GangRule.WIDER, 1, 9, domains=RACKS),
        "No rack has room for all 9 pods. The level is only preferred, so Kueue looks at the next wider level, block.",
    ),
    GangRule.SEVERAL: (
        GangStep(GangRule.SEVERAL, 1, 9, domains=RACKS, chosen=2),
        "Kueue divides all 9 pods among 2 racks: r2 (8), r1 (1).",
    ),
    GangRule.TRIED: (
        GangStep(GangRule.TRIED, 0, 8, domains=HOSTS, of=("r1",), fits=(6, 6)),
        "Placement r1: 6 of 8 pods find a node. Pod 7 finds none. The nodes with devices: n1 (2), n2 (4).",
    ),
    GangRule.MORE_TRIED: (
        GangStep(GangRule.MORE_TRIED, 0, 8, more=21, fitting=1),
        "kube-scheduler tries 21 more placements; 1 of them has room for 8 pods.",
    ),
    GangRule.SCORES: (
        GangStep(
            GangRule.SCORES,
            0,
            3,
            domains=(StepDomain(("r2",), 5, score=83), StepDomain(("r1",), 4, score=75)),
            fitting=2,
        ),
        (
            "2 placements have room: r2 (83 %), r1 (75 %). The score is the share of CPUs and memory that is then "
            "requested. r2 has the highest."
        ),
    ),
    GangRule.ONE_PLACEMENT: (
        GangStep(GangRule.ONE_PLACEMENT, 0, 4, domains=HOSTS[1:], fitting=1),
        "n2 alone has room for 4 pods, so the gang starts there.",
    ),
}


def replay(*steps: GangStep) -> GangReplay:
    """Return a replay with steps."""
    return GangReplay("Kueue 0.19", GangVerdict.NO, "no rack has room", steps=steps, levels=("block", "rack", "host"))


@pytest.mark.parametrize("rule", STEPS)
def test_a_step_in_words(rule):
    """What is counted, compared or decided, with the domains and their numbers."""
    step, words = STEPS[rule]
    assert step_sentence(replay(step), step) == words


def test_the_document_as_html_has_no_markup_of_the_cluster():
    """The name of a rack is text."""
    step = GangStep(GangRule.TIGHTEST, 1, 1, domains=(StepDomain(("<b>",), 1, taken=1),))
    assert "<b>" not in as_html(replay_parts(replay(step)))


BEHIND = GangRegret("train", "Kueue 0.19", 3, 1, 2, 3, proven=True, pods=(4, 8), best_pods=12)
LEVEL = GangRegret(
    *("train", "kube-scheduler 1.36 (PodGroup)", 2, 2, 2, 2),
    pods=(8, 8),
    best_pods=8,
    goals=(GoalRange("roots", 8, 16, 8), GoalRange("numa", 8, 8, 8)),
)


def test_gangs_that_do_not_start_are_the_regret():
    """How many start beside the best plan, as a range."""
    words = "Kueue 0.19 starts 1 to 2; the best plan starts 3 of 3 gangs, proven."
    assert regret_sentence(BEHIND) == words


def test_goals_that_may_be_worse_are_the_regret_of_gangs_that_start():
    """Only those that may be worse are named."""
    assert regret_sentence(LEVEL).endswith(
        "Its choice is worse in: PCIe roots spanned by GPUs and NICs (sum over replicas) 8 to 16 instead of 8."
    )


def test_an_unknown_regret_says_why():
    """There are no numbers if the replay is not known."""
    unknown = GangRegret("train", "Kueue 0.19", 1, 0, 1, 1, unknown="a level has no node label")
    assert as_text(regret_parts(unknown)) == "The cost of Kueue 0.19 is unknown: a level has no node label."


def test_a_gang_that_no_plan_starts_is_no_regret():
    """What is impossible is not blamed on the scheduler."""
    none = GangRegret("train", "Kueue 0.19", 2, 0, 0, 0, proven=True)
    assert regret_sentence(none) == "Neither the best plan nor Kueue 0.19 starts any of 2 gangs, proven."
