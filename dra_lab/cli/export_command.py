"""`dra-lab export`: the manifests of a claim as a folder for Git."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.claim_option import MOST_REPLICAS
from dra_lab.cli.options import (
    add_cluster,
    add_planning,
    add_what_if,
    cluster_of,
    print_answer,
    release_of,
    session_of,
    setting_of,
)
from dra_lab.cli.output import add_output, add_write, print_findings, print_yaml, refuse_write
from dra_lab.cli.pod_option import pod_of
from dra_lab.cli.workload_options import add_gangs, add_workloads, is_fleet, is_gang, namespace_of, workloads_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding
from dra_lab.model.plan import Plan

if TYPE_CHECKING:
    from dra_lab.exports.bundle import Bundle, Wanted
    from dra_lab.gitops.claims_of_file import ReadPod
    from dra_lab.session import Session
    from dra_lab.words.document import Part

_API_VERSIONS = ("v1", "v1beta2", "v1beta1")
_EXAMPLES = ("pod", "deployment", "statefulset", "job", "none")


EXAMPLES = (
    "dra-lab export sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs --pin --dir out/",
    "dra-lab export cluster/ --claim claim.yaml --workload deployment.yaml --pin --dir patched/",
    "dra-lab export cluster/ --claim claim.yaml --pin -o yaml > claim-pinned.yaml",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from dra_lab.exports.readme import EXTRA_FILES

    add_cluster(parser)
    add_planning(parser)
    add_workloads(parser)
    add_gangs(parser)
    text = "for a gang, the scheduler that the files are for"
    parser.add_argument("--scheduler", choices=("kueue", "kai", "volcano", "kube-scheduler"), help=text)
    add_what_if(parser)
    add_write(parser)
    text = "write two Jobs instead that measure the bandwidth with and without the link (nccl-tests or ib_write_bw)"
    parser.add_argument("--measure", action="store_true", help=text)
    text = "write the manifests even if kube-scheduler does not allocate the plan with them"
    parser.add_argument("--allow-worse", action="store_true", help=text)
    target = parser.add_argument_group("target")
    target.add_argument("--api-version", choices=_API_VERSIONS, default="v1", help="of resource.k8s.io")
    target.add_argument(
        "--kind",
        choices=("template", "claim"),
        default="template",
        help="template: each pod gets its own devices; claim: all pods that name it share the same devices",
    )
    target.add_argument("--namespace", default="", help="namespace of the claim and its workload")
    target.add_argument("--pin", action="store_true", help="add the pins that make kube-scheduler allocate the plan")
    use = parser.add_argument_group("workload")
    text = "an example that uses the claim; default: pod, deployment with replicas, or the workload's own kind"
    use.add_argument("--example", choices=_EXAMPLES, help=text)
    text = "any object with a pod template; writes a patched copy, planned with its number of replicas"
    use.add_argument("--workload", type=Path, metavar="FILE", help=text)
    text = "with --workload: the pod template that gets the claim, by its path in the file (repeatable)"
    use.add_argument("--template", action="append", default=[], metavar="PATH", help=text)
    use.add_argument(
        "--container",
        default="",
        metavar="NAME",
        help="the container that gets the devices; default: the one that requests devices today, or the first",
    )
    use.add_argument("--patch", action="store_true", help="write a kustomize component instead of the patched copy")
    more = parser.add_argument_group("extra files")
    for name, extra in EXTRA_FILES.items():
        more.add_argument(f"--{name}", dest="extra", action="append_const", const=name, default=[], help=extra.words)
    more.add_argument("--annotate", action="store_true", help="add version and digests to the claim")
    add_output(parser, "yaml")
    parser.set_defaults(run=run)


def _refuse_too_many(pods: int, source: object) -> None:
    if pods > MOST_REPLICAS:
        number = f"{pods:,}" if pods < 10**18 else "too many"
        raise InputError(f"{source} wants {number} replicas; at most {MOST_REPLICAS:,} are planned. Give --replicas N.")


def _refuse(options: argparse.Namespace) -> None:
    """Raise InputError for options at odds."""
    if options.scheduler:
        raise InputError(
            f"--scheduler {options.scheduler} is for a gang; write --gang SIZE after --claim, or leave it out"
        )
    if options.patch and options.format == "yaml":
        raise InputError("-o yaml prints manifests, and --patch writes a kustomize component; give --dir instead")
    if options.patch and options.workload is None:
        raise InputError("--patch needs --workload FILE, the workload that the patch is for")
    if options.workload and options.example not in (None, "none"):
        raise InputError("use --example or --workload FILE, not both, because the patched copy replaces the example")
    if options.template and options.workload is None:
        raise InputError("--template needs --workload FILE, the workload whose pod templates it names")


def _refuse_empty(source: str, requests: Sequence[object]) -> None:
    """Raise InputError for a claim without a request."""
    if not requests:
        raise InputError(f"{source} requests no device, so there is nothing to write; add a request")


def run(options: argparse.Namespace) -> int:
    """Plan, run first fit on the manifests, write them, print their paths. Raises InputError for options at odds."""
    from dra_lab.exports.bundle import Wanted
    from dra_lab.exports.workload_file import read_workload
    from dra_lab.session.outputs import bundle, drawn_of
    from dra_lab.sketch.claim_objects import Target
    from dra_lab.words.answer_sentence import answer_sentence

    refuse_write(options)
    fleet = is_fleet(options)
    if is_gang(options):
        from dra_lab.cli.gang_export import run_gang_export

        return run_gang_export(options)
    _refuse(options)
    workload = read_workload(options.workload, options.template) if options.workload else None
    pod = None if fleet else pod_of(options)
    if pod is not None:
        _refuse_too_many(pod.replicas, options.claim)
        options.claims = [options.claims[0]._replace(replicas=pod.replicas)]
    many = is_fleet(options) and (len(options.claims) > 1 or options.claims[0].replicas != 1)
    example = options.example or (_like(pod) if pod else "deployment" if many else "pod")
    wanted = Wanted(
        example, workload, options.container, options.patch, extra=tuple(options.extra), annotate=options.annotate
    )
    pods = workload.pods if workload is not None and not is_fleet(options) else 1
    if pods > 1 and options.kind == "template" and not options.node:
        _refuse_too_many(pods, options.workload)
        print(
            f"note: {pods} replicas are planned, as {options.workload} says; --replicas N plans another number",
            file=sys.stderr,
        )
        options.claims = [options.claims[0]._replace(replicas=pods)]
    if is_fleet(options):
        return _run_fleet(options, wanted)
    session = session_of(options)
    plan: Plan = session.plan()
    session.wait()
    if options.measure:
        return _measure(options, session)
    _refuse_empty(options.claim, session.sketch.requests)
    target = Target(session.release, options.api_version, options.kind, namespace_of(options))
    made = bundle(drawn_of(session), target, wanted, pin=options.pin)
    # the session searched the manifest without pins: what is written was searched again
    others = (finding for finding in session.findings if not finding.rule.startswith("manifest-"))
    return _write(options, made, answer_sentence(plan, session.cluster), (*made.findings, *others))


def _measure(options: argparse.Namespace, session: Session) -> int:
    """Write the Jobs that measure the links, print their paths."""
    from dra_lab.session.outputs import measure
    from dra_lab.words.document import Lines, Sentence
    from dra_lab.words.plan_json import answer_json

    if options.format == "yaml":
        raise InputError("--measure writes a folder of Jobs; leave out -o yaml, and give --dir")
    written = measure(session, options.dir, namespace=namespace_of(options), overwrite=options.overwrite)
    files = [*map(str, written)]
    parts = (Sentence("Wrote two Jobs that measure the bandwidth with the link and without it."), Lines("Files", files))
    return print_answer(options, lambda: answer_json("Export", "fits", files=files), parts)


def _write(options: argparse.Namespace, made: Bundle, sentence: str, findings: Iterable[Finding]) -> int:
    """Write or print an export and its answer, or say why nothing is written; return the exit status of its answer."""
    from dra_lab.exports.bundle import write_bundle
    from dra_lab.exports.simulation import exit_status
    from dra_lab.words.plan_json import answer_json

    refused = made.is_worse and not options.allow_worse
    yaml = options.format == "yaml"
    writes = not (yaml or refused)
    files = [*map(str, write_bundle(options.dir, made, overwrite=options.overwrite))] if writes else []
    answer, plan, findings = made.record["answer"], made.record["plan"], tuple(findings)
    if not yaml:
        known = {key: plan[key] for key in ("node", "devices", "pods") if key in plan}
        more = {**known, "asPlanned": answer["asPlanned"], "reasons": answer["reasons"], "files": files}
        value = answer_json("Export", answer["outcome"], findings, plan["goals"], **more)
        print_answer(options, lambda: value, _parts(options, answer, sentence, files), findings, answer["outcome"])
    else:
        print_yaml({} if refused else made.texts)
        print_findings(options, findings)
    if refused:
        print(f"error: {made.refusal('--pin', '--allow-worse')}", file=sys.stderr)
        return exit_status(answer)
    if made.is_worse:
        print(f"warning: {made.simulation.sentence}", file=sys.stderr)
    return exit_status(answer, allow_worse=options.allow_worse)


def _parts(
    options: argparse.Namespace, answer: Mapping[str, Any], sentence: str, files: Sequence[str]
) -> Iterator[Part]:
    """Yield the answer, whether kube-scheduler does as planned, the files, and the command that applies them."""
    from dra_lab.words.document import Lines, Sentence, Words

    how = {True: "allocates every replica as planned", False: "does not allocate every replica as planned"}
    does = f"kube-scheduler {how.get(answer['asPlanned'], 'may allocate other devices than planned')}."
    yield Sentence(f"{sentence} {does}" if answer["outcome"] == "fits" else sentence)
    if files:
        apply = "-k" if "kustomization.yaml" in {Path(file).name for file in files} else "-f"
        yield Lines("Files", files)
        yield Words(f"Apply them: kubectl apply {apply} {shlex.quote(str(options.dir))}")


def _like(pod: ReadPod) -> str:
    """Return the example that is most like the workload of a pod that was given."""
    kind = pod.subject.partition("/")[0].lower() or "pod"
    return kind if kind in _EXAMPLES else "deployment"


def _run_fleet(options: argparse.Namespace, wanted: Wanted) -> int:
    """Place the replicas, run first fit on their manifests, write them, print their paths."""
    from dra_lab.planner.questions import plan_workloads
    from dra_lab.session.outputs import Planned, bundle
    from dra_lab.sketch.claim_objects import Target
    from dra_lab.words.answer_sentence import answer_sentence

    if options.node:
        raise InputError(
            "--node is for one claim without --replicas; leave it out, because replicas go to any node on which "
            "they fit"
        )
    cluster = cluster_of(options)
    target = Target(release_of(options), options.api_version, options.kind, namespace_of(options))
    planned = workloads_of(options.claims, cluster, target.release)
    for pod in planned.workloads:
        _refuse_empty(pod.name, [request for claim in pod.claims for request in claim.requests])
    cluster = planned.cluster
    goals = setting_of(options, "goals")
    plan = plan_workloads(
        cluster, planned.workloads, release=target.release, goals=goals, objective=options.objective, first_fit=False
    )
    made = bundle(Planned(cluster, plan), target, wanted, pin=options.pin)
    return _write(options, made, answer_sentence(plan), (*planned.findings, *made.findings))
