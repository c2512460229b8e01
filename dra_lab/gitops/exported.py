"""The answer that `export` recorded in `plan.json`, repeated by `check` for the folder that it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from dra_lab.exports.simulation import exit_status
from dra_lab.exports.written_files import RECORD, RECORD_VERSION, digest
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.review import Checked, FitState
from dra_lab.model.cluster import Cluster

_OUTCOMES = tuple(outcome.value for outcome in FitState)
_NOT_AS_PLANNED = "kube-scheduler does not allocate every replica as planned"
_AGAIN = "Export again for this cluster."
_ACCEPT = "--allow-worse accepts it."


def exported_outcomes(
    manifests: Manifests, cluster: Cluster, *, allow_worse: bool
) -> tuple[tuple[Checked, ...], tuple[Finding, ...]]:
    """Return the answer of `export` for each exported folder among the manifests, and its findings.

    It does not fit if not all replicas were placed, or if kube-scheduler does not allocate one as planned;
    `allow_worse` accepts the second. A folder in which a person edited a file has no recorded answer any more.
    """
    objects: list[Checked] = []
    findings: list[Finding] = []
    for document in manifests.documents:
        record, place = document.value, document.at("")
        ours = Path(place.source).name == RECORD and record.get("apiVersion") == RECORD_VERSION
        answer = record.get("answer")
        if not ours or not _is_answer(answer):
            continue
        subject = f"export/{record.get('name') or Path(place.source).parent.name}"
        place = replace(place, object=subject)
        written, folder = record.get("files"), Path(place.source).parent
        known = written if isinstance(written, Mapping) else {}
        texts = {name: manifests.texts.get(str(folder / str(name))) for name in known}
        edited = [str(name) for name, text in texts.items() if text is not None and digest(text) != known[name]]
        if edited:
            message = f"{', '.join(edited)} changed since the export, so its record in {RECORD} is no longer valid"
            findings.append(Finding("export-edited", Severity.NOTE, subject, message, "Export again.", place))
            continue
        outcome, own = _answer(record, answer, subject, place, allow_worse=allow_worse)
        objects.append(Checked(subject, outcome, "" if outcome is FitState.FITS else own[0].message, place))
        findings += [*own, *_other_cluster(record, subject, place, cluster)]
    return tuple(objects), tuple(findings)


def _is_answer(answer: Any) -> TypeGuard[Mapping[str, Any]]:
    return (
        isinstance(answer, Mapping)
        and answer.get("outcome") in _OUTCOMES
        and answer.get("asPlanned") in (True, False, None)
        and isinstance(answer.get("reasons"), list)
    )


def _answer(
    record: Mapping[str, Any], answer: Mapping[str, Any], subject: str, place: Origin, *, allow_worse: bool
) -> tuple[FitState, tuple[Finding, ...]]:
    """Return the outcome by the rule of `export` (`exit_status`), and a finding for what is not as planned."""
    placed = FitState(answer["outcome"])
    replay = record.get("loop")
    if placed is FitState.DOES_NOT_FIT and isinstance(replay, Mapping) and replay.get("neverStarts"):
        message = f"kube-scheduler starts no pod of this export{_because(answer['reasons'])}"
        return placed, (Finding("export-never-starts", Severity.ERROR, subject, message, _AGAIN, place),)
    if placed is not FitState.FITS:
        severity = Severity.ERROR if placed is FitState.DOES_NOT_FIT else Severity.WARNING
        verb = "placed" if placed is FitState.DOES_NOT_FIT else "placed in its time"
        message = f"with the devices in use at that time, the plan of this export {verb} {_placed(record)}"
        return placed, (Finding("export-not-placed", severity, subject, message, _AGAIN, place),)
    status = exit_status(answer, allow_worse=allow_worse)
    if not status and answer["asPlanned"]:
        return FitState.FITS, ()
    why = _because(answer["reasons"])
    if answer["asPlanned"] is None:
        message = f"whether {_NOT_AS_PLANNED.replace(' does not allocate', ' allocates')} is not known{why}"
        found = Finding("export-not-simulated", Severity.WARNING, subject, message, _ACCEPT, place)
        return FitState.NOT_CHECKED if status else FitState.FITS, (found,)
    severity = Severity.ERROR if status else Severity.WARNING
    pin = "" if "pins" in record else "Export with --pin. "
    advice = f"{pin}{_ACCEPT}" if status else ""
    found = Finding("export-not-as-planned", severity, subject, f"{_NOT_AS_PLANNED}{why}", advice, place)
    return FitState.DOES_NOT_FIT if status else FitState.FITS, (found,)


def _placed(record: Mapping[str, Any]) -> str:
    """Return how many replicas the plan of a record placed, in words."""
    plan = record.get("plan")
    workloads = plan.get("workloads", ()) if isinstance(plan, Mapping) else ()
    return ", ".join(f"{w['placed']} of {w['replicas']} {w['name']}" for w in workloads) or "nothing"


def _because(reasons: Sequence[str] | None) -> str:
    some = [str(reason).rstrip(".") for reason in reasons or ()]
    more = f"; {len(some) - 3} more" if len(some) > 3 else ""
    return f": {'; '.join(some[:3])}{more}" if some else ""


def _other_cluster(record: Mapping[str, Any], subject: str, place: Origin, cluster: Cluster) -> Iterator[Finding]:
    then = (record.get("cluster"), record.get("readAt") or "")
    if then != (cluster.name, cluster.read_at or ""):
        read = f" (read {then[1]})" if then[1] else ""
        message = (
            f"it was exported for {then[0]}{read}, so the result of kube-scheduler's simulation is for that cluster"
        )
        yield Finding("export-other-cluster", Severity.NOTE, subject, message, _AGAIN, place)
