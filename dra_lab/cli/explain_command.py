"""`dra-lab explain`: why a pod is pending, why a claim fits on a node or not, and kube-scheduler's search there."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from dra_lab.cli.claim_option import add_one_claim
from dra_lab.cli.explain_pod import explain_pods, explain_written_pod
from dra_lab.cli.options import (
    POD_HELP,
    ClaimOptions,
    add_cluster,
    add_planning,
    add_what_if,
    cluster_of,
    findings_of,
    plan_with_bar,
    print_answer,
    session_of,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.pod_option import plan_pod
from dra_lab.cli.workload_options import add_gangs, is_gang, what_to_try
from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.findings import Finding
from dra_lab.index.pools import pools_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.model.trace import Trace
from dra_lab.topology.locality import device_names

if TYPE_CHECKING:
    from dra_lab.planner.why.why_not import WhyNot
    from dra_lab.words.drawing_words import Noun

EXAMPLES = (
    "dra-lab explain dump.json --pod team-a/train-7",
    "dra-lab explain cluster/ --claim claim.yaml --device gpu-0 -o json",
    'dra-lab explain sample:h100-pod --claim sample:h100-pod/eight-pairs --gang 3 --level "leaf switch"',
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    add_one_claim(parser)
    text = f"the pod of the cluster that is explained (NAMESPACE/NAME); with --claim, {POD_HELP}"
    parser.add_argument("--pod", default="", metavar="NAME", help=text)
    parser.add_argument("--device", default="", metavar="ID", help="why this device: driver/pool/device, or its name")
    text = "show kube-scheduler's search on the node step by step"
    parser.add_argument("--step", action="store_true", help=text)
    add_planning(parser)
    add_gangs(parser)
    text = "with --gang: the scheduler whose choice is explained (default: the two that are replayed)"
    parser.add_argument("--scheduler", choices=("kueue", "kube-scheduler", "kai", "volcano"), help=text)
    add_what_if(parser)
    add_output(parser, all_of_it="print the whole answer: every request's devices, and every step of the search")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan on the node, trace kube-scheduler's search there, and print what is asked for."""
    from dra_lab.words.explain_document import device_parts, node_parts, steps_parts
    from dra_lab.words.plan_json import pod_outcome

    if "claims" not in options and _about_pods(options):
        return explain_pods(options)
    claim = _one_claim(options) if "claims" in options or not options.pod else ClaimOptions("")
    options.claim = claim.claim
    if options.claim and is_gang(options):
        from dra_lab.cli.explain_gang import explain_gangs

        return explain_gangs(options)
    for option, value in (("scheduler", options.scheduler), ("replicas", claim.replicas)):
        if value is not None:
            raise InputError(f"--{option} {value} is for a gang; write --gang SIZE after --claim")
    if options.node:
        cluster_of(options).node_named(options.node)
    status = None if options.step or options.device or not options.claim else explain_written_pod(options)
    if status is not None:
        return status
    plan, cluster, findings = _planned(options)
    trace = _trace(plan, options)
    device = _device(trace, cluster, options.device) if options.device else None
    node = options.node or plan.node or (trace.node if trace is not None else "")
    found, names = (None, {}) if device or options.step else _tests(plan, cluster, node)
    if device is not None and trace is not None:
        parts = device_parts(plan, trace, device, options.detail)
    elif options.step and trace is not None:
        from dra_lab.words.trace_words import Names

        parts = steps_parts(trace, options.detail, Names(device_names(cluster, trace.node)))
    else:
        parts = node_parts(plan, trace, options.detail, found, names, cluster)
    answer = partial(_json, plan, trace, device, found, names)
    return print_answer(options, answer, parts, findings, pod_outcome(plan))


def _about_pods(options: argparse.Namespace) -> bool:
    """Say whether pods of the cluster are explained: one is named, or the cluster has pods."""
    if options.step or options.device:
        return False
    return bool(options.pod) or bool(cluster_of(options).pods)


