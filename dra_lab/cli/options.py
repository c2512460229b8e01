"""What several commands share: the options of a cluster and a claim, the session made of them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from dra_lab.cli.output import print_findings, print_json, print_parts, status_of
from dra_lab.cli.parser import cluster_words, complete_with
from dra_lab.errors import InputError, SketchError
from dra_lab.findings import Finding, Origin, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import FIXED_GOALS, GOALS
from dra_lab.model.quantity import whole_number
from dra_lab.model.release import ALPHA, RELEASES, KubernetesRelease, read_gates
from dra_lab.model.sketch import Drawing

if TYPE_CHECKING:
    from dra_lab.model.layers import Layer
    from dra_lab.words.document import Part

CLUSTER_HELP = "sample:NAME, context:NAME, a file or folder, or - (see dra-lab help clusters)"
CLAIM_HELP = (
    "a drawing (*.dralab.yaml), a ResourceClaim or ResourceClaimTemplate, a Pod or workload with its claim templates "
    "(a file or folder), or sample:NAME/EXAMPLE"
)

POD_HELP = "the pod or workload to use if the file of --claim contains several"


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Declare CLUSTER, which --topology replaces, and the options of reading it."""
    words = getattr(parser, "words", ())
    if any(word.partition("=")[0] == "--topology" for word in words):
        parser.set_defaults(cluster="")
    else:
        cluster = parser.add_argument("cluster", metavar="CLUSTER", help=CLUSTER_HELP)
        complete_with(cluster, cluster_words)
    group = parser.add_argument_group("the cluster")
    add_profiles(group)
    text = "with context:NAME, read claims and pods of this namespace only (repeatable)"
    group.add_argument(
        "--read-namespace", action="append", default=[], dest="read_namespaces", metavar="NAME", help=text
    )
    text = "instead of CLUSTER: nodes made from the topology file of one server, all of one kind"
    group.add_argument("--topology", action="append", default=[], metavar="FILE", help=text)
    group.add_argument("--nodes", type=whole, metavar="N", help="with --topology: the number of nodes (default: 1)")
    text = "with --topology: a driver that publishes these devices (repeatable; default: the vendors' drivers)"
    group.add_argument("--driver", action="append", default=[], metavar="DRIVER", help=text)


def add_profiles(parser: Any) -> None:
    """Declare --profiles."""
    text = "what you know about a driver, in place of what dra-lab knows or guesses (repeatable; see help profiles)"
    parser.add_argument("--profiles", action="append", default=None, metavar="FILE", help=text)


_LEAVING_SECONDS = 30.0
"""Seconds for finding places for the pods of drained nodes."""


def add_what_if(parser: argparse.ArgumentParser) -> None:
    """Declare the options that change the cluster before the planning: --add, --drain and so on."""
    from dra_lab.model.layers import read_layer

    group = parser.add_argument_group("what if (repeatable, applied in the order given)")
    parser.set_defaults(layers=[])
    options = {
        "--add": ("N=NODE", "with N more nodes like NODE; N=NODE@NEAR: in the rack and other domains of NEAR"),
        "--drain": ("NODE", "without NODE: its pods are planned again before anything else"),
        "--uncordon": ("NODE", "as if NODE were not cordoned"),
        "--moved": ("POD=REQUEST:DEVICE,...", "as if a running pod had moved to other devices"),
        "--without": ("DEVICE", "without a device: driver/pool/device"),
    }
    for name, (metavar, text) in options.items():
        kind = partial(read_layer, name.removeprefix("--"))
        group.add_argument(name, action="append", type=kind, default=[], dest="layers", metavar=metavar, help=text)
    plain = {
        "--idle": "with nothing in use",
        "--publish-numa": "as if drivers published each NUMA node that dra-lab knows from the hardware",
    }
    for name, text in plain.items():
        layer = read_layer(name.removeprefix("--"), "")
        group.add_argument(name, action="append_const", const=layer, default=[], dest="layers", help=text)


def layers_of(options: argparse.Namespace) -> tuple[Layer, ...]:
    """Return the what-if changes of a command: its options, else those of its plan files.

    Raises InputError where the plan files differ.
    """
    return tuple(setting_of(options, "layers")) if "layers" in options else ()


