"""The answer about gangs in a sentence, its outcome, and what schedulers do in lines."""

from __future__ import annotations

import pytest

from dra_lab.model.gang_verdicts import (
    COUNTS,
    DEVICES,
    QUOTA,
    DomainReplay,
    DomainVerdict,
    GangChoice,
    GangReplay,
    GangVerdict,
    GangVerdicts,
    QuotaAmount,
    QuotaAnswers,
    Says,
    VerdictRow,
)
from dra_lab.model.goals import GANGS, GoalValue
from dra_lab.model.headroom import Bounded, Fit
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import PlacedPod, Placement, SharedClaim
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import PodGroup, Question, Workload
from dra_lab.words import workload_words as words
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.plan_document import shared_table
from dra_lab.words.plan_json import plan_outcome
from dra_lab.words.shown import in_html, in_words
from dra_lab.words.workload_words import choice_sentence


def gang(level: str = "rack", pods: int = 4, least: int | None = None, **more) -> Workload:
    return Workload("train", [PodGroup("worker", (), count=pods, minimum=least)], level=level, **more)


def plan(status: PlanStatus, *gangs: Workload, placed: int = 0, bound: int | None = None, headroom=()) -> Plan:
    """Return a plan that has a place for some of the gangs, whose goal has a bound."""
    wanted = gangs or (gang(),)
    pods = tuple(
        PlacedPod(wanted[0].name, replica, f"n{number}", (), (), "worker", number, ("r1",))
        for replica in range(placed)
        for number in range(4)
    )
    missing = sum(one.replicas for one in wanted) - placed
    goals = (GoalValue(GANGS, missing, missing if bound is None else bound, bound is None),)
    return Plan(status, Question(wanted), pods=pods, goals=goals, where=tuple(headroom))


