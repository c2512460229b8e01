"""`dra-lab export --gang`: the files of a gang for Kueue, KAI, Volcano or kube-scheduler."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.exit_status import status_of
from dra_lab.cli.gang_options import Asked, GangInput, asked_of, refuse_options
from dra_lab.cli.options import cluster_of, print_answer, release_of
from dra_lab.cli.output import print_findings, print_yaml
from dra_lab.cli.workload_options import namespace_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.plan import Plan
from dra_lab.planner.waiting import command_waits

if TYPE_CHECKING:
    from dra_lab.exports.bundle import Bundle
    from dra_lab.exports.workload_file import WorkloadFile
    from dra_lab.words.document import Part

_SECONDS = 60.0


def run_gang_export(options: argparse.Namespace) -> int:
    """Plan the gang, write or print its files, and return the exit status of the answer.

    Raises InputError for options that have no meaning for gangs.
    """
    from dra_lab.exports.gangs.gang_bundle import PlannedGang, gang_bundle
    from dra_lab.planner.questions import plan_workloads

    _refuse(options)
    gangs, release = asked_of(options), release_of(options)
    one = _only(gangs)
    if options.pin and not one.gang.level:
        raise InputError("--pin holds a gang to its planned domain, and this gang requires no level; give --level NAME")
    workload, has_claims = _workload(options, one)
    with command_waits() as (show, cancel):
        plan = plan_workloads(
            gangs.cluster, [one.gang], release=release, time_limit=_SECONDS, progress=show, cancel=cancel
        )
    findings = (*(_placeholders(one) if workload is None else ()), *gangs.findings)
    given: dict[str, Any] = {"queue": one.queue, "requests": one.requests, "findings": findings}
    planned = PlannedGang(one.gang, one.hierarchy, plan, gangs.cluster, cluster_of(options), release, **given)
    pods: dict[str, Any] = {"namespace": namespace_of(options), "workload": workload, "has_claims": has_claims}
    return _write(options, gang_bundle(planned, options.scheduler, pin=options.pin, **pods), plan)


def _refuse(options: argparse.Namespace) -> None:
    """Raise InputError for what an export of a gang lacks or cannot use."""
    from dra_lab.exports.gangs.gang_files import SCHEDULERS

    refuse_options(options)
    if not options.scheduler:
        raise InputError(f"--scheduler is missing: a gang is written for one of {', '.join(SCHEDULERS)}")
    given = {
        "--container": options.container,
        "--patch": options.patch,
        "--measure": options.measure,
        "--example": options.example,
        "--annotate": options.annotate,
        **{f"--{name}": True for name in options.extra},
        "--kind claim": options.kind != "template",
        f"--api-version {options.api_version}": options.api_version != "v1",
    }
    for name, value in given.items():
        if value:
            raise InputError(f"{name} is not for the files of a gang; leave it out")


def _only(given: Asked) -> GangInput:
    """Return the gang of a command. Raises InputError if there are several, or workloads beside it."""
    if len(given.gangs) > 1 or given.workloads:
        names = ", ".join([*(one.gang.name for one in given.gangs), *(pod.name for pod in given.workloads)])
        raise InputError(f"one gang is exported at a time, and these are several: {names}; give each its own --dir")
    return given.gangs[0]


def _workload(options: argparse.Namespace, one: GangInput) -> tuple[WorkloadFile | None, bool]:
    """Return the workload that gets the levels of the gang (None without --workload), and whether it has the claims.

    Raises InputError if the claims of another file's pods would be lost.
    """
    from dra_lab.exports.workload_file import pod_templates, read_workload
    from dra_lab.manifests.device_asks import requested_devices

    if options.workload is None:
        return None, False
    source, file = Path(one.source).resolve(), options.workload.resolve()
    if source == file or source in file.parents:
        asking = [field.template for field in pod_templates(options.workload) if requested_devices(field.spec)]
        return read_workload(options.workload, options.template or asking), True
    if one.of_pods:
        message = f"the pods of {one.source} have their own claims"
        raise InputError(f"{message}; give --workload the same file, or --claim a claim")
    return read_workload(options.workload, options.template), False


def _placeholders(one: GangInput) -> Iterator[Finding]:
    """Yield that the pods of a file are not among the files that are written."""
    if one.of_pods:
        message = f"the files have example pods; the containers of {one.source} are not in them"
        advice = "--workload FILE with the same file writes the levels and the node affinity into it."
        yield Finding("gang-example-pods", Severity.WARNING, one.gang.name, message, advice)


def _write(options: argparse.Namespace, made: Bundle, plan: Plan) -> int:
    """Write or print the files and the answer, or say why nothing is written; return the exit status."""
    from dra_lab.exports.bundle import write_bundle
    from dra_lab.exports.gangs.gang_bundle import FRAGMENTS, NOT_SIMULATED, title_of
    from dra_lab.words.answer_sentence import answer_sentence
    from dra_lab.words.document import Lines, Sentence, Words
    from dra_lab.words.plan_json import answer_json, plan_outcome

    outcome, yaml = plan_outcome(plan), options.format == "yaml"
    refused = made.is_worse and not options.allow_worse
    files = [] if yaml or refused else [*map(str, write_bundle(options.dir, made, overwrite=options.overwrite))]
    sentence, record, status = answer_sentence(plan), made.record, status_of(outcome)
    if yaml:
        print_yaml({name: text for name, text in made.texts.items() if not refused and name not in FRAGMENTS})
        print_findings(options, made.findings)
    else:
        own = {name: record[name] for name in ("scheduler", "notExpressed")} | {"pods": record["plan"]["pods"]}
        more: dict[str, Any] = {"asPlanned": None, "reasons": [NOT_SIMULATED], "files": files}
        value = answer_json("Export", outcome, made.findings, record["plan"]["goals"], **own, **more)
        parts: list[Part] = [Sentence(sentence)]
        if files:
            parts.append(Lines(f"What {title_of(options.scheduler)} cannot express", record["notExpressed"]))
            parts.append(Lines("Files", files))
            parts.append(Words(f"Apply them: kubectl apply -k {shlex.quote(str(options.dir))}"))
        print_answer(options, lambda: value, parts, made.findings, outcome)
    if refused:
        print(f"error: nothing is written. {made.worse} --allow-worse writes the files as they are.", file=sys.stderr)
        return 1 if made.errors and outcome == "fits" else status
    return status
