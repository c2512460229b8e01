"""`dra-lab topology`: the hierarchies over the nodes of a cluster, or what the topology file of a server contains."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dra_lab.cli.options import print_answer
from dra_lab.cli.output import add_output
from dra_lab.errors import InputError

if TYPE_CHECKING:
    from dra_lab.words.document import Part

_CLUSTER_FILES = frozenset((".json", ".yaml", ".yml", ".gz", ".tgz"))

_NOTHING = (
    "Nothing in {} says where its nodes are. "
    "Levels come from labels of its Nodes, and from Topology and HyperNode objects: capture these too."
)

EXAMPLES = (
    "dra-lab topology sample:h100-pod",
    "dra-lab topology lstopo.xml",
    "dra-lab topology topo.txt -o json",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    text = "a cluster (sample:NAME, context:NAME, a YAML or JSON file, a folder), or the topology file of one server"
    parser.add_argument("file", metavar="FILE", help=text)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Print the levels over the nodes of a cluster, or the devices of a server and how to plan on such nodes."""
    path = Path(options.file)
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file()]
        if files and not any(file.suffix.lower() in _CLUSTER_FILES for file in files):
            raise InputError(f"the folder {options.file!r} has no file of a cluster; name its file about one server")
        return _hierarchies(options)
    named = options.file.startswith(("sample:", "context:")) or options.file == "-"
    return _hierarchies(options) if named or path.suffix.lower() in _CLUSTER_FILES else _devices(options)


def _hierarchies(options: argparse.Namespace) -> int:
    from dra_lab.sources import load_cluster
    from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings
    from dra_lab.words.cluster_document import (
        DOMAINS,
        LEVELS,
        domain_rows,
        hierarchy_line,
        hierarchy_values,
        level_rows,
    )
    from dra_lab.words.document import Sentence, Table
    from dra_lab.words.plan_json import answer_json

    cluster = load_cluster(options.file)
    found, findings = hierarchies(cluster), hierarchy_findings(cluster)
    values = [hierarchy_values(tree) for tree in found]
    answer = answer_json("Hierarchies", "fits", findings, cluster=cluster.name, hierarchies=values)
    parts: list[Part] = [Sentence(hierarchy_line(cluster) or _NOTHING.format(cluster.name))]
    if found:
        parts.append(Table(LEVELS, list(level_rows(found))))
    if found and options.detail == "all":
        parts.append(Table(DOMAINS, list(domain_rows(found))))
    return print_answer(options, lambda: answer, parts, findings)


def _devices(options: argparse.Namespace) -> int:
    from dra_lab.sources.foreign.inventory import INVENTORY_HEAD, inventory_rows, inventory_values
    from dra_lab.sources.foreign.made_slices import make_cluster
    from dra_lab.sources.foreign.reading import read_inventory
    from dra_lab.words.document import Sentence, Table, Words
    from dra_lab.words.facts import counted
    from dra_lab.words.plan_json import answer_json

    inventory = read_inventory(options.file)
    findings = make_cluster(inventory).findings
    devices = [{"name": name, **facts} for name, facts in inventory_values(inventory).items()]
    answer = answer_json("Topology", "fits", findings, file=options.file, devices=devices)
    rows = [*inventory_rows(inventory)]
    kinds = Counter(row[1] for row in rows)
    parts = [counted(kinds["gpu"], "GPU"), counted(kinds["nic"], "NIC"), counted(kinds["cpu"], "NUMA node")]
    first = Sentence(f"{parts[0]}, {parts[1]} and {parts[2]} with CPUs.")
    file = shlex.quote(options.file)
    more = Words(f"Plan on 8 such nodes: dra-lab plan --topology {file} --nodes 8 --claim FILE")
    return print_answer(options, lambda: answer, (first, Table(INVENTORY_HEAD, rows), more), findings)