def _one_claim(options: argparse.Namespace) -> ClaimOptions:
    """Return the only --claim of a command. Raises InputError without one, or for several."""
    if "claims" not in options:
        from dra_lab.gitops.pending import READ_PODS

        pods = "" if options.cluster.startswith("sample:") else f". To explain pending pods, read them too: {READ_PODS}"
        raise InputError(f"--claim is missing; {what_to_try(options.cluster)}{pods}")
    if len(options.claims) > 1:
        names = " and ".join(one.claim for one in options.claims)
        raise InputError(f"one --claim is explained at a time; leave out one of {names}")
    claim: ClaimOptions = options.claims[0]
    return claim


def _planned(options: argparse.Namespace) -> tuple[Plan, Cluster, Iterable[Finding]]:
    from dra_lab.pinning.pod_start import searched

    pod = plan_pod(options)
    if pod is not None:
        return pod.plan, pod.cluster, pod.findings
    session = session_of(options)
    plan = plan_with_bar(session)
    session.wait()
    plan, findings = searched(plan, findings_of(options, session))
    return plan, session.cluster, findings


def _trace(plan: Plan, options: argparse.Namespace) -> Trace[FirstFit] | None:
    """Return kube-scheduler's search, None where the claim or the cluster gives none. Raises InputError if needed."""
    try:
        return plan.trace(options.node)
    except (InputError, UnsupportedFeature):
        if options.step or options.device:
            raise
        return None


def _tests(plan: Plan, cluster: Cluster, node: str) -> tuple[WhyNot | None, dict[str, Noun]]:
    """Return the tests of each request's devices on a node, with the nouns of the requests; None for no node."""
    from msgspec.structs import replace

    from dra_lab.planner.why.why_not import WhyNot, why_not
    from dra_lab.words.drawing_words import nouns

    if not node or not plan.sketch.requests:
        return None, {}
    release, own = cluster.target_release(KubernetesRelease(plan.release)), plan.workloads[0].claims
    claims = {claim.name if len(own) > 1 else "": claim for claim in own}
    found = {name: why_not(cluster, sketch, node, release) for name, sketch in claims.items()}
    called = {name: f"{name}:" if name else "" for name in claims}
    merged = WhyNot(
        node,
        plan.fits,
        tuple(replace(f, request=called[name] + f.request) for name, one in found.items() for f in one.funnels),
        tuple(shortfall for one in found.values() for shortfall in one.shortfalls),
        {called[name] + request: users for name, one in found.items() for request, users in one.users.items()},
        use_known=cluster.claims_known,
    )
    every = ((called[name], nouns(sketch, cluster, release)) for name, sketch in claims.items())
    return merged, {name + request: noun for name, known in every for request, noun in known.items()}


def _device(trace: Trace[FirstFit] | None, cluster: Cluster, text: str) -> DeviceID:
    """Return the device of an id, or of a name or published name of one device of the node. Raises InputError."""
    node = trace.node if trace is not None else ""
    gates = gates_of(KubernetesRelease(trace.release if trace is not None else cluster.default_release))
    there = [place.id for pool in pools_of(cluster, node, gates) for place in pool.devices]
    names = device_names(cluster, node) if node else {}
    found = [device for device in there if text in (str(device), device.device, names.get(device))]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{len(found)} devices of {node} are called {text}: {', '.join(map(str, found[:4]))}")
    from difflib import get_close_matches

    known = [*map(str, there), *(device.device for device in there), *names.values()]
    near = get_close_matches(text, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; it has {len(there)} devices, which dra-lab draw shows"
    raise InputError(f"there is no device {text!r} on {node}{hint}")


def _json(
    plan: Plan,
    trace: Trace[FirstFit] | None,
    device: DeviceID | None,
    tests: WhyNot | None,
    names: dict[str, Noun],
) -> dict[str, object]:
    from dra_lab.words.explain_document import device_json, funnel_json, trace_json
    from dra_lab.words.plan_json import plan_json

    found = {**plan_json(plan), "kind": "Explanation"}
    if tests is not None:
        found["tests"] = funnel_json(tests, names)
    if trace is not None:
        found["scheduler"] = trace_json(trace)
        if device is not None:
            found["device"] = device_json(trace, device)
    return found
