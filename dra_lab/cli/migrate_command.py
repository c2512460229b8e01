"""`dra-lab migrate`: workloads that ask device plugins become workloads with claims."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.cli.options import add_cluster, add_release, cluster_of, print_answer, release_of
from dra_lab.cli.output import add_output, add_write, print_findings, print_yaml, refuse_write, status_of
from dra_lab.errors import InputError, SourceError
from dra_lab.findings import Severity
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, answer_json

if TYPE_CHECKING:
    from dra_lab.gitops.folder import Manifests
    from dra_lab.gitops.migration import Migration
    from dra_lab.words.document import Part


EXAMPLES = (
    "dra-lab migrate cluster/ old.yaml --dir dra/",
    "dra-lab migrate cluster/ old.yaml --keep-resource-name --dir classes/",
    "dra-lab migrate cluster/ old.yaml -o yaml > new.yaml",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    parser.add_argument("paths", metavar="PATH", nargs="+", help="files or folders with workloads, or -")
    add_write(parser)
    add_release(parser)
    parser.add_argument(
        "--keep-resource-name",
        action="store_true",
        help="leave the workloads as they are; a DeviceClass serves their resource name (extendedResourceName)",
    )
    text = "the class that replaces a resource (repeatable)"
    parser.add_argument("--map", action="append", default=[], metavar="NAME=DEVICECLASS", help=text)
    add_output(parser, "yaml")


def run(options: argparse.Namespace) -> int:
    """Migrate, write the files, print the answer; findings on standard error."""
    from dra_lab.exports.bundle import KUSTOMIZATION, kustomization
    from dra_lab.exports.written_files import DIGESTS, write_files
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.migration import keep_names, migrate

    refuse_write(options)
    cluster = cluster_of(options)
    release = release_of(options)
    manifests = read_manifests(options.paths)
    classes = _classes(options.map)
    _refuse_templates(manifests)
    if options.keep_resource_name:
        found = keep_names(manifests, cluster, release, device_classes=classes)
    else:
        found = migrate(manifests, device_classes=classes, cluster=cluster)
    wrong = any(finding.severity is Severity.ERROR for finding in found.findings)
    outcome = DOES_NOT_FIT if wrong or found.left else FITS
    files: tuple[Path, ...] = ()
    if found.texts and options.format != "yaml":
        texts = {**found.texts, KUSTOMIZATION: kustomization([*found.texts])}
        files = write_files(options.dir, texts, overwrite=options.overwrite, beside=DIGESTS)
    if options.format == "yaml":
        print_yaml(found.texts)
        print_findings(options, found.findings)
        return status_of(outcome)
    outcomes = dict.fromkeys(found.workloads, "migrated")
    outcomes |= {name: "partly-migrated" if name in outcomes else "not-migrated" for name in found.left}
    objects = [{"object": name, "outcome": one} for name, one in outcomes.items()]
    answer = partial(answer_json, "Migration", outcome, found.findings, objects=objects, files=[*map(str, files)])
    return print_answer(options, answer, _parts(options, found, files), found.findings, outcome)


def _parts(options: argparse.Namespace, found: Migration, files: tuple[Path, ...]) -> Iterator[Part]:
    """Yield what was migrated, the files, and the command that checks them."""
    from dra_lab.words.document import Lines, Sentence, Words
    from dra_lab.words.facts import counted

    left = f" Not migrated, or only in part: {', '.join(found.left)}." if found.left else ""
    if not found.workloads:
        asks = "" if left else " No container requests a device of a device plugin."
        yield Sentence(f"Nothing is migrated.{asks}{left}")
        return
    yield Sentence(f"Migrated {counted(len(found.workloads), 'workload')}.{left}")
    if files:
        yield Lines("Files", [*map(str, files)])
    else:
        yield Words("The classes of the cluster serve these resources already, so no file is written.")
    cluster = options.cluster or "CLUSTER"
    # with --keep-resource-name the workloads are where they were
    paths = [*(options.paths if options.keep_resource_name else ()), *([str(options.dir)] if files else ())]
    yield Words(f"Check them: {shlex.join(['dra-lab', 'check', cluster, *paths])}")


def _refuse_templates(manifests: Manifests) -> None:
    """Raise SourceError if the files hold templates alone, so that nothing of them can be migrated."""
    from dra_lab.gitops.folder import TEMPLATE_RULE
    from dra_lab.manifests.file_text import NO_MANIFEST

    unread = next((finding for finding in manifests.findings if finding.rule == TEMPLATE_RULE), None)
    if unread is not None and not manifests.documents:
        message = f"{NO_MANIFEST}, so dra-lab cannot migrate it"
        raise SourceError(f"{message}. {unread.advice}", origin=unread.origin)


def _classes(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, sign, device_class = pair.partition("=")
        if not (name and sign and device_class):
            raise InputError(f"--map {pair!r}: write it as NAME=DEVICECLASS, for example vendor.com/nic=dranet")
        found[name] = device_class
    return found
