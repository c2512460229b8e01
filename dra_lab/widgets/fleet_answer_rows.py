"""The answer of the Fleet mode as the browser shows it: the verdict with its proof, and the tiles."""

from __future__ import annotations

from typing import Any

from dra_lab.model.gang_verdicts import STOPS, GangVerdicts
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.session import MODES, Session
from dra_lab.session.fleet_answer import FleetAnswer, GangAnswer
from dra_lab.widgets.answer_rows import State
from dra_lab.widgets.domain_rows import is_kueue, scheduler_row
from dra_lab.widgets.wire import Row
from dra_lab.words.answer_sentence import proof_sentence, verdict_sentence
from dra_lab.words.document import printable
from dra_lab.words.facts import GLOSSARY, counted, sentence
from dra_lab.words.scheduler_sentences import scheduler_sentences
from dra_lab.words.verdict import Tile, Tone
from dra_lab.words.workload_words import more_words, quota_words, request_words, stranded_words


class FleetAnswerRow(Row, frozen=True):
    """The answer to the fleet: what is asked, the verdict, its proof, what a scheduler does with a gang, the tiles.

    `stale` while the answer is for another question; `working` says what goes on, "" if nothing; `gap` is how far the
    plan is from its bound, as placed and most that may fit. `can_improve` if it was stopped before the proof.
    """

    state: State = "empty"
    asked: str = ""
    verdict: str = ""
    proof: str = ""
    scheduler: str = ""
    tiles: tuple[Tile, ...] = ()
    stale: bool = False
    working: str = ""
    gap: tuple[int, int] = (0, 0)
    can_improve: bool = False
    can_undo: bool = False
    can_redo: bool = False
    can_compare: bool = False


def answer_row(session: Session) -> FleetAnswerRow:
    """Return what is asked of the fleet of a session, and the answer so far."""
    fleet, answer = session.fleet, session.fleet.answer
    history = {"can_undo": session.history.can_undo, "can_redo": session.history.can_redo}
    common: dict[str, Any] = {"asked": request_words(fleet.workloads), "can_compare": "compare" in MODES, **history}
    if fleet.refusal is not None:
        return FleetAnswerRow(state="error", verdict="No answer.", proof=str(fleet.refusal), **common)
    if not fleet.workloads:
        return FleetAnswerRow(verdict="Nothing to plan yet. Draw a claim in Plan, or add one from a file.", **common)
    if answer is None:
        return FleetAnswerRow(state="solving", verdict="Planning …", stale=True, working="Planning", **common)
    is_current = fleet.is_current
    pins = sum(sum(pod.pins.values()) for pod in answer.question.pods)
    working = ""
    if fleet.stale:
        working = "Planning" if not is_current else _working_words(answer, fleet.progress)
    placed = answer.figures["placed"]
    return FleetAnswerRow(
        state=_state(answer),
        verdict=verdict_sentence(answer.plan, answer.question.cluster),
        proof=_proof(answer.plan, pins),
        scheduler=_scheduler(answer.plan, answer.gangs) if answer.gangs is not None and is_current else "",
        tiles=_tiles(answer),
        stale=not is_current,
        working=working,
        gap=(placed.value, placed.bound) if placed.bound is not None and placed.bound > placed.value else (0, 0),
        can_improve=is_current and not fleet.stale and not answer.complete,
        **common,
    )


def _proof(plan: Plan, pins: int) -> str:
    """Return what is proven, the first reason if pods have no place, and what kube-scheduler does instead."""
    reasons = [sentence(reason.message) for reason in plan.shortfalls[:1] if plan.fits]
    pinned = f"{counted(pins, 'pod')} {'is' if pins == 1 else 'are'} pinned." if pins and not plan.proven else ""
    scheduler = scheduler_sentences(plan) if plan.fits else ()
    return printable(" ".join(filter(None, (proof_sentence(plan, most=2), pinned, *reasons, *scheduler))))


def _scheduler(plan: Plan, gangs: GangAnswer) -> str:
    """Return what stops the first gang in its queue, else what Kueue does with it."""
    name = plan.gangs[0].name if plan.gangs else ""
    verdicts = gangs.verdicts.get(name)
    if isinstance(verdicts, GangVerdicts) and verdicts.quota.row.says in STOPS:
        return quota_words(verdicts.quota.row.sentence)
    if plan.status is PlanStatus.INFEASIBLE:
        return ""  # no scheduler can do what is impossible
    kueue = next((one for one in gangs.choices.get(name, ()) if is_kueue(one)), None)
    return scheduler_row(kueue).text if kueue is not None and kueue.replay.domains else ""


def _working_words(answer: FleetAnswer, progress: Any) -> str:
    if answer.gangs is not None and answer.gangs.nodes:
        wanted = len(answer.plan.gangs)
        if len(answer.gangs.total) < wanted:
            return "Counting how many more gangs fit"
        return "Simulating schedulers" if len(answer.gangs.choices) < wanted else "Finding what is stranded"
    if answer.headroom:
        return "Finding what is stranded" if answer.stranded is None else "Comparing with kube-scheduler"
    if answer.plan.proven:
        return "Counting how many more fit"
    text = getattr(progress, "text", "")
    return f"Improving: {text}" if text else "Improving"


def _state(answer: FleetAnswer) -> State:
    plan = answer.plan
    if plan.status is PlanStatus.EMPTY:
        return "empty"
    if not plan.pods:
        return "misfit" if plan.proven else "stopped"
    return "fits" if answer.figures["placed"].value == answer.figures["wanted"].value else "misfit"


def _tiles(answer: FleetAnswer) -> tuple[Tile, ...]:
    placed, wanted = answer.figures["placed"].value, answer.figures["wanted"].value
    tone: Tone = "ok" if placed == wanted else "warn"
    tiles = [_tile(f"{placed:,} of {wanted:,}", "pods placed", "Pods placed", "placed", tone)]
    for headroom in answer.headroom[:2]:
        head, comma, proof = more_words(headroom).partition(" more")
        name = f" {headroom.workload}" if len(answer.headroom) > 1 else ""
        tiles.append(_tile(f"{head}{name}", f"more fit{proof}" if comma else "", "More pods that fit", "more"))
    tiles += _gang_tiles(answer.gangs) if answer.gangs is not None else []
    for value, caption in stranded_words(answer.stranded)[:2] if answer.stranded is not None else ():
        tones: Tone = "plain" if value.startswith("0 ") else "warn"
        tiles.append(_tile(value, caption, "Stranded devices", "stranded", tones))
    return tuple(tiles)


def _tile(value: str, caption: str, title: str, term: str, tone: Tone = "plain") -> Tile:
    return Tile(value=value, caption=caption, tone=tone, title=title, lines=(GLOSSARY[term],))


def _gang_tiles(gangs: GangAnswer) -> list[Tile]:
    several = len(gangs.more) > 1
    found = [(name, count) for name, count in gangs.more.items()][:2]
    return [
        _tile(
            f"{count.count} more{f' {name}' if several else ''}",
            f"gangs fit{', proven' if count.proven else ''}",
            "More gangs",
            "more gangs",
        )
        for name, count in found
    ]
