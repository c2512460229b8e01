"""`dra-lab draw`: the hardware of a node as a picture or a self-contained page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dra_lab.cli.options import (
    CLAIM_HELP,
    POD_HELP,
    add_cluster,
    add_planning,
    cluster_of,
    findings_of,
    session_of,
    status_of,
    tell_misfit,
)
from dra_lab.cli.pods import plan_pod
from dra_lab.cli.status import FITS
from dra_lab.model.plan import Plan


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    parser.add_argument("--claim", metavar="FILE", help=CLAIM_HELP)
    parser.add_argument("--pod", default="", metavar="NAME", help=POD_HELP)
    add_planning(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.svg or FILE.html")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Draw the node, with the plan of a claim where one is given."""
    from dra_lab.exports.starts import searched
    from dra_lab.session.outputs import manifest, picture_page

    if not options.claim:
        picture_page(cluster_of(options), None, options.node, options.output)
        print(f"wrote {options.output}", file=sys.stderr)
        return FITS
    pod = plan_pod(options)
    if pod is not None:
        picture_page(pod.cluster, pod.plan, options.node, options.output, pod.manifests)
        for finding in pod.pod.findings:
            print(finding, file=sys.stderr)
        return _drawn(options, pod.plan)
    session = session_of(options)
    plan: Plan = session.plan()
    session.wait()
    plan, _ = searched(plan, findings_of(options, session))
    picture_page(session.cluster, plan, options.node, options.output, manifest(session).text)
    return _drawn(options, plan)


def _drawn(options: argparse.Namespace, plan: Plan) -> int:
    """Say what was written, and why no pod starts if none does; return the exit status."""
    status = status_of(plan)
    if status:
        tell_misfit(plan)
    print(f"wrote {options.output}", file=sys.stderr)
    return status
