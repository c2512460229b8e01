"""`dra-lab migrate`: workloads that ask device plugins become workloads with claims."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.cli.options import add_cluster, cluster_of
from dra_lab.cli.status import FITS, NOT
from dra_lab.errors import InputError, SourceError
from dra_lab.findings import Severity
from dra_lab.model.release import RELEASES

if TYPE_CHECKING:
    from dra_lab.gitops.folder import Manifests


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    parser.add_argument("files", metavar="FILE", nargs="+", help="files or folders with workloads, or -")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--release", choices=RELEASES, default="", help="default: the lowest kubelet version read")
    parser.add_argument(
        "--keep-resource-name",
        action="store_true",
        help="leave the workloads as they are; a DeviceClass serves their resource name (extendedResourceName)",
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="NAME=DEVICECLASS",
        help="the class that takes the place of a resource; may be given several times",
    )
    parser.add_argument("--overwrite", action="store_true", help="also over files that a person changed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Migrate, write the files, print their paths; findings on standard error."""
    from dra_lab.exports.files import write_files
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.keep_names import keep_names
    from dra_lab.gitops.migrate import NOT_MIGRATED, migrate

    cluster = cluster_of(options)
    release = cluster.target_release(options.release)
    manifests = read_manifests(options.files)
    classes = _classes(options.map)
    _refuse_templates(manifests)
    if options.keep_resource_name:
        found = keep_names(manifests, cluster, release, device_classes=classes)
    else:
        found = migrate(manifests, device_classes=classes, cluster=cluster, release=release)
    for finding in found.findings:
        print(finding, file=sys.stderr)
    left = any(f.rule == NOT_MIGRATED for f in found.findings)
    if not found.texts:
        why = "the findings above say why" if left else "no container asks for a device of a device plugin"
        print(f"nothing is migrated: {why}", file=sys.stderr)
    else:
        for path in write_files(options.output, found.texts, overwrite=options.overwrite):
            print(path)
    wrong = any(finding.severity is Severity.ERROR for finding in found.findings)
    return NOT if wrong or left else FITS


def _refuse_templates(manifests: Manifests) -> None:
    """Raise SourceError if the files hold templates alone, so that nothing of them can be migrated."""
    from dra_lab.gitops.folder import TEMPLATE_RULE
    from dra_lab.manifests.templates import NO_MANIFEST

    unread = next((finding for finding in manifests.findings if finding.rule == TEMPLATE_RULE), None)
    if unread is not None and not manifests.documents:
        message = f"{NO_MANIFEST}, so it cannot be migrated"
        raise SourceError(f"{message}. {unread.advice}", origin=unread.origin)


def _classes(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, sign, device_class = pair.partition("=")
        if not (name and sign and device_class):
            raise InputError(f"--map {pair!r}: write it as NAME=DEVICECLASS, for example vendor.com/nic=dranet")
        found[name] = device_class
    return found
