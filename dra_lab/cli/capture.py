"""`dra-lab capture`: a cluster as one folder or archive that every command reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.cli.options import FITS, Commands, add_cluster

if TYPE_CHECKING:
    from dra_lab.sources.snapshots import Snapshot


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("capture", help="write what planning needs of a cluster to a folder or .tar.gz")
    add_cluster(parser)
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder, or a file ending in .tar.gz or .tgz")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the cluster, write the snapshot, print where it is and what went into it."""
    from dra_lab.sources import load_cluster, make_snapshot, write_snapshot

    cluster = load_cluster(options.cluster)
    snapshot = make_snapshot(cluster)
    write_snapshot(snapshot, options.out)
    for finding in cluster.findings:
        print(finding, file=sys.stderr)
    print(options.out)
    for line in _told(snapshot):
        print(line, file=sys.stderr)
    return FITS


def _told(snapshot: Snapshot) -> list[str]:
    info = snapshot.info
    lines = ["captured: " + ", ".join(f"{count:,} {kind}" for kind, count in info.counts.items() if count)]
    if info.left_out:
        lines.append("left out: " + ", ".join(f"{count:,} {what}" for what, count in info.left_out.items()))
    return lines