def check_cluster_options(options: argparse.Namespace) -> None:
    """Raise InputError for options that do not belong to this CLUSTER, before any file is read."""
    if options.read_namespaces and not options.cluster.startswith("context:"):
        raise InputError(
            f"--read-namespace is for context:NAME; of {options.cluster or '--topology'} everything is read, "
            "leave it out"
        )
    if (options.nodes is not None or options.driver) and not options.topology:
        raise InputError("--nodes and --driver need --topology FILE, the file that the nodes are made from")
    if len(options.topology) > 1:
        raise InputError(f"--topology {options.topology[1]} is a second file; give one: all nodes are of one kind")
    if options.cluster.startswith("topo:"):
        raise InputError("CLUSTER does not name topology files; give --topology FILE --nodes 8")


def cluster_of(options: argparse.Namespace) -> Cluster:
    """Return a command's cluster, read once: a running one takes seconds, and standard input is there only once.

    Raises what `load_cluster` raises.
    """
    if "read" not in options:
        options.read = _read(options)
    read: Cluster = options.read
    return read


def with_cluster_findings(options: argparse.Namespace, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings and those about the cluster of a command, each once, errors first."""
    from dra_lab.checks.cluster_checks import check_cluster

    read = cluster_of(options)
    return sort_findings(dict.fromkeys((*read.findings, *check_cluster(read), *findings)))


def _read(options: argparse.Namespace) -> Cluster:
    """Return the cluster of CLUSTER or --topology, with what the what-if options change."""
    from dra_lab.sources import load_cluster, own_profiles

    own = own_profiles(options.profiles)
    if options.topology:
        from dra_lab.sources.foreign.reading import topology_cluster

        cluster = topology_cluster(options.topology[0], 1 if options.nodes is None else options.nodes, options.driver)
    else:
        cluster = load_cluster(options.cluster, namespaces=tuple(options.read_namespaces))
    cluster = cluster.with_profiles(own)
    if layers := layers_of(options):
        from dra_lab.topology.layered import with_layers, with_possible_layers

        refused = {} if options.layers else with_possible_layers(cluster, layers).refused
        for number, message in refused.items():
            origin = Origin(next(iter(plan_files(options))), path=f"layers[{number}]")
            raise SketchError(f"{message}. Correct the lines, or remove them", origin=origin)
        cluster = with_layers(cluster, layers)
    if cluster.leaving:
        from dra_lab.model.layers import layered_release
        from dra_lab.planner.leaving import settled

        target = cluster.target_release(options.release or layered_release(layers) or None)
        cluster = settled(cluster, target, time_limit=_LEAVING_SECONDS)
    return cluster


def add_planning(parser: argparse.ArgumentParser) -> None:
    """Declare --node, --goals, --release and --feature-gates."""
    parser.add_argument("--node", default="", metavar="NAME", help="plan on this node only")
    named = ", ".join(goal for goal in GOALS if goal not in FIXED_GOALS)
    parser.add_argument(
        "--goals",
        default="",
        metavar="GOAL,...",
        help=f"goals to put first, after {' and '.join(FIXED_GOALS)}; the others keep their usual order: {named}",
    )
    add_release(parser)


def version(text: str) -> str:
    """Return the known release of a version. Raises argparse's error for one that is not known."""
    try:
        return text and KubernetesRelease(text).version
    except InputError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def add_release(parser: argparse.ArgumentParser) -> None:
    """Declare --release and --feature-gates."""
    text = f"default: that of the API server, or of the lowest kubelet version read; {ALPHA} is an alpha version"
    parser.add_argument("--release", type=version, choices=RELEASES, default="", help=text)
    parser.add_argument(
        "--feature-gates",
        default="",
        metavar="NAME=true,...",
        help="feature gates that differ from the release's defaults, for example DRADerivedAttributes=true (1.37)",
    )


def seconds(text: str) -> float:
    """Return a time limit. Raises argparse's error for anything but a number above 0."""
    try:
        value = float(text) if text.isascii() else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def setting_of(options: argparse.Namespace, name: str) -> Any:
    """Return a command's node, release, goals or layers: the option, else what its plan files say, "" or () for none.

    Raises InputError where the plan files differ.
    """
    given = vars(options)[name]
    if given and name == "layers":
        return given
    if given:
        return tuple(filter(None, (goal.strip() for goal in given.split(",")))) if name == "goals" else given
    values = {file: value for file, drawing in plan_files(options).items() if (value := asdict(drawing)[name])}
    if len(set(values.values())) > 1:
        words = {file: value if isinstance(value, str) else " ".join(map(str, value)) for file, value in values.items()}
        differing = "; ".join(f"{file}: {value}" for file, value in words.items())
        advice = "give the what-if options" if name == "layers" else f"give --{name}"
        raise InputError(f"the plan files differ in {name} ({differing}); {advice}")
    return next(iter(values.values()), () if name in ("goals", "layers") else "")


def plan_files(options: argparse.Namespace) -> Mapping[str, Drawing]:
    """Return the drawings of a command's plan files, read once."""
    from dra_lab.session import read_plan_file

    if "drawings" not in options:
        files = (
            [claim.claim for claim in options.claims] if "claims" in options else list(filter(None, [options.claim]))
        )
        options.drawings = {file: drawing for file in files if (drawing := read_plan_file(file)) is not None}
    drawings: Mapping[str, Drawing] = options.drawings
    return drawings


def release_of(options: argparse.Namespace) -> KubernetesRelease:
    """Return the release that a command plans for, with its gates. Raises InputError for an unknown gate."""
    from dra_lab.model.layers import layered_release

    cluster, gates, version = cluster_of(options), read_gates(options.feature_gates), options.release
    if not version and "claim" in options:
        version = layered_release(layers_of(options)) or setting_of(options, "release")
    return cluster.target_release(KubernetesRelease(version or cluster.default_release, gates))


def node_of(options: argparse.Namespace) -> str:
    """Return the node that a command plans on, "" for any. Raises InputError for one that the cluster lacks."""
    node: str = setting_of(options, "node")
    if not options.node and node:
        refuse_node(node, options.claim, cluster_of(options))
    return node


def refuse_pod(claim: str, pod: str) -> None:
    """Raise InputError where a pod is named and the file of the claim holds none."""
    if pod:
        raise InputError(f"{claim} contains no pod; --pod {pod} is for a file with pods, so leave it out")


def refuse_node(node: str, claim: str, cluster: Cluster) -> None:
    """Raise SketchError, naming the plan file, where the node that it pins is not in the cluster."""
    if node not in cluster.node_by_name:
        some = ", ".join(cluster.node_names[:8])
        message = f"there is no node {node!r} in {cluster.name}; nodes: {some}. Correct the line, or remove it"
        raise SketchError(message, origin=Origin(claim, path="node"))


def whole(text: str) -> int:
    """Return a count. Raises argparse's error for anything but a whole number in the digits 0 to 9."""
    found = whole_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return found


def print_answer(
    options: argparse.Namespace,
    as_json: Callable[[], Mapping[str, Any]],
    parts: Iterable[Part],
    findings: Iterable[Finding] = (),
    outcome: str = "fits",
) -> int:
    """Print an answer as text or as JSON with its what-if changes, and its findings; return its exit status.

    `as_json` returns the JSON without the what-if changes. With -q the text has the sentences alone.
    """
    from dra_lab.words.document import Sentence, Words

    layers = layers_of(options)
    if options.format == "json":
        changes = [{"option": str(layer), "words": layer.words} for layer in layers]
        print_json({**as_json(), **({"layers": changes} if "layers" in options else {})})
    else:
        shown = [part for part in parts if options.detail != "answer" or isinstance(part, Sentence)]
        if layers and shown:
            where = "" if options.layers else f", from {' and '.join(plan_files(options))}"
            shown.insert(1, Words(f"What if{where}: {'; '.join(layer.words for layer in layers)}."))
        print_parts(shown, outcome)
    print_findings(options, findings)
    return status_of(outcome)
