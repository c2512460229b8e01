"""The answer about gangs in a sentence, its outcome, and what schedulers do in lines."""

from __future__ import annotations

import pytest

from dra_lab.model.fleet import Replica
from dra_lab.model.gang import GANGS, GangHeadroom, GangPlan, PlacedGang
from dra_lab.model.gang_replay import DomainReplay, GangReplay, GangVerdict
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue, Placement, PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.pinning.gang_choices import GangChoice
from dra_lab.words.gang_document import choice_lines, gang_sentence, shared_table
from dra_lab.words.gang_json import gang_outcome
from dra_lab.words.shown import in_html, in_words


def gang(level: str = "rack", pods: int = 4, least: int | None = None, **more) -> Workload:
    """Return a gang of workers."""
    return Workload("train", [PodGroup("worker", (), count=pods, minimum=least)], level=level, **more)


def plan(status: PlanStatus, *gangs: Workload, placed: int = 0, bound: int | None = None, headroom=()) -> GangPlan:
    """Return a plan that has a place for some of the gangs, whose goal has a bound."""
    wanted = gangs or (gang(),)
    pods = tuple(Replica("worker", number, f"n{number}", ()) for number in range(4))
    where = tuple(PlacedGang(wanted[0].name, number, ("r1",), pods) for number in range(placed))
    missing = sum(one.replicas for one in wanted) - placed
    goals = (GoalValue(GANGS, missing, missing if bound is None else bound, bound is None),)
    return GangPlan(status, wanted, placed=where, goals=goals, headroom=tuple(headroom))


HEADROOM = (GangHeadroom("train", ("b", "r1"), 3, 3, 4, 4, 0, 0, ("2 nodes cordoned",)),)
OPEN = plan(PlanStatus.FEASIBLE, gang(replicas=3), placed=1, bound=0)
SENTENCES = {
    "no gangs": (plan(PlanStatus.EMPTY), "No gangs are requested."),
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
    "several": (plan(PlanStatus.INFEASIBLE, gang(), gang()), "Not one gang fits, proven."),
    "one": (
        plan(PlanStatus.OPTIMAL, placed=1),
        "The gang fits in r1: 4 pods on 4 nodes. Every goal is proven optimal.",
    ),
    "more may fit": (OPEN, "1 of 3 gangs placed, 4 pods on 4 nodes; more may fit."),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_answer_is_a_sentence(name):
    """It says what fits, where, and what is proven."""
    found, sentence = SENTENCES[name]
    assert gang_sentence(found) == sentence


def test_claims_that_pods_share_are_named():
    """With the pods that use them, their node and their devices; those of a group and those of the gang."""
    nic, disk = (ClaimSketch(name=name) for name in ("nic", "disk"))
    groups = [PodGroup("leader", (), count=1), PodGroup("worker", (), count=2, shared_claims=(nic,))]
    pods = (Replica("leader", 0, "n1", ()), Replica("worker", 0, "n1", ()), Replica("worker", 1, "n1", ()))
    held = [
        Replica(name, 0, "n1", (Placement("r", DeviceID("d.example", "n1", f"{name}-{number}")),))
        for number, name in enumerate(("worker", "shared"))
    ]
    placed = PlacedGang("train", 0, (), pods, held[1], (held[0],))
    found = GangPlan(PlanStatus.OPTIMAL, (Workload("train", groups, shared_claims=(disk,)),), placed=(placed,))
    assert [tuple(row) for row in shared_table(found).rows] == [
        ("train 0", "nic", "2 of worker", "n1", "d.example/n1/worker-0"),
        ("train 0", "disk", "all 3", "n1", "d.example/n1/shared-1"),
    ]


OUTCOMES = {
    "no gangs": (plan(PlanStatus.EMPTY), "fits"),
    "placed": (plan(PlanStatus.FEASIBLE, placed=1), "fits"),
    "proven": (plan(PlanStatus.INFEASIBLE), "does-not-fit"),
    "a part, proven": (plan(PlanStatus.OPTIMAL, gang(replicas=3), placed=1), "does-not-fit"),
    "a part, open": (OPEN, "stopped"),
    "no time": (plan(PlanStatus.STOPPED, bound=0), "stopped"),
    "not checked": (plan(PlanStatus.NOT_CHECKED), "not-checked"),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_outcome_is_fits_only_if_all_gangs_are_placed(name):
    """A misfit must be proven."""
    found, outcome = OUTCOMES[name]
    assert gang_outcome(found) == outcome


def test_a_choice_says_what_starts_and_what_is_trapped():
    """One line for each scheduler."""
    replay = GangReplay("Kueue 0.19", GangVerdict.NO, "it waits there")
    choice = GangChoice(replay, (1, 2), ("b/r1",))
    [line] = choice_lines([choice], gang(replicas=3), "").lines
    assert line == (
        "Kueue 0.19: no. It waits there. It starts 1 to 2 of 3 gangs. It may choose b/r1, where the claims do not fit."
    )


def test_a_verdict_is_printed_with_its_domains():
    """The reason is first, then a row for each domain; names of a cluster are text in HTML."""
    replay = GangReplay("Kueue 0.19", GangVerdict.NO, "it waits there", (DomainReplay("<b>n1", 1, 2, 3),))
    assert in_words(replay).split("\n")[0] == "Kueue 0.19: no. It waits there."
    assert in_words(replay).split("\n")[-1].split() == ["<b>n1", "1", "to", "2", "3"]
    assert "<b>" not in in_html(replay)
