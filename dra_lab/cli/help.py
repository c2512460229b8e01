"""`dra-lab help`: topics that several commands share."""

from __future__ import annotations

import argparse

from dra_lab.cli.status import FITS

_CLUSTERS = """\
CLUSTER names the cluster that a command reads:

  sample:NAME        a shipped sample (dra-lab samples lists them)
  context:NAME       a running cluster; context: alone is kubectl's current one
  FILE or FOLDER     kubectl's JSON or YAML, or a .tar.gz of dra-lab capture
  -                  the same from standard input

Options in place of CLUSTER, and beside it:

  --topology FILE --nodes 8 --driver D
                     8 nodes made from the topology file of one server (nvidia-smi
                     topo -m, lstopo or NCCL), as driver D would publish them
  --overlay FILE     adds what a topology file knows to the slices of CLUSTER

To save a running cluster:
  kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json

Without -A, the claims of other namespaces are missing and their devices look free."""

TOPICS = {"clusters": _CLUSTERS}


EXAMPLES = (
    "dra-lab help clusters",
    "dra-lab help plan-files",
    "dra-lab help selector-matches-nothing",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("topic", choices=TOPICS, help="clusters: what CLUSTER can be")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a topic."""
    print(TOPICS[options.topic])
    return FITS
