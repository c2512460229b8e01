"""`dra-lab draw`: the hardware of a node as a picture or a self-contained page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as replace_fields

from dra_lab.cli.options import (
    CLAIM_HELP,
    POD_HELP,
    add_cluster,
    add_planning,
    cluster_of,
    print_answer,
    release_of,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.parser import complete_with, drawing_words
from dra_lab.cli.plan_questions import plan_one
from dra_lab.cli.workloads import Asked, asked_pod
from dra_lab.exports.manifests import ManifestText, manifest_yaml
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease

EXAMPLES = (
    "dra-lab draw sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs --file plan.html",
    "dra-lab draw cluster/ --claim claim.yaml --file plan.svg",
    "dra-lab draw cluster/ --file node.svg",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    claim = parser.add_argument("--claim", metavar="FILE", help=CLAIM_HELP)
    complete_with(claim, drawing_words)
    parser.add_argument("--pod", default="", metavar="NAME", help=POD_HELP)
    add_planning(parser)
    parser.add_argument("--file", type=Path, required=True, metavar="FILE", help="the file to write: .svg or .html")
    add_output(parser)
    parser.set_defaults(layers=())


def run(options: argparse.Namespace) -> int:
    """Draw the node, with the plan of a claim where one is given; print the answer and the name of the file."""
    from dra_lab.session import read_plan_file
    from dra_lab.session.outputs import picture_page

    if not options.claim:
        picture_page(cluster_of(options), None, options.node, options.file)
        return _drawn(options)
    asked = asked_pod(options)
    plan, findings = plan_one(options, asked)
    drawing = read_plan_file(options.claim) if asked.pod is None else None
    if drawing is not None:
        # the cluster has the changes already
        drawing = replace_fields(drawing, cluster=asked.cluster.name, layers=())
    picture_page(asked.cluster, plan, options.node, options.file, _manifests(asked, plan, release_of(options)), drawing)
    return _drawn(options, plan, asked.cluster, findings)


def _manifests(asked: Asked, plan: Plan, release: KubernetesRelease) -> ManifestText:
    """Return the claims of the pod as YAML, one manifest after the other."""
    if asked.drawing is not None:
        return manifest_yaml(asked.drawing, asked.cluster, release, plan=plan)
    claims = asked.pod.claims.values() if asked.pod is not None else ()
    return ManifestText("---\n".join(manifest_yaml(one, asked.cluster, release).text for one in claims))


def _drawn(
    options: argparse.Namespace,
    plan: Plan | None = None,
    cluster: Cluster | None = None,
    findings: Sequence[Finding] = (),
) -> int:
    from dra_lab.words.answer_sentence import answer_sentence
    from dra_lab.words.document import Sentence, Words
    from dra_lab.words.plan_json import answer_json, plan_json, pod_outcome

    file = str(options.file)
    written = {"kind": "Picture", "file": file}
    if plan is None:
        return print_answer(options, lambda: answer_json("Picture", "fits", file=file), [Sentence(f"Picture: {file}")])
    parts = (Sentence(answer_sentence(plan, cluster)), Words(f"Picture: {file}"))
    whole = replace(plan, findings=tuple(findings))
    return print_answer(options, lambda: {**plan_json(whole), **written}, parts, findings, pod_outcome(plan))
