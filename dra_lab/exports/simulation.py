"""What kube-scheduler does with the manifests of an export: its sentence, what `plan.json` records, the exit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.findings import sentence_case
from dra_lab.model.goals import GoalValue
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.workload import Workload
from dra_lab.pinning.plan_replay import Miss, Replay
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import counted, goal_words, sentence
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, STOPPED, plan_outcome
from dra_lab.words.scheduler_sentences import Simulation

_PAIRS = "unpaired"
EVERY_NODE = "on every node it may choose"


NOT_SIMULATED = "dra-lab does not simulate the files of gangs"
UNKNOWN = Simulation(None, "There is no answer yet, so kube-scheduler was not simulated.")


def export_answer(plan: Plan | None, replay: Replay | None) -> dict[str, Any]:
    """Return the answer of an export as plain values.

    `outcome` is that of the plan, but what has a place there and never starts does not fit either. `asPlanned` says
    whether kube-scheduler allocates every planned replica as planned, with every must-link kept, in each run of our
    copy of it; None if runs are missing. `reasons` are those against it.
    """
    outcome = STOPPED if plan is None else plan_outcome(plan)
    if replay is None:
        return {"outcome": outcome, "asPlanned": None, "reasons": []}
    reasons = [f"replica {miss.number + 1} of {miss.workload} {miss.why}" for miss in replay.misses]
    if replay.never_starts:
        return {"outcome": DOES_NOT_FIT, "asPlanned": False, "reasons": reasons}
    if replay.kept < replay.wanted and replay.runs:
        return {"outcome": outcome, "asPlanned": False, "reasons": reasons}
    nothing = not replay.wanted and outcome == FITS
    as_planned = True if nothing or (replay.as_planned and replay.runs) else None
    return {"outcome": outcome, "asPlanned": as_planned, "reasons": [replay.not_run] if replay.not_run else []}


def exit_status(answer: Mapping[str, Any], *, allow_worse: bool = False) -> int:
    """Return the exit status of an answer: 0 as planned, 1 not, 2 not decided.

    `allow_worse` accepts replicas that are allocated otherwise than planned, or not known to be as planned, and
    must-links that are not kept. It does not accept replicas without a place in the plan.
    """
    if answer["outcome"] != FITS:
        return 1 if answer["outcome"] == DOES_NOT_FIT else 2
    if allow_worse or answer["asPlanned"]:
        return 0
    return 2 if answer["asPlanned"] is None else 1


def simulation_of(plan: Plan | None, replay: Replay | None, gang: Workload | None = None) -> Simulation:
    """Return the simulation of an export: `replay` is its run on the copy of kube-scheduler, None without a run.

    The files of a `gang` are not simulated; they achieve the plan if the gang has its place.
    """
    if plan is None:
        return UNKNOWN
    if gang is not None:
        return _place_of(gang, plan)
    answer = export_answer(plan, replay)
    if plan.status is PlanStatus.EMPTY:
        return Simulation(answer["asPlanned"], "Nothing is drawn yet.")
    why = sentence("; ".join(answer["reasons"][:3]))
    if replay is not None and replay.never_starts:
        return Simulation(False, "kube-scheduler starts no pod with these manifests.", why)
    if answer["outcome"] != FITS and not plan.pods:
        return _without_place(plan, answer["outcome"])
    if replay is None or answer["asPlanned"] is None:
        return Simulation(None, "Whether kube-scheduler allocates this plan is not known.", why)
    if not answer["asPlanned"]:
        return _missed(replay, why)
    if replay.wanted > 1:
        return Simulation(True, f"kube-scheduler allocates all {replay.wanted:,} replicas as planned {EVERY_NODE}.")
    # an allocation that is better in an earlier goal may have fewer pairs: only a proven plan excludes that
    pairs = next((goal for goal in plan.goals if plan.proven and goal.goal == _PAIRS and goal.of), None)
    taken = f"{_pairs(pairs)} pairs" if pairs is not None else "devices as good as in the plan"
    return Simulation(True, f"kube-scheduler allocates {taken} {EVERY_NODE}.")


def _place_of(gang: Workload, plan: Plan) -> Simulation:
    """Return whether a gang has its place; then it is written even if others of the same plan have none."""
    achieves, words = {FITS: True, DOES_NOT_FIT: False}.get(plan_outcome(plan)), answer_sentence(plan)
    if len(plan.workloads) > 1:
        placed = plan.placed[gang.name]
        achieves = True if placed == gang.replicas else achieves
        words = f"{gang.name}: {placed:,} of {counted(gang.replicas, 'gang')} placed. All workloads: {words}"
    return Simulation(achieves, words, f"{NOT_SIMULATED}.")


def _without_place(plan: Plan, outcome: str) -> Simulation:
    if outcome != DOES_NOT_FIT:
        return Simulation(None, "Whether this claim fits is not known, so kube-scheduler was not simulated.")
    when_idle = {one.fits_idle for one in plan.node_classes}
    if True in when_idle:
        return Simulation(False, "This claim does not fit now: its pods wait until devices are free.")
    if when_idle == {False}:
        return Simulation(False, "This claim fits on no node, even with nothing in use: its pods never start.")
    return Simulation(False, "This claim does not fit now, so its pods wait.")


def _missed(replay: Replay, why: str) -> Simulation:
    if replay.wanted > 1:
        return Simulation(
            False, f"kube-scheduler allocates {replay.kept:,} of {replay.wanted:,} replicas as planned.", why
        )
    miss = replay.misses[0] if replay.misses else Miss("", 0, "", "")
    if miss.ours is None or miss.theirs is None:
        return Simulation(False, f"kube-scheduler does not allocate this plan: its pod {miss.why}.")
    taken, ours = f"devices with {goal_words(miss.theirs)}", goal_words(miss.ours)
    if miss.theirs.goal == _PAIRS and miss.theirs.of:
        taken, ours = f"{_pairs(miss.theirs)} pairs", _pairs(miss.ours)
    text = f"kube-scheduler allocates {taken} on a node like {miss.node}; the plan has {ours}."
    return Simulation(False, text, sentence(sentence_case(miss.because)))


def _pairs(goal: GoalValue) -> str:
    return f"{goal.of - goal.value} of {goal.of}"
