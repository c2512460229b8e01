"""`dra-lab explain` of pods: those of the cluster, and the pod of a file that no plan of its devices explains."""

from __future__ import annotations

import argparse
from functools import partial

from dra_lab.cli.options import cluster_of, print_answer, release_of
from dra_lab.cli.pod_option import may_be_pod
from dra_lab.model.pod_reason import Explanation
from dra_lab.words.document import Sentence
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, STOPPED


def explain_pods(options: argparse.Namespace) -> int:
    """Print why pods of the cluster are pending: that of --pod, or every pod that waits for devices."""
    from dra_lab.gitops.pending import explain

    found = explain(cluster_of(options), options.pod, release=release_of(options), node=options.node)
    return _print(options, found)


def explain_written_pod(options: argparse.Namespace) -> int | None:
    """Print why the pod of --claim would stay pending, None if nothing but its devices can keep it pending."""
    if not may_be_pod(options.claim):
        return None
    from dra_lab.gitops.claims_of_file import waiting_pod
    from dra_lab.gitops.pending import blocked_before, reason_of

    waiting = waiting_pod(options.claim, cluster_of(options), release_of(options), pod=options.pod)
    if waiting is None or not blocked_before(waiting, node=options.node):
        return None
    return _print(options, Explanation(waiting.cluster.name, (reason_of(waiting, node=options.node),)))


def _print(options: argparse.Namespace, found: Explanation) -> int:
    from dra_lab.words.explain_document import explanation_json, explanation_parts

    parts = (part for part in explanation_parts(found) if options.detail != "answer" or isinstance(part, Sentence))
    return print_answer(options, partial(explanation_json, found), parts, cluster_of(options).findings, _outcome(found))


def _outcome(found: Explanation) -> str:
    """Return the outcome: a pod with a reason does not fit, one without a known reason is not decided."""
    if any(pod.blocked for pod in found.pods):
        return DOES_NOT_FIT
    return STOPPED if any(pod.rule == "unknown" for pod in found.pods) else FITS
