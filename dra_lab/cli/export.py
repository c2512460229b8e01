"""`dra-lab export`: the manifests of a claim as a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dra_lab.cli.options import Commands, add_claim, session_of, status_of
from dra_lab.model.plan import Plan


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("export", help="write the ResourceClaimTemplate and a pod that uses it")
    add_claim(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--api-version", choices=("v1",), default="v1", help="of resource.k8s.io")
    parser.add_argument("--overwrite", action="store_true", help="also over files that a person changed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan, write the manifests, print their paths."""
    from dra_lab.session.outputs import export, manifest

    session = session_of(options)
    plan: Plan = session.plan()
    session.wait()
    paths = export(session, options.output, overwrite=options.overwrite)
    for finding in (*manifest(session).findings, *session.findings):
        print(finding, file=sys.stderr)
    for path in paths:
        print(path)
    return status_of(plan)
