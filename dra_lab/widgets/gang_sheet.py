"""The Export sheet of a gang: its scheduler, queue and planned domain, and what the scheduler cannot express."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.exports.bundle import Bundle
from dra_lab.exports.gangs.gang_files import SCHEDULERS, title_of
from dra_lab.model.gang_replay import GangVerdict
from dra_lab.model.queues import LocalQueue
from dra_lab.pinning.gang_choices import GangChoice
from dra_lab.session import Session
from dra_lab.session.exporting import Exporting
from dra_lab.widgets.domain_rows import scheduler_row
from dra_lab.widgets.export_values import GangSheetRow, OutcomeRow, Verdict
from dra_lab.words.facts import counted, sentence
from dra_lab.words.workload_words import gang_words

_MOST_NAMED = 3
"""Planned domains, or other workloads, that are named."""

_NO_PLAN = "These gangs are not planned yet."

_QUEUES: Mapping[str, str] = {
    "kueue": "The LocalQueue of Kueue, which needs one.",
    "kai": "The Queue of KAI, which needs one.",
    "volcano": "The Queue of Volcano; empty: default.",
    "kube-scheduler": "A PodGroup has no queue.",
}
"""The words below the field of the queue, by scheduler."""


def gang_sheet_row(session: Session) -> GangSheetRow | None:
    """Return what the sheet shows of the gang that it exports, None if it exports ordinary pods."""
    exporting = session.exporting
    if not (name := exporting.gang):
        return None
    choice, planned, gangs = exporting.choice, exporting.planned, exporting.gangs
    pod = session.fleet.workload(name)
    made, drawn = exporting.chosen, pod.gang
    reason = planned.not_pinnable if planned is not None else ""
    queues = (
        [one for one in session.cluster.queues if isinstance(one, LocalQueue)] if choice.scheduler == "kueue" else []
    )
    return GangSheetRow(
        name=name,
        words=gang_words(drawn, pod.replicas) if drawn is not None else "",
        gangs=gangs,
        scheduler=choice.scheduler,
        schedulers=tuple((one, title_of(one)) for one in SCHEDULERS),
        queue=drawn.queue if drawn is not None else "",
        queues=tuple(f"{one.metadata.namespace}/{one.name}" for one in queues),
        queue_hint=_QUEUES[choice.scheduler],
        pin=bool(choice.pin) and planned is not None and not reason,
        domain=_domains(exporting),
        no_domain=_NO_PLAN if planned is None else sentence(f"{reason[:1].upper()}{reason[1:]}") if reason else "",
        not_expressed=tuple(made.record["notExpressed"]) if made is not None else (),
        others=_others([one.pod for one in session.fleet.workloads if one.gang is None]),
    )


def _domains(exporting: Exporting) -> str:
    """Return the planned domain of the gang, or those of its copies."""
    found = exporting.planned.domains if exporting.planned is not None else {}
    paths = list(dict.fromkeys("/".join(found[number]) for number in sorted(found)))
    return ", ".join(paths) if len(paths) <= _MOST_NAMED else counted(len(paths), "domain")


def _others(names: list[str]) -> str:
    """Return that ordinary pods of the same plan are not in the files, "" if there are none."""
    if not names:
        return ""
    pods = " and ".join(names) if len(names) <= _MOST_NAMED else counted(len(names), "other workload")
    are, them = ("is", "it") if len(names) == 1 else ("are", "one")
    return f"{pods} {are} planned with the gang and not in these files. Open {them} in Plan to export it."


def plan_outcome_row(session: Session, made: Bundle) -> OutcomeRow:
    """Return whether the gang has its place, and what the chosen scheduler does with it, if that is known.

    It warns if the scheduler may choose a domain where the claims do not fit, or finds none.
    """
    found, chosen = made.simulation, _choice(session)
    verdict: Verdict = "ok" if found.achieves else "unknown" if found.achieves is None else "warn"
    if chosen is None or verdict != "ok":
        return OutcomeRow(verdict=verdict, sentence=found.sentence, detail=found.detail)
    misses = bool(chosen.trapped) or chosen.replay.verdict is GangVerdict.NO
    return OutcomeRow(verdict="warn" if misses else "ok", sentence=found.sentence, detail=scheduler_row(chosen).text)


def _choice(session: Session) -> GangChoice | None:
    """Return what the chosen scheduler does with the gang as drawn, None with a pin or if it is not known."""
    exporting, answer = session.exporting, session.fleet.answer
    if exporting.choice.pin or answer is None or answer.gangs is None or not session.fleet.is_current:
        return None
    title = title_of(exporting.choice.scheduler)
    choices = answer.gangs.choices.get(exporting.gang, ())
    return next((one for one in choices if one.replay.scheduler.startswith(title)), None)
