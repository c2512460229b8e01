"""`dra-lab check`: manifests in Git against a cluster: valid, matched, fitting, how often, how well aligned."""

from __future__ import annotations

import argparse
import json
import sys

from dra_lab.cli.options import FITS, NOT, UNANSWERED, Commands, add_cluster, cluster_of, seconds
from dra_lab.model.release import RELEASES, KubernetesRelease


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "check manifests in files and folders against a cluster, for CI"
    parser = commands.add_parser("check", help=text, description=_DESCRIPTION)
    add_cluster(parser)
    parser.add_argument("paths", metavar="PATH", nargs="+", help="files, folders, or - for what kustomize prints")
    parser.add_argument("--release", choices=RELEASES, default="", help="default: the lowest kubelet version read")
    parser.add_argument("--now", action="store_true", help="count the devices that are in use")
    parser.add_argument("--format", choices=("text", "json", "sarif", "junit"), default="text")
    parser.add_argument("--time-limit", type=seconds, default=60.0, metavar="S", help="for all planning (default: 60)")
    parser.set_defaults(run=run)


_DESCRIPTION = (
    "Is each object valid for the API server, does every selector match something, does every workload fit, how many "
    "times, with what alignment? Nothing counts as in use unless --now is given. Exit status 0: valid and everything "
    "fits; 1: not; 2: it could not be decided."
)


def run(options: argparse.Namespace) -> int:
    """Check, print the report, return the exit status."""
    from dra_lab import __version__
    from dra_lab.gitops.check import check_manifests
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.report_json import review_json, review_junit, review_sarif
    from dra_lab.gitops.report_text import review_text

    review = check_manifests(
        cluster_of(options),
        read_manifests(options.paths),
        release=KubernetesRelease(options.release) if options.release else None,
        now=options.now,
        time_limit=options.time_limit,
    )
    if options.format == "text":
        sys.stdout.write(review_text(review))
    elif options.format == "junit":
        sys.stdout.write(review_junit(review))
    else:
        value = review_json(review) if options.format == "json" else review_sarif(review, __version__)
        print(json.dumps(value, indent=2, ensure_ascii=False))
    if review.valid:
        return FITS
    return NOT if review.errors else UNANSWERED
