"""`dra-lab topology`: what topology files about one server say, before it becomes a cluster."""

from __future__ import annotations

import argparse
import sys

from dra_lab.cli.status import FITS


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="what a tool printed about one and the same server")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a line for each GPU, NIC and NUMA node, then how to plan on it; findings go to standard error."""
    from dra_lab.sources.foreign import make_cluster, read_inventory
    from dra_lab.sources.foreign.tables import inventory_text

    inventory = read_inventory(*options.files)
    print(inventory_text(inventory))
    for finding in make_cluster(inventory).findings:
        print(finding, file=sys.stderr)
    print(f"\nPlan on 8 such nodes: dra-lab plan 'topo:{','.join(options.files)}*8' --claim FILE", file=sys.stderr)
    return FITS
