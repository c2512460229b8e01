"""`dra-lab export`: the manifests of a claim as a folder for Git."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as changed

from dra_lab.cli.claim_options import (
    MOST_REPLICAS,
    add_question,
    namespace_of,
    refuse_node_of_replicas,
    refuse_options,
)
from dra_lab.cli.options import (
    node_of,
    print_answer,
    release_of,
    setting_of,
)
from dra_lab.cli.output import NOT, add_output, add_write, print_findings, print_yaml, refuse_write, status_of
from dra_lab.cli.plan_questions import plan_asked, plan_one
from dra_lab.cli.workloads import Asked, GangInput, asked_of
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.planner.budget import command_waits

if TYPE_CHECKING:
    from dra_lab.exports.bundle import Bundle, Wanted
    from dra_lab.exports.workload_file import WorkloadFile
    from dra_lab.sketch.claim_objects import Target
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

    add_question(parser)
    text = "for a gang, the scheduler that the files are for"
    parser.add_argument("--scheduler", choices=("kueue", "kai", "volcano", "kube-scheduler"), help=text)
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


def _refuse_too_many(pods: int, source: object) -> None:
    if pods > MOST_REPLICAS:
        number = f"{pods:,}" if pods < 10**18 else "too many"
        raise InputError(f"{source} wants {number} replicas; at most {MOST_REPLICAS:,} are planned. Give --replicas N.")


def _refuse(options: argparse.Namespace) -> None:
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
    if not requests:
        raise InputError(f"{source} requests no device, so there is nothing to write; add a request")


def run(options: argparse.Namespace) -> int:
    """Plan, run first fit on the manifests, write them, print their paths. Raises InputError for options at odds."""
    refuse_write(options)
    asked = asked_of(options)
    if asked.gangs:
        return _export(options, *_gang(options, asked))
    _refuse(options)
    return _export(options, *_pods(options, asked))


def _pods(options: argparse.Namespace, asked: Asked) -> tuple[Asked, Wanted]:
    """Return the pods of a command, with the replicas that their files say, and what is written of them."""
    from dra_lab.exports.bundle import Wanted
    from dra_lab.exports.workload_file import read_workload

    workload = read_workload(options.workload, options.template) if options.workload else None
    kind = "pod"
    if asked.pod is not None:
        _refuse_too_many(asked.pod.replicas, options.claim)
        options.claims = [options.claims[0]._replace(replicas=asked.pod.replicas)]
        kind = asked.pod.subject.partition("/")[0].lower() or "pod"
    elif asked.drawing is None and (len(options.claims) > 1 or options.claims[0].replicas != 1):
        kind = "deployment"
    example = options.example or (kind if kind in _EXAMPLES else "deployment")
    wanted = Wanted(
        example, workload, options.container, options.patch, extra=tuple(options.extra), annotate=options.annotate
    )
    pods = workload.pods if workload is not None and asked.drawing is not None else 1
    if pods > 1 and options.kind == "template" and not options.node:
        _refuse_too_many(pods, options.workload)
        print(
            f"note: {pods} replicas are planned, as {options.workload} says; --replicas N plans another number",
            file=sys.stderr,
        )
        options.claims = [options.claims[0]._replace(replicas=pods)]
    many = asked.alone is None or options.claims[0].replicas is not None
    if many and options.node:
        refuse_node_of_replicas()
    return asked_of(options) if many and asked.alone is not None else asked, wanted


def _export(options: argparse.Namespace, asked: Asked, wanted: Wanted) -> int:
    """Plan what a command asks for, and write its manifests."""
    from dra_lab.session.outputs import Planned, bundle
    from dra_lab.words.answer_sentence import answer_sentence

    if asked.drawing is not None:
        drawing = asked.drawing
        plan, found = plan_one(options, asked, search=False)
        if options.measure:
            return _measure(options, asked.cluster, plan, drawing.name)
        _refuse_empty(options.claim, drawing.requests)
        what = Planned(asked.cluster, plan, drawing, node_of(options), setting_of(options, "goals"))
    else:
        for pod in asked.workloads:
            _refuse_empty(pod.name, [request for claim in pod.claims for request in claim.requests])
        limit = {"time_limit": _SECONDS} if asked.gangs else {}
        with command_waits() as (show, cancel):
            plan = plan_asked(options, asked, show, cancel, first_fit=False, **limit)
        wanted = _as_planned(asked, plan, wanted) if asked.gangs else wanted
        what, found = Planned(asked.cluster, plan), asked.findings
    made = bundle(what, _target(options), wanted, pin=options.pin)
    return _write(options, made, plan, answer_sentence(plan, asked.cluster), (*made.findings, *found))


def _target(options: argparse.Namespace) -> Target:
    from dra_lab.sketch.claim_objects import Target

    return Target(release_of(options), options.api_version, options.kind, namespace_of(options))


def _measure(options: argparse.Namespace, cluster: Cluster, plan: Plan, name: str) -> int:
    from dra_lab.exports.measure import measure_files
    from dra_lab.exports.written_files import write_files
    from dra_lab.manifests.file_text import expanded
    from dra_lab.sketch.claim_objects import Target
    from dra_lab.words.document import Lines, Sentence
    from dra_lab.words.plan_json import answer_json

    if options.format == "yaml":
        raise InputError("--measure writes a folder of Jobs; leave out -o yaml, and give --dir")
    texts = measure_files(cluster, plan, Target(release_of(options), namespace=namespace_of(options)))
    written = write_files(expanded(options.dir), texts, {"name": name}, overwrite=options.overwrite)
    files = [*map(str, written)]
    parts = (Sentence("Wrote two Jobs that measure the bandwidth with the link and without it."), Lines("Files", files))
    return print_answer(options, lambda: answer_json("Export", "fits", files=files), parts)


def _write(options: argparse.Namespace, made: Bundle, plan: Plan, sentence: str, findings: Iterable[Finding]) -> int:
    """Write or print an export and its answer, or say why nothing is written; return the exit status of its answer."""
    from dra_lab.exports.bundle import write_bundle
    from dra_lab.exports.readme import FRAGMENTS
    from dra_lab.exports.simulation import NOT_SIMULATED
    from dra_lab.words.plan_json import answer_json, plan_outcome

    refused = made.is_worse and not options.allow_worse
    yaml = options.format == "yaml"
    files = [] if yaml or refused else [*map(str, write_bundle(options.dir, made, overwrite=options.overwrite))]
    record, findings = made.record, tuple(findings)
    not_simulated = {"outcome": plan_outcome(plan), "asPlanned": None, "reasons": [NOT_SIMULATED]}
    answer: Mapping[str, Any] = record.get("answer", not_simulated)
    if not yaml:
        known = {key: record[key] for key in ("scheduler", "notExpressed") if key in record}
        of_plan = {key: record["plan"][key] for key in ("node", "devices", "pods")}
        more = {**known, **of_plan, "asPlanned": answer["asPlanned"], "reasons": answer["reasons"], "files": files}
        value = answer_json("Export", answer["outcome"], findings, record["plan"]["goals"], **more)
        parts = _parts(options, made, answer, sentence, files)
        print_answer(options, lambda: value, parts, findings, answer["outcome"])
    else:
        print_yaml({} if refused else {name: text for name, text in made.texts.items() if name not in FRAGMENTS})
        print_findings(options, findings)
    return _status(options, made, answer, refused=refused)


def _status(options: argparse.Namespace, made: Bundle, answer: Mapping[str, Any], *, refused: bool) -> int:
    """Return the exit status of an export, after a line about one that does less than the plan."""
    from dra_lab.exports.simulation import exit_status

    if refused:
        print(f"error: {made.refusal('--pin', '--allow-worse')}", file=sys.stderr)
    elif made.is_worse:
        print(f"warning: {made.simulation.sentence}", file=sys.stderr)
    if made.scheduler:
        return NOT if refused and made.errors and answer["outcome"] == "fits" else status_of(answer["outcome"])
    return exit_status(answer, allow_worse=options.allow_worse)


def _parts(
    options: argparse.Namespace, made: Bundle, answer: Mapping[str, Any], sentence: str, files: Sequence[str]
) -> Iterator[Part]:
    """Yield the answer, whether kube-scheduler does as planned, the files, and the command that applies them."""
    from dra_lab.exports.gangs.gang_files import title_of
    from dra_lab.words.document import Lines, Sentence, Words

    how = {True: "allocates every replica as planned", False: "does not allocate every replica as planned"}
    does = f" kube-scheduler {how.get(answer['asPlanned'], 'may allocate other devices than planned')}."
    yield Sentence(sentence + (does if answer["outcome"] == "fits" and not made.scheduler else ""))
    if files:
        if made.scheduler:
            yield Lines(f"What {title_of(made.scheduler)} cannot express", made.record["notExpressed"])
        apply = "-k" if "kustomization.yaml" in {Path(file).name for file in files} else "-f"
        yield Lines("Files", files)
        yield Words(f"Apply them: kubectl apply {apply} {shlex.quote(str(options.dir))}")


_SECONDS = 60.0


def _gang(options: argparse.Namespace, asked: Asked) -> tuple[Asked, Wanted]:
    """Return the gang of a command, and what is written of it.

    Raises InputError for options that have no meaning for gangs.
    """
    from dra_lab.exports.bundle import Wanted

    _refuse_for_gang(options)
    if len(asked.every) > 1:
        names = ", ".join(one.name for one in asked.every)
        raise InputError(f"one gang is exported at a time, and these are several: {names}; give each its own --dir")
    (one,) = asked.gangs
    if options.pin and not one.gang.level:
        raise InputError("--pin holds a gang to its planned domain, and this gang requires no level; give --level NAME")
    workload, has_claims = _workload_of(options, one)
    if has_claims and one.gang.same:
        message = f"--same writes selectors into claims, and the pods of {one.source} keep their own"
        raise InputError(f"{message}; leave --workload out and copy the selectors of the files into your claims")
    given: dict[str, Any] = {"queue": one.queue, "requests": one.requests, "has_claims": has_claims}
    wanted = Wanted(workload=workload, gang=one.gang, scheduler=options.scheduler, **given)
    if workload is None and one.of_pods:
        message = f"the files have example pods; the containers of {one.source} are not in them"
        advice = "--workload FILE with the same file writes the levels and the node affinity into it."
        example = Finding("gang-example-pods", Severity.WARNING, one.gang.name, message, advice)
        asked = changed(asked, findings=(example, *asked.findings))
    return asked, wanted


def _as_planned(asked: Asked, plan: Plan, wanted: Wanted) -> Wanted:
    """Return what is written of a gang as it is planned. Raises InputError if its replicas use different values."""
    planned = asked.planned(plan).gangs
    if len(planned) > 1:
        gang, names = planned[0].gang, f"{planned[0].gang.replicas} of them"
        raise InputError(f"the replicas use different values of {gang.same[0]}; export {names} with --replicas")
    return replace(wanted, gang=planned[0].gang)


def _refuse_for_gang(options: argparse.Namespace) -> None:
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


def _workload_of(options: argparse.Namespace, one: GangInput) -> tuple[WorkloadFile | None, bool]:
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
