"""`dra-lab plan`: the best allocation of a claim, or of many replicas, on a cluster, or the reason why not."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dra_lab.cli.options import (
    add_cluster,
    add_planning,
    add_what_if,
    findings_of,
    plan_with_bar,
    print_answer,
    seconds,
    session_of,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.pod_option import plan_pod
from dra_lab.cli.workload_options import add_gangs, add_workloads, is_fleet, is_gang, run_fleet
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import ReadPod


EXAMPLES = (
    "dra-lab plan sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs",
    "dra-lab plan cluster/ --claim claim.yaml --replicas 8 -v",
    'dra-lab plan sample:h100-pod --claim sample:h100-pod/eight-pairs --gang 3 --level "leaf switch"',
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    add_planning(parser)
    add_workloads(parser)
    add_gangs(parser)
    add_what_if(parser)
    parser.add_argument(
        "--time-limit", type=seconds, metavar="S", help="seconds after which to return the best plan so far"
    )
    text = "bandwidths that you measured with the link and without it; they replace the published range"
    parser.add_argument("--measured", type=measured, metavar="WITH:WITHOUT", help=text)
    add_output(parser, all_of_it="print the whole answer: goals with proof, bandwidth with sources, nodes, reasons")
    parser.set_defaults(run=run)


def measured(text: str) -> tuple[float, float]:
    """Return two bandwidths. Raises argparse's error for anything but two numbers above 0."""
    near, colon, far = text.partition(":")
    try:
        found = float(near), float(far)
    except ValueError:
        found = (0.0, 0.0)
    if not colon or not all(0 < value < math.inf for value in found):
        raise argparse.ArgumentTypeError(f"{text!r}: give two numbers above 0 as WITH:WITHOUT, for example 46.1:25.3")
    return found


def run(options: argparse.Namespace) -> int:
    """Plan and print the answer; replicas are the business of `workload_options`, gangs of `gang_command`."""
    fleet = is_fleet(options)
    if is_gang(options):
        from dra_lab.cli.gang_command import run_gangs

        return run_gangs(options)
    if fleet:
        return run_fleet(options)
    from dra_lab.pinning.pod_start import searched

    pod = plan_pod(options)
    if pod is not None:
        return _print(options, pod.plan, pod.cluster, (*_one_of_many(options, pod.pod), *pod.findings))
    session = session_of(options)
    plan = plan_with_bar(session)
    session.wait()
    if options.measured:
        session.measured(*options.measured)
        plan = session.plan()
        session.wait()
    plan, findings = searched(plan, findings_of(options, session))
    return _print(options, plan, session.cluster, findings)


def _one_of_many(options: argparse.Namespace, pod: ReadPod) -> Iterator[Finding]:
    """Yield that one pod was planned where its workload runs several."""
    if pod.replicas < 2:
        return
    message = f"{options.claim} says {pod.replicas} replicas; this is the plan of one of them"
    if pod.allocated or pod.shared:
        names = ", ".join(sorted({*pod.shared, *(claim.metadata.name for claim in pod.allocated)}))
        advice = f"They share {names}, which is allocated once: dra-lab check answers such pods together."
    else:
        advice = f"--replicas {pod.replicas} behind --claim places all of them; dra-lab check says how many fit."
    yield Finding("one-replica-planned", Severity.NOTE, pod.subject, message, advice)


def _print(options: argparse.Namespace, plan: Plan, cluster: Cluster, findings: Sequence[Finding]) -> int:
    """Print the answer, and its findings on standard error; return the exit status."""
    from dra_lab.words.plan_document import NAMES, detailed_parts
    from dra_lab.words.plan_json import plan_json
    from dra_lab.words.plan_outcome import pod_outcome

    # those of the plan are among the findings that go to standard error
    parts = detailed_parts(replace(plan, findings=()), cluster, names=NAMES, detail=options.detail)
    whole = replace(plan, findings=tuple(findings))
    return print_answer(options, lambda: plan_json(whole), parts, findings, pod_outcome(plan))
