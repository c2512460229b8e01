"""`dra-lab samples`: the shipped clusters and their example drawings."""

from __future__ import annotations

import argparse

from dra_lab.cli.status import FITS


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a line for each sample and each of its examples."""
    del options
    from dra_lab.sources import samples

    for sample in samples():
        print(f"sample:{sample.name:<16} {sample.teaches}")
        for example in sample.examples:
            print(f"  --claim sample:{sample.name}/{example}")
    return FITS