HEADROOM = (Fit("train", "domain", ("b", "r1"), Bounded(0, 0), Bounded(3, 3), 4, 4, ("2 nodes cordoned",)),)
OPEN = plan(PlanStatus.FEASIBLE, gang(replicas=3), placed=1, bound=0)
SENTENCES = {
    "no gangs": (plan(PlanStatus.EMPTY, gang(replicas=0)), "No replicas are requested."),
    "no time": (plan(PlanStatus.STOPPED), "Not answered: there was not enough time."),
    "no rack": (
        plan(PlanStatus.INFEASIBLE, headroom=HEADROOM),
        "No rack has all 4 pods of the gang, proven. b/r1 has 3.",
    ),
    "no rack for the minimum": (
        plan(PlanStatus.INFEASIBLE, gang(pods=8, least=4), headroom=HEADROOM),
        "No rack has the least 4 pods, proven. b/r1 has 3.",
    ),
    "no node": (
        plan(PlanStatus.INFEASIBLE, gang("host"), headroom=HEADROOM),
        "No node has all 4 pods of the gang, proven. b/r1 has 3.",
    ),
    "several": (plan(PlanStatus.INFEASIBLE, gang(), gang()), "Not one replica fits, proven."),
    "one": (
        plan(PlanStatus.OPTIMAL, placed=1),
        "The gang fits in r1: 4 pods on 4 nodes. Every goal is proven optimal.",
    ),
    "more may fit": (OPEN, "1 of 3 gangs placed, 4 pods on 4 nodes; more may fit, not proven."),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_answer_is_a_sentence(name):
    found, sentence = SENTENCES[name]
    assert answer_sentence(found) == sentence


def test_claims_that_pods_share_are_named():
    nic, disk = (ClaimSketch(name=name) for name in ("nic", "disk"))
    groups = [PodGroup("leader", (), count=1), PodGroup("worker", (), count=2, shared_claims=(nic,))]
    each = (("leader", 0), ("worker", 0), ("worker", 1))
    pods = tuple(PlacedPod("train", 0, "n1", (), (), group, number) for group, number in each)
    shared = tuple(
        SharedClaim("train", 0, group, "n1", (Placement("r", DeviceID("d.example", "n1", name)),))
        for group, name in (("worker", "worker-0"), ("", "shared-1"))
    )
    train = Workload("train", groups, shared_claims=(disk,))
    found = Plan(PlanStatus.OPTIMAL, Question((train,)), pods=pods, shared=shared)
    assert [tuple(row) for row in shared_table(found).rows] == [
        ("train 0", "nic", "2 of worker", "n1", "d.example/n1/worker-0"),
        ("train 0", "disk", "all 3", "n1", "d.example/n1/shared-1"),
    ]


OUTCOMES = {
    "no gangs": (plan(PlanStatus.EMPTY, gang(replicas=0)), "fits"),
    "placed": (plan(PlanStatus.FEASIBLE, placed=1), "fits"),
    "proven": (plan(PlanStatus.INFEASIBLE), "does-not-fit"),
    "a part, proven": (plan(PlanStatus.OPTIMAL, gang(replicas=3), placed=1), "does-not-fit"),
    "a part, open": (OPEN, "stopped"),
    "no time": (plan(PlanStatus.STOPPED, bound=0), "stopped"),
    "not checked": (plan(PlanStatus.NOT_CHECKED), "not-checked"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_outcome_is_fits_only_if_all_gangs_are_placed(name):
    found, outcome = OUTCOMES[name]
    assert plan_outcome(found) == outcome


def test_a_choice_says_what_starts_and_what_is_trapped():
    replay = GangReplay("Kueue 0.20", GangVerdict.NO, "it waits there")
    choice = GangChoice(replay, (1, 2), ("b/r1",))
    line = choice_sentence(choice, gang(replicas=3))
    assert line == (
        "Kueue 0.20 does not start it: it waits there. It starts 1 to 2 of 3 gangs. It may choose b/r1, where the "
        "claims do not fit."
    )


def test_a_verdict_is_printed_with_its_domains():
    replay = GangReplay("Kueue 0.20", GangVerdict.NO, "it waits there", (DomainReplay("<b>n1", 1, 2, 3),))
    assert in_words(replay).split("\n")[0] == "Kueue 0.20 does not start it: it waits there."
    assert in_words(replay).split("\n")[-1].split() == ["<b>n1", "1", "to", "2", "3"]
    assert "<b>" not in in_html(replay)


def verdicts(quota=Says.YES, counts=Says.YES, devices=Says.YES, name="train", **fields):
    amounts = (QuotaAmount("memory", "h100", 4 * 2**30, 2**30, 2**33, 2**29),)
    rows = QuotaAnswers(VerdictRow(QUOTA, quota, f"Quota of {name}.", (f"Note of {name}.",)), name, "cq", amounts)
    found = {
        "domains": (DomainVerdict((name, "r1"), 8, 8, 6, 7, (f"lacks {name}",)),),
        "chosen": (name, "r1"),
        **fields,
    }
    return GangVerdicts(
        name, rows, VerdictRow(COUNTS, counts, "Counted."), VerdictRow(DEVICES, devices, "Free."), **found
    )


FIRST_SENTENCES = {
    (Says.YES, Says.YES, Says.YES): "Neither quota nor devices stop train now. Kueue chooses nodes without counting "
    "devices, so pin the planned domain.",
    (Says.WAITS, Says.YES, Says.YES): "train waits for quota. Quota of train.",
    (Says.NEVER, Says.YES, Says.YES): "Quota stops train. Quota of train.",
    (Says.INADMISSIBLE, Says.YES, Says.YES): "Kueue refuses train. Quota of train.",
    (Says.YES, Says.NO, Says.YES): "Kueue's counts stop train. Counted.",
    (Says.YES, Says.UNKNOWN, Says.NO): "Devices stop train. Free.",
    (Says.NEVER, Says.YES, Says.NO): "Quota and devices stop train.",
    (Says.UNKNOWN, Says.UNKNOWN, Says.YES): "Nothing that is known stops train. Not known: quota, Kueue's counts.",
}


@pytest.mark.parametrize("says", FIRST_SENTENCES)
def test_the_first_sentence_says_what_stops_the_gang(says):
    assert words.verdict_sentence(verdicts(*says)) == FIRST_SENTENCES[says]


def test_a_choice_without_devices_is_in_the_first_sentence():
    """Otherwise it would read as if the gang could start."""
    found = verdicts(advice="Pin it.")
    assert words.verdict_sentence(found) == "train has devices, but Kueue may choose another domain. Pin it."
