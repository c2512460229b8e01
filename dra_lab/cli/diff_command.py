"""`dra-lab diff`: two plans side by side."""

from __future__ import annotations

import argparse

from dra_lab.cli.options import add_profiles
from dra_lab.cli.output import FITS, add_output, print_json, print_parts

_PLAN = "JSON of dra-lab plan, a folder of dra-lab export, a plan file, or FILE#NAME for a kept plan of a plan file"
_DIFFERENT = 1

EXAMPLES = (
    "dra-lab diff before.json after.json",
    "dra-lab diff manifests/training manifests/training-pinned",
    "dra-lab diff plan.dralab.yaml#one plan.dralab.yaml#two -o markdown",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("plans", nargs=2, metavar="PLAN", help=_PLAN)
    add_profiles(parser)
    add_output(parser, "markdown", "csv", all_of_it="print the whole comparison, which is also the default")


def run(options: argparse.Namespace) -> int:
    """Print the comparison; return 0 if the plans are the same, 1 if they differ. Raises what reading raises."""
    from msgspec.structs import replace

    from dra_lab.session.compared_files import read_kept
    from dra_lab.words.comparison import comparison_csv, comparison_json, comparison_parts, differ
    from dra_lab.words.document import as_markdown

    first, second = (read_kept(source, options.profiles) for source in options.plans)
    if first.name == second.name:
        first, second = (
            replace(kept, name=source) for kept, source in zip((first, second), options.plans, strict=True)
        )
    plans = (first, second)
    match options.format:
        case "json":
            print_json(comparison_json(plans))
        case "csv":
            print(comparison_csv(plans), end="")
        case "markdown":
            print(as_markdown(comparison_parts(plans)))
        case _:
            parts = tuple(comparison_parts(plans))
            print_parts(parts[:1] if options.detail == "answer" else parts)
    return _DIFFERENT if differ(plans) else FITS
