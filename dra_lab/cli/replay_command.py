"""`dra-lab replay`: recorded cases of Kubernetes, answered."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dra_lab.cli.options import version
from dra_lab.cli.output import FITS
from dra_lab.model.release import ALPHA, RECORDED_RELEASE, RELEASES

EXAMPLES = (
    "dra-lab replay cases.ndjson",
    "dra-lab replay cases.ndjson --release 1.36.3",
    "dra-lab replay cases.ndjson --allocator ilp",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "cases", metavar="CASES", type=Path, help="a file of NDJSON, plain or .gz, or - for standard input"
    )
    parser.add_argument(
        "--allocator",
        choices=("first-fit", "ilp"),
        default="first-fit",
        help="what answers cases of allocation: kube-scheduler's first fit (default), or the planner, with a proof",
    )
    text = f"the release whose first fit answers cases of allocation (default: the one recorded); {ALPHA} is an alpha"
    parser.add_argument("--release", type=version, choices=RELEASES, default=RECORDED_RELEASE, help=text)


def run(options: argparse.Namespace) -> int:
    """Print the answer to each case on a line of its own; a note on standard error says if there is none."""
    from dra_lab.replay import replay_file

    answer = None
    for answer in replay_file(options.cases, options.allocator, options.release):
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    if answer is None:
        print(f"note: {str(options.cases)!r} has no case; each line is one case as JSON", file=sys.stderr)
    return FITS
