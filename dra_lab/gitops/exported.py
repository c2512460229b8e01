"""The answer that `export` recorded in `plan.json`, repeated by `check` for the folder that it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_lab.exports.files import RECORD, RECORD_VERSION, digest
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.review import Checked, Fit
from dra_lab.model.cluster import Cluster

_NOT_AS_PLANNED = "kube-scheduler does not allocate every replica as planned"
_AGAIN = "Export again for this cluster."


def exported_outcomes(
    manifests: Manifests, cluster: Cluster, *, allow_worse: bool
) -> tuple[tuple[Checked, ...], tuple[Finding, ...]]:
    """Return the answer of `export` for each exported folder among the manifests, and its findings.

    It does not fit if not all replicas were placed, or if kube-scheduler does not allocate one as planned;
    `allow_worse` accepts the second. Nothing is said of a folder in which a person edited a file since.
    """
    objects: list[Checked] = []
    findings: list[Finding] = []
    for document in manifests.documents:
        record, place = document.value, document.at("")
        if Path(place.source).name != RECORD or record.get("apiVersion") != RECORD_VERSION or "files" not in record:
            continue
        subject = f"export/{record.get('name') or Path(place.source).parent.name}"
        place = replace(place, object=subject)
        edited = [*_edited(record, Path(place.source).parent, manifests.texts)]
        if edited:
            message = f"{', '.join(edited)} changed since the export, so its record in {RECORD} does not hold any more"
            findings.append(Finding("export-edited", Severity.NOTE, subject, message, "Export again.", place))
            continue
        outcome, told = _answer(record, subject, place, allow_worse=allow_worse)
        objects.append(Checked(subject, outcome, "" if outcome is Fit.FITS else told[0].message, place))
        findings += [*told, *_other_cluster(record, subject, place, cluster)]
    return tuple(objects), tuple(findings)


def _edited(record: Mapping[str, Any], folder: Path, texts: Mapping[str, str]) -> Iterator[str]:
    files = record["files"]
    for name, known in files.items() if isinstance(files, Mapping) else ():
        text = texts.get(str(folder / str(name)))
        if text is not None and digest(text) != known:
            yield str(name)


def _answer(
    record: Mapping[str, Any], subject: str, place: Origin, *, allow_worse: bool
) -> tuple[Fit, tuple[Finding, ...]]:
    planned = _planned(record)
    if planned is not Fit.FITS:
        severity = Severity.ERROR if planned is Fit.DOES_NOT_FIT else Severity.WARNING
        verb = "placed" if planned is Fit.DOES_NOT_FIT else "placed in its time"
        message = f"with the devices that were in use then, the plan of this export {verb} {_placed(record)}"
        return planned, (Finding("export-not-placed", severity, subject, message, _AGAIN, place),)
    as_planned, why = _as_planned(record)
    if as_planned:
        return Fit.FITS, ()
    if as_planned is None:
        message = f"whether {_NOT_AS_PLANNED.replace(' does not allocate', ' allocates')} is not known{why}"
        advice = "--allow-worse accepts that."
        found = Finding("export-not-simulated", Severity.WARNING, subject, message, advice, place)
        return Fit.FITS if allow_worse else Fit.NOT_CHECKED, (found,)
    advice = "" if allow_worse else "Export with --pin, or accept it with --allow-worse."
    severity = Severity.WARNING if allow_worse else Severity.ERROR
    found = Finding("export-not-as-planned", severity, subject, f"{_NOT_AS_PLANNED}{why}", advice, place)
    return Fit.FITS if allow_worse else Fit.DOES_NOT_FIT, (found,)


def _planned(record: Mapping[str, Any]) -> Fit:
    """Return whether the plan of a record placed everything."""
    answer = record.get("answer")
    if isinstance(answer, Mapping) and answer.get("outcome") in tuple(Fit):
        return Fit(answer["outcome"])
    plan = record.get("plan")
    if not isinstance(plan, Mapping):
        return Fit.FITS
    if "workloads" in plan:
        workloads = [part for part in plan["workloads"] if isinstance(part, Mapping)]
        if all(part.get("placed", 0) >= part.get("replicas", 0) for part in workloads):
            return Fit.FITS
        unplaced = [goal for goal in plan.get("goals", ()) if goal.get("goal") == "unplaced"]
        return Fit.DOES_NOT_FIT if unplaced and unplaced[0].get("bound") else Fit.NOT_DECIDED
    if plan.get("fits"):
        return Fit.FITS
    return Fit.DOES_NOT_FIT if plan.get("status") == "infeasible" else Fit.NOT_DECIDED


def _placed(record: Mapping[str, Any]) -> str:
    """Return how many replicas the plan of a record placed, in words."""
    plan = record.get("plan")
    workloads = plan.get("workloads", ()) if isinstance(plan, Mapping) else ()
    return ", ".join(f"{w['placed']} of {w['replicas']} {w['name']}" for w in workloads) or "nothing"


def _as_planned(record: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether kube-scheduler allocates as planned, None if that was not found out, and the reasons."""
    answer, loop = record.get("answer"), record.get("loop")
    if isinstance(answer, Mapping) and "asPlanned" in answer:
        return answer["asPlanned"], _because(answer.get("reasons"))
    if not isinstance(loop, Mapping) or not loop.get("wanted"):
        return True, ""
    misses = [f"replica {m['replica']} of {m['workload']} {m['why']}" for m in loop.get("misses", ())]
    if misses:
        return False, _because(misses)
    return (None, _because([loop["notRun"]])) if loop.get("notRun") else (bool(loop.get("asPlanned", True)), "")


def _because(reasons: Sequence[str] | None) -> str:
    some = [str(reason).rstrip(".") for reason in reasons or ()]
    more = f"; {len(some) - 3} more" if len(some) > 3 else ""
    return f": {'; '.join(some[:3])}{more}" if some else ""


def _other_cluster(record: Mapping[str, Any], subject: str, place: Origin, cluster: Cluster) -> Iterator[Finding]:
    then = (record.get("cluster"), record.get("readAt") or "")
    if then != (cluster.name, cluster.read_at or ""):
        read = f" (read {then[1]})" if then[1] else ""
        message = f"it was exported for {then[0]}{read}; whether kube-scheduler allocates as planned is said of that"
        yield Finding("export-other-cluster", Severity.NOTE, subject, message, _AGAIN, place)
