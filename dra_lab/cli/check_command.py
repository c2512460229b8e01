"""`dra-lab check`: manifests in Git against a cluster: valid, matched, fitting, how often, how well aligned."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.options import add_cluster, add_release, cluster_of, print_answer, release_of, seconds, version
from dra_lab.cli.output import FITS, UNANSWERED, add_output, print_json, print_parts, status_of
from dra_lab.errors import InputError
from dra_lab.model.release import RELEASES, KubernetesRelease, can_set, read_gates

if TYPE_CHECKING:
    from dra_lab.gitops.compare import Comparison
    from dra_lab.gitops.report import Report

EXAMPLES = (
    "dra-lab check cluster/ manifests/",
    "dra-lab check cluster/ manifests/ -o sarif > dra-lab.sarif",
    "dra-lab check cluster/ manifests/ --baseline main -o markdown > summary.md",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = _DESCRIPTION
    add_cluster(parser)
    without = any(word.partition("=")[0] in ("--rule", "--upgrade") for word in getattr(parser, "words", ()))
    text = "files, folders, or - for the output of kustomize"
    parser.add_argument("paths", metavar="PATH", nargs="*" if without else "+", help=text)
    text = "instead of PATH: what the DeviceTaintRule of this file would do, and where the pods that it evicts can go"
    parser.add_argument("--rule", metavar="FILE", help=text)
    add_release(parser)
    text = (
        "report which answers about the cluster and the manifests change up to this release; PATH is optional, and "
        "the upgrade starts at --release"
    )
    parser.add_argument("--upgrade", type=version, choices=RELEASES, default="", help=text)
    parser.add_argument("--now", action="store_true", help="count the devices that are in use")
    add_output(parser, "sarif", "markdown", all_of_it="print every object and every finding")
    parser.add_argument(
        "--allow-unchecked", action="store_true", help="exit status 0 even if some objects are not checked"
    )
    parser.add_argument(
        "--allow-worse",
        action="store_true",
        help="accept an exported folder whose replicas kube-scheduler does not allocate as planned",
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=60.0,
        metavar="S",
        help="time for planning each review, in seconds (default: 60)",
    )
    text = "report only what is new since this git revision, and how each claim changed"
    parser.add_argument("--baseline", metavar="REF", help=text)
    text = "with --baseline and -o markdown: also write summary.md and pictures of what changed to this folder"
    parser.add_argument("--dir", type=Path, metavar="DIR", help=text)
    parser.add_argument(
        "--fix", action="store_true", help="first correct mistakes that have only one sensible correction, in the files"
    )


_DESCRIPTION = (
    "Checks that each object is valid for the API server, that its selectors match devices, and that its workload "
    "fits: how many replicas fit, and how well aligned they are. Devices in use count only with --now. The first "
    "line counts the objects that are valid and fit, those that do not, and those that are not checked. A pod is "
    "not checked if a claim or template that "
    "it names is neither in the files nor in the cluster, or if a device plugin serves its devices. Exit status "
    "0: valid, and everything fits; 1: something does not; 2: something is not checked. With --rule, 0: every pod "
    "that the rule evicts fits elsewhere; 1: one has no place. With --upgrade, 0: nothing stops working; 1: something "
    "does; 2: something is not decided."
)


def run(options: argparse.Namespace) -> int:
    """Check, print the report, return the exit status. Raises InputError for --dir without what it is for."""
    if options.rule:
        return _explain_rule(options)
    report = _upgrade(options) if options.upgrade else _manifests(options)
    if options.format == "text":
        print_parts(report.parts(options.detail), report.outcome)
    elif options.format == "markdown":
        sys.stdout.write(report.markdown())
    else:
        print_json(report.json() if options.format == "json" else report.sarif())
    status = status_of(report.outcome)
    return FITS if status == UNANSWERED and options.allow_unchecked else status


def _explain_rule(options: argparse.Namespace) -> int:
    """Print what a DeviceTaintRule would do; return the exit status. Raises InputError for options of manifests."""
    from dra_lab.gitops.explain import explain
    from dra_lab.words.explain_document import explanation_json, explanation_parts, rule_outcome

    refused = {
        "PATH": options.paths,
        "--baseline": options.baseline,
        "--dir": options.dir,
        "--fix": options.fix,
        "--now": options.now,
        "--upgrade": options.upgrade,
        f"-o {options.format}": options.format not in ("text", "json"),
    }
    for name, given in refused.items():
        if given:
            raise InputError(f"{name} is for manifests; leave it out with --rule")
    cluster, release = cluster_of(options), release_of(options)
    found = explain(cluster, rule=options.rule, release=release, time_limit=options.time_limit)
    answer = partial(explanation_json, found)
    return print_answer(options, answer, explanation_parts(found), cluster.findings, rule_outcome(found))


def _upgrade(options: argparse.Namespace) -> Report:
    """Return what changes up to a newer release. Raises InputError for one that is not newer."""
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.report import upgrade_report
    from dra_lab.gitops.upgrade import compare_releases, refuse_older

    for name, given in {"--baseline": options.baseline, "--dir": options.dir, "--fix": options.fix}.items():
        if given:
            raise InputError(f"{name} is for one release; leave it out with --upgrade")
    cluster, gates = cluster_of(options), read_gates(options.feature_gates)
    older = KubernetesRelease(options.release or cluster.default_release)
    kept = {gate: value for gate, value in gates.items() if can_set(older.version, gate, on=value)}
    start = cluster.target_release(KubernetesRelease(older.version, kept))
    target = cluster.target_release(KubernetesRelease(options.upgrade, gates))
    refuse_older(start, target, cluster.name)
    return upgrade_report(compare_releases(cluster, read_manifests(options.paths), start, target, **_settings(options)))


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {name: vars(options)[name] for name in ("now", "allow_worse", "time_limit")}


def _manifests(options: argparse.Namespace) -> Report:
    """Return what is right and wrong with manifests, or what is new since a revision."""
    from dra_lab.gitops.check_manifests import check_manifests
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.report import review_report

    if options.dir and not (options.baseline and options.format == "markdown"):
        raise InputError("--dir needs --baseline REF and -o markdown, because it writes that summary")
    if options.fix:
        _fix(options)
    manifests = read_manifests(options.paths)
    if not options.baseline:
        settings = _settings(options)
        return review_report(check_manifests(cluster_of(options), manifests, release=release_of(options), **settings))
    from dra_lab.gitops.compare import changes_report, compare_reviews, read_baseline

    # the revision is read first: an unknown one need not wait for the planning
    baseline = read_baseline(options.baseline, options.paths)
    settings = {"release": release_of(options), **_settings(options)}
    after, before = (check_manifests(cluster_of(options), o, **settings) for o in (manifests, baseline.manifests))
    comparison = compare_reviews(before, after, baseline.words)
    if options.dir:
        _write_summary(options, comparison)
    return changes_report(comparison)


def _write_summary(options: argparse.Namespace, comparison: Comparison) -> None:
    """Write the summary, and pictures of what changed, to the folder of --dir."""
    from dra_lab.gitops.compare import changes_markdown, changes_pictures
    from dra_lab.model.what_if import when_idle
    from dra_lab.sources.drawing_files import write_whole

    cluster = cluster_of(options)
    texts, names = changes_pictures(comparison, cluster if options.now else when_idle(cluster))
    for name, text in {**texts, "summary.md": changes_markdown(comparison, names)}.items():
        write_whole(options.dir / name, text)


def _fix(options: argparse.Namespace) -> None:
    from dra_lab.gitops.corrections import correct_files
    from dra_lab.gitops.folder import read_manifests, with_classes

    if "-" in options.paths:
        raise InputError("--fix changes files, so it cannot use standard input; save it in a file and give its path")
    cluster, manifests = cluster_of(options), read_manifests(options.paths)
    done = correct_files(manifests, with_classes(cluster, manifests), release_of(options))
    for correction in done:
        print(f"fixed: {correction}", file=sys.stderr)
    if not done:
        print("nothing to fix", file=sys.stderr)
