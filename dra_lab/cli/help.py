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
  topo:FILE,FILE*8   8 nodes made of the topology files of one server
  topo:FILE*8@DRIVER,DRIVER
                     the same nodes as these drivers would publish them
  CLUSTER+topo:FILE  a topology file laid over the slices of a cluster

To save a running cluster:
  kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json

Without -A, the claims of other namespaces are missing and their devices look free."""

TOPICS = {"clusters": _CLUSTERS}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("topic", choices=TOPICS, help="clusters: what CLUSTER can be")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a topic."""
    print(TOPICS[options.topic])
    return FITS
