"""--claim with the options that stand after it, for one pod, replicas and gangs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dra_lab.cli.options import CLAIM_HELP, POD_HELP, add_cluster, add_planning, add_what_if, plan_files, whole
from dra_lab.cli.parser import complete_with, drawing_words
from dra_lab.errors import InputError

if TYPE_CHECKING:
    from dra_lab.model.sketch import Drawing, PodDrawing

MOST_REPLICAS = 1_000_000


class ClaimOptions(NamedTuple):
    """A --claim with the options after it; None for an option that is not given.

    `gang` is the number of pods that start together, `level` and `prefer_level` their levels, `queue` their LocalQueue.
    `same` are the attributes of which all pods of a gang use the same values, separated by commas.
    """

    claim: str
    replicas: int | None = None
    pod: str | None = None
    gang: int | None = None
    level: str | None = None
    prefer_level: str | None = None
    queue: str | None = None
    same: str | None = None


class AddClaim(argparse.Action):
    """Keep every claim with its number of replicas; `claim` stays the first, for plans of one claim."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Take a --claim."""
        del parser, option_string
        namespace.claims = [*(getattr(namespace, "claims", None) or []), ClaimOptions(values)]
        namespace.claim = namespace.claims[0].claim


class OfClaim(argparse.Action):
    """Keep an option of the claim before it, once for each claim."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Take an option. Ends the command if it has no claim before it, or if it is there twice."""
        claims = list(getattr(namespace, "claims", None) or [])
        if not claims or claims[-1]._asdict()[self.dest] is not None:
            parser.error(f"write {option_string} {self.metavar} after the --claim that it is for, once for each")
        least = int(self.dest == "gang")
        if isinstance(values, int) and not least <= values <= MOST_REPLICAS:
            parser.error(f"{option_string} {values}: give a number from {least} to {MOST_REPLICAS}")
        claims[-1] = claims[-1]._replace(**{self.dest: values})
        namespace.claims = claims


def add_claims(parser: argparse.ArgumentParser, claim: str, replicas: str) -> None:
    """Declare --claim, which may stand several times, and --replicas behind each, with their help."""
    action = parser.add_argument("--claim", action=AddClaim, metavar="FILE", help=f"{claim}{CLAIM_HELP}")
    complete_with(action, drawing_words)
    parser.add_argument("--replicas", type=whole, action=OfClaim, metavar="N", help=replicas)


def add_question(parser: argparse.ArgumentParser) -> None:
    """Declare CLUSTER, how it is planned and changed, --claim with what may stand behind it, and --objective."""
    add_cluster(parser)
    add_planning(parser)
    replicas = "number of pods for the preceding --claim (default with several claims: 1)"
    add_claims(parser, "required and repeatable: ", replicas)
    parser.add_argument("--pod", action=OfClaim, metavar="NAME", help=f"for the preceding --claim, {POD_HELP}")
    text = "with replicas: place as many as possible (default), or all of them on the fewest nodes"
    parser.add_argument("--objective", choices=("replicas", "nodes"), default="replicas", help=text)
    add_gangs(parser)
    add_what_if(parser)


def add_gangs(parser: argparse.ArgumentParser) -> None:
    """Declare the options after a --claim that make it a gang."""
    group = parser.add_argument_group("gangs (each option is for the preceding --claim)")
    text = "number of pods that start together or not at all; --replicas N is then the number of such gangs"
    group.add_argument("--gang", type=whole, action=OfClaim, metavar="SIZE", help=text)
    texts = {
        "--level": "one domain of this level has all pods of a gang, for example rack (dra-lab topology CLUSTER lists "
        "levels)",
        "--prefer-level": "as few domains of this level as possible have pods of a gang",
        "--queue": "LocalQueue of Kueue, or Queue of KAI or Volcano",
    }
    for name, text in texts.items():
        group.add_argument(name, action=OfClaim, metavar="NAME", help=text)
    text = "all pods of a gang use devices with the same values of this attribute, for example nvidia.com/rail; rail: "
    text += "the rails of NICs, inferred if no device publishes them"
    group.add_argument("--same", action=OfClaim, metavar="ATTRIBUTE", help=text)


def is_gang(options: argparse.Namespace) -> bool:
    """Return whether gangs are asked for, by --gang or by a file.

    Raises InputError for an option of gangs after a claim that is none.
    """
    found = False
    for one in options.claims:
        asks = one.gang is not None or asks_for_gangs(options, one)
        if (given := _gang_options(one)) and not asks:
            option = f"--{given[0].replace('_', '-')}"
            raise InputError(f"{option} is for a gang, and {one.claim} asks for none; write --gang SIZE after --claim")
        found = found or asks
    return found


def _gang_options(one: ClaimOptions) -> list[str]:
    return [name for name in ("level", "prefer_level", "queue", "same") if getattr(one, name) is not None]


def asks_for_gangs(options: argparse.Namespace, one: ClaimOptions) -> bool:
    """Return whether a file asks for gangs itself, or has the pods of a gang whose level or queue the options name."""
    drawing = plan_files(options).get(one.claim)
    if drawing is not None:
        return any(pod.gang is not None for pod in drawing.workloads)
    if not Path(one.claim).exists():
        return False
    from dra_lab.gitops.workloads_of_file import asks_for_gang

    return asks_for_gang(one.claim, named=one.gang is None and bool(_gang_options(one)))


def only_workloads(drawing: Drawing | None) -> tuple[PodDrawing, ...]:
    """Return the workloads of a plan file without a claim of its own that is drawn."""
    if drawing is None or drawing.sketch.requests:
        return ()
    return tuple(pod for pod in drawing.workloads if pod.claims)


def refuse_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option that has no meaning for gangs."""
    if options.node:
        raise InputError("--node is for one claim; a gang goes to any domain, or with --level host to one node")
    if options.goals:
        raise InputError("--goals is not for gangs, whose goals have a fixed order; leave it out")
    if options.objective != "replicas":
        raise InputError("--objective is for replicas; gangs have an order of goals of their own; leave it out")
    if getattr(options, "measured", None):
        raise InputError("--measured is for the plan of one claim; leave it out")


def refuse_node_of_replicas() -> None:
    """Raise InputError for --node beside replicas."""
    raise InputError(
        "--node is for one claim without --replicas; leave it out, because replicas go to any node on which they fit"
    )


def namespace_of(options: argparse.Namespace) -> str:
    """Return the namespace of the files: that of the option, else of the claims and pods that were given.

    Raises InputError if these have several.
    """
    from dra_lab.gitops.folder import read_manifests

    paths = [one.claim for one in options.claims if Path(one.claim).exists()]
    if options.namespace or not paths:
        return str(options.namespace)
    found = sorted({document.namespace for document in read_manifests(paths).documents if document.namespace})
    if len(found) > 1:
        raise InputError(f"the files are for the namespaces {', '.join(found)}; choose one with --namespace NAME")
    return found[0] if found else ""


def what_to_try(cluster: str) -> str:
    """Return what to give as --claim: the examples of a sample, else what it can be."""
    from dra_lab.sources.samples import samples

    for sample in samples():
        if cluster == f"sample:{sample.name}" and sample.examples:
            return "try " + " or ".join(f"--claim {cluster}/{example}" for example in sample.examples)
    return "give the file of a drawing, claim, pod or workload, or sample:NAME/EXAMPLE (dra-lab samples lists them)"
