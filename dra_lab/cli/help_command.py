"""`dra-lab help`: topics that several commands share, and the entry of a rule in the catalogue."""

from __future__ import annotations

import argparse

from dra_lab.cli.output import FITS
from dra_lab.cli.parser import complete_with
from dra_lab.words.rule_catalogue import rule_catalogue, rule_entry

EXAMPLES = (
    "dra-lab help clusters",
    "dra-lab help plan-files",
    "dra-lab help selector-matches-nothing",
)

_CLUSTERS = """\
CLUSTER names the cluster that a command reads:

  sample:NAME        a shipped sample; dra-lab samples lists them.
  context:NAME       a running cluster; context: alone is kubectl's current one.
  FILE or FOLDER     kubectl's JSON or YAML, or a .tar.gz of dra-lab capture.
  -                  the same from standard input.

Options instead of CLUSTER:

  --topology FILE --nodes 8 --driver D
                     8 nodes made from the topology file of one server (nvidia-smi
                     topo -m, lstopo or NCCL), as driver D would publish them.

To save a running cluster:
  kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json

Without -A, the claims of other namespaces are missing and their devices look free."""

_PLAN_FILES = """\
--claim FILE is one of these:

  NAME.dralab.yaml   a plan file: the drawing that the planner in JupyterLab saves.
  FILE or FOLDER     a ResourceClaim, a ResourceClaimTemplate, or a Pod or workload with
                     its templates. --pod NAME chooses one of several. A Job, JobSet, PodGroup
                     or Volcano Job that asks for a gang is planned as that gang.
  sample:NAME/EXAMPLE
                     an example drawing of a shipped sample; dra-lab samples lists them.

Only a plan file can contain preferences and one-to-one links. Commands use its node,
release, goals and what-if changes. The options --node, --release and --goals come first,
and the what-if options, such as --drain, replace all of its what-if changes."""

_PROFILES = """\
--profiles FILE says what you know about a driver, for the cluster of this command. It comes
before what dra-lab knows. A driver that dra-lab does not know gets the kind of its devices
from the words in its name, in the names of its DeviceClasses and of its attributes (gpu, npu,
tpu, accelerator; nic, net, rdma, roce; cpu; memory). Such a kind is marked as guessed.
Kinds decide goals and pictures, never which devices match.

A file that corrects a kind:

  driver: fpga.example.org
  kinds:
    - {kind: gpu}

Kinds are gpu, nic, cpu, memory and other. The file may also have title, labels, short,
topology, offers and classes. dra_lab/drivers/data/README.md explains them. Several
profiles stand in several files, or in one with --- between them."""

_OUTPUT = """\
Results go to standard output, findings and progress to standard error.

  -o FORMAT   text (default) or json; check also sarif and markdown;
              export and migrate also yaml, which prints the manifests.
  -q          the answer's sentences only, and no notes on standard error.
  -v          the whole answer.

On a terminal, text fits its width (or COLUMNS) and has colour. NO_COLOR=1 or TERM=dumb
turns colour off. In a pipe or file, text is plain and lines are not wrapped.

In bash and zsh, eval "$(register-python-argcomplete dra-lab)" completes commands and options.

JSON is one object with kind, outcome (fits, does-not-fit, not-checked, stopped),
goals[], findings[] and the fields of its kind.

Exit status: 0 = fits or valid, 1 = does not fit or not valid, 2 = not decided or not checked."""

TOPICS = {"clusters": _CLUSTERS, "plan-files": _PLAN_FILES, "profiles": _PROFILES, "output": _OUTPUT}

_TOPICS = """\
Topics:

  clusters     what CLUSTER can be.
  plan-files   what --claim FILE can be.
  profiles     what --profiles FILE can be, and how kinds of devices are guessed.
  output       formats, detail, colour, exit status, completion in a shell.
  RULE         cause, remedy, example and source of a finding or an error, for example
               selector-matches-nothing. Each message ends with its rule.

dra-lab --help lists the commands, dra-lab COMMAND --help has the options of one."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    topic = parser.add_argument(
        "topic", nargs="?", default="", metavar="TOPIC", help="clusters, plan-files, output, or a RULE"
    )
    complete_with(topic, lambda: (*TOPICS, *rule_catalogue()))


def run(options: argparse.Namespace) -> int:
    """Print a topic, the entry of a rule, or the list of topics. Raises InputError for an unknown one."""
    if options.topic in TOPICS or not options.topic:
        print(TOPICS.get(options.topic, _TOPICS))
        return FITS
    print("\n".join(rule_entry(options.topic).lines()))
    return FITS
