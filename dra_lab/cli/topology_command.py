"""`dra-lab topology`: what topology files about one server contain, before it becomes a cluster."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter

from dra_lab.cli.exit_status import FITS
from dra_lab.cli.output import add_output, print_findings, print_json, print_parts

EXAMPLES = (
    "dra-lab topology topo.txt",
    "dra-lab topology topo.txt lstopo.xml",
    "dra-lab topology topo.txt -o json",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="output of a tool about the same server")
    add_output(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the number of devices, a row for each GPU, NIC and NUMA node, and how to plan on such nodes."""
    from dra_lab.sources.foreign import make_cluster, read_inventory
    from dra_lab.sources.foreign.inventory_tables import INVENTORY_HEAD, inventory_rows, inventory_values
    from dra_lab.words.answer_json import answer_json
    from dra_lab.words.document import Sentence, Table, Words
    from dra_lab.words.facts import counted

    inventory = read_inventory(*options.files)
    findings = make_cluster(inventory).findings
    if options.format == "json":
        devices = [{"name": name, **facts} for name, facts in inventory_values(inventory).items()]
        print_json(answer_json("Topology", "fits", findings, files=options.files, devices=devices))
        return FITS
    rows = [*inventory_rows(inventory)]
    kinds = Counter(row[1] for row in rows)
    parts = [counted(kinds["gpu"], "GPU"), counted(kinds["nic"], "NIC"), counted(kinds["cpu"], "NUMA node")]
    first = Sentence(f"{parts[0]}, {parts[1]} and {parts[2]} with CPUs.")
    files = " ".join(f"--topology {shlex.quote(file)}" for file in options.files)
    more = Words(f"Plan on 8 such nodes: dra-lab plan {files} --nodes 8 --claim FILE")
    print_parts([first] if options.detail == "answer" else [first, Table(INVENTORY_HEAD, rows), more])
    print_findings(options, findings)
    return FITS
