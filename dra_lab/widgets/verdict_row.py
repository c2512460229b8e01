"""The verdict of `PlanView`: what is asked, the answer with its proof, the figures, and what goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dra_lab.errors import Cancelled
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import STOPS, GangVerdicts
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.pinning.pod_start import with_start
from dra_lab.session import Session
from dra_lab.session.answers import Answer
from dra_lab.session.gang_answers import GangAnswer
from dra_lab.widgets.gang_rows import is_kueue, scheduler_row
from dra_lab.widgets.part_rows import without_text
from dra_lab.widgets.session_view import Row, latest_plan
from dra_lab.words.answer_sentence import headline, proof_sentence, verdict_and_values
from dra_lab.words.document import printable
from dra_lab.words.drawing_words import request_sentence
from dra_lab.words.facts import GLOSSARY, counted, sentence
from dra_lab.words.reason_words import no_help_lines
from dra_lab.words.scheduler_sentences import Simulation, scheduler_sentences
from dra_lab.words.verdict import Fix, Tile, Tone, fixes, tiles
from dra_lab.words.workload_words import more_words, request_words, sharing_words, stranded_words

State = Literal["fits", "misfit", "empty", "error", "stopped", "solving"]


class ProgressRow(Row, frozen=True):
    """How far a solve is: what to tell a person, and the best value so far in words."""

    text: str
    best_text: str = ""


class AnswerRow(Row, frozen=True):
    """The verdict: the drawing read back, the answer, what kube-scheduler does, the figures, the changes that help.

    Plan shows it of the drawing, Fleet of all workloads. `stale` while they belong to what was drawn, loaded or asked
    before, which `previous` names; `differs` says that the picture can show a difference. `proof` has the proof and the
    reasons of many pods. `trouble` is why the present drawing has no answer, such as a selector that is half written,
    `after` what goes on although the answer is there. `gap` is how far the plan is from its bound, as placed and most
    that may fit. `can_improve` if it was stopped before the proof.
    """

    state: State = "empty"
    sentence: str = ""
    asked: str = ""
    scheduler: str = ""
    differs: bool = False
    tiles: tuple[Tile, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tried: str = ""
    stale: bool = False
    progress: ProgressRow | None = None
    trouble: str = ""
    previous: Literal["drawing", "cluster", "question"] = "drawing"
    after: str = ""
    proof: str = ""
    gap: tuple[int, int] = (0, 0)
    can_improve: bool = False


def _state(plan: Plan) -> State:
    """Return whether all pods have a place."""
    if plan.status is PlanStatus.EMPTY:
        return "empty"
    if not plan.pods:
        return "misfit" if plan.proven else "stopped"
    return "fits" if len(plan.pods) == plan.wanted_pods else "misfit"


def answer_row(session: Session, simulated: Simulation | None) -> AnswerRow:
    """Return the verdict; without a plan it says that the planner is at work, or why there is no answer.

    Where the present drawing could not be answered, the last answer stays, for the previous drawing, with the trouble.
    """
    plan, cluster, refusal = latest_plan(session), session.cluster, session.refusal
    reported = progress_row(session.progress) if session.stale else None
    trouble = without_text(str(refusal)) if refusal is not None and not session.stale else ""
    if trouble and plan is None:
        return AnswerRow(state="error", sentence=trouble)
    if plan is None:
        sentence = reported.text if reported else "Planning ..."
        return AnswerRow(state="solving", sentence=sentence, progress=reported)
    plan = with_start(plan, session.findings)
    scheduler = " ".join(scheduler_sentences(plan, simulated)) if plan.fits else ""
    tried = [*no_help_lines(plan.reasons)] if plan.reasons is not None else []
    return AnswerRow(
        state=_state(plan),
        sentence=headline(plan, cluster, node_labels(cluster).__getitem__),
        asked=request_sentence(plan.sketch, cluster) or "Drag a device onto the canvas, or press N there.",
        scheduler=without_text(scheduler),
        differs=any(found.goals or found.paths_differ for found in plan.regrets),
        tiles=tiles(plan, session.copies, counting=session.sought == "copies", simulated=simulated),
        fixes=fixes(plan, session.room),
        tried=tried[0] if tried else "",
        stale=session.stale or bool(trouble),
        progress=reported,
        trouble=trouble,
    )


def fleet_answer_row(session: Session) -> AnswerRow:
    """Return what is asked of the fleet of a session, and the answer so far."""
    fleet, answer = session.fleet, session.fleet.answer
    asked = request_words(fleet.workloads)
    if fleet.refusal is not None:
        is_stopped = isinstance(fleet.refusal, Cancelled)
        return AnswerRow(state="error", asked=asked, sentence=str(fleet.refusal), can_improve=is_stopped)
    if not fleet.workloads:
        return AnswerRow(asked=asked, sentence="Nothing to plan yet. Draw a claim in Plan, or add one from a file.")
    if answer is None:
        return AnswerRow(state="solving", asked=asked, progress=progress_row(session.progress))
    is_current = fleet.is_current
    pins = sum(sum(pod.pins.values()) for pod in answer.question.pods)
    placed = answer.figures["placed"]
    verdict, values = verdict_and_values(answer.plan, answer.question.cluster)
    return AnswerRow(
        state=_state(answer.plan),
        asked=asked,
        sentence=verdict,
        proof=" ".join(filter(None, (values, _proof(answer.plan, pins)))),
        scheduler=_scheduler(answer.plan, answer.gangs) if answer.gangs is not None and is_current else "",
        tiles=_tiles(answer),
        stale=not is_current,
        progress=None if is_current else progress_row(session.progress),
        previous="question",
        after=_working_words(answer, session.progress) if fleet.stale and is_current else "",
        gap=(placed.value, placed.bound) if placed.bound is not None and placed.bound > placed.value else (0, 0),
        can_improve=is_current and not fleet.stale and not answer.complete,
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
        return printable(f"Quota stops it: {verdicts.quota.row.sentence}")
    if plan.status is PlanStatus.INFEASIBLE:
        return ""  # no scheduler can do what is impossible
    kueue = next((one for one in gangs.choices.get(name, ()) if is_kueue(one)), None)
    return scheduler_row(kueue).text if kueue is not None and kueue.replay.domains else ""


def _working_words(answer: Answer, progress: Any) -> str:
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


def _tiles(answer: Answer) -> tuple[Tile, ...]:
    placed, wanted = answer.figures["placed"].value, answer.figures["wanted"].value
    tone: Tone = "ok" if placed == wanted else "warn"
    tiles = [_tile(f"{placed:,} of {wanted:,}", "pods placed", "Pods placed", "placed", tone)]
    for headroom in answer.headroom[:2]:
        head, comma, proof = more_words(headroom).partition(" more")
        name = f" {headroom.workload}" if len(answer.headroom) > 1 else ""
        tiles.append(_tile(f"{head}{name}", f"more fit{proof}" if comma else "", "More pods that fit", "more"))
    tiles += _gang_tiles(answer, answer.gangs) if answer.gangs is not None else []
    for value, caption in stranded_words(answer.stranded)[:2] if answer.stranded is not None else ():
        tones: Tone = "plain" if value.startswith("0 ") else "warn"
        tiles.append(_tile(value, caption, "Stranded devices", "stranded", tones))
    return tuple(tiles)


def _tile(value: str, caption: str, title: str, term: str, tone: Tone = "plain") -> Tile:
    return Tile(value=value, caption=caption, tone=tone, title=title, lines=(GLOSSARY[term],))


def _gang_tiles(answer: Answer, gangs: GangAnswer) -> list[Tile]:
    several, tiles = len(gangs.more) > 1, []
    for name, more in [*gangs.more.items()][:2]:
        drawn = answer.drawn(name).gang
        same = f" {sharing_words(drawn.same, 'these', short=True)}" if drawn is not None and drawn.same else ""
        head = f"{more.count.value if same else more.count} more{f' {name}' if several else ''}"
        proof = ", proven" if more.proven else ""
        tiles.append(_tile(head, f"gangs fit{same}{proof}", "More gangs", "more gangs"))
    return tiles


@once_per_hardware
def node_labels(cluster: Cluster) -> Mapping[str, str]:
    """Return the name under which each node is shown: without what all of them begin and end with."""
    from dra_lab.pictures.racks import short_labels

    return dict(zip(cluster.node_names, short_labels(cluster.node_names), strict=True))


def progress_row(progress: Any) -> ProgressRow:
    """Return how far a solve is; None is a solve that has not told anything yet."""
    if progress is None:
        return ProgressRow(text="Planning ...")
    best = f"best {progress.best}" if progress.best is not None else ""
    bound = f"bound {progress.bound}" if progress.bound is not None else ""
    return ProgressRow(text=progress.text, best_text=", ".join(filter(None, (best, bound))))
