"""`dra-lab samples`: the shipped clusters and their example drawings."""

from __future__ import annotations

import argparse

from dra_lab.cli.options import print_answer
from dra_lab.cli.output import FITS, add_output

EXAMPLES = (
    "dra-lab samples",
    "dra-lab samples -q",
    "dra-lab samples -o json",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Print each sample with its examples; -q prints the names alone."""
    from dra_lab.sources.samples import samples
    from dra_lab.words.document import Part, Table, Words
    from dra_lab.words.plan_json import answer_json

    found = samples()
    values = [{"name": one.name, "teaches": one.teaches, "examples": list(one.examples)} for one in found]
    if options.format == "text" and options.detail == "answer":
        print("\n".join(f"sample:{one.name}" for one in found))
        return FITS
    rows = [(f"sample:{one.name}", one.teaches, ", ".join(one.examples)) for one in found]
    parts: list[Part] = [Table(("cluster", "what it teaches", "examples"), rows)]
    first = next(one for one in found if one.examples)
    name = f"sample:{first.name}"
    parts.append(Words(f"Plan an example: dra-lab plan {name} --claim {name}/{first.examples[0]}"))
    return print_answer(options, lambda: answer_json("Samples", "fits", samples=values), parts)
