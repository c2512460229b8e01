"""How a session begins: the drawing that is restored, given or shown as an example, and the cluster it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import goal_order, named_goals
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.session.drawings import drawing_of
from dra_lab.session.preparing import check_node
from dra_lab.sources import load_cluster
from dra_lab.sources.drawing_files import read_claim
from dra_lab.sources.files import is_live
from dra_lab.sources.samples import PREFIX, samples
from dra_lab.topology.layered import with_possible_layers

EXAMPLE_CLUSTER = "sample:eks-p4d"
EXAMPLE = "sample:eks-p4d/gpu-nic-pairs"

READ = "read"
"""The answer to the question whether the running cluster of a drawing is read."""

Given = str | Path | Cluster | None


def first_drawing(
    kept: Drawing | None,
    cluster: Given,
    sketch: ClaimSketch | None,
    release: str,
    node: str,
    goals: Sequence[str],
    *,
    examples: bool = False,
) -> tuple[Drawing, bool]:
    """Return the drawing of a session, and whether it is a shipped example, as nothing is given and none is kept.

    With `examples`, a sample that is given without a drawing opens its own example. What is given comes before what the
    drawing's file says. Raises SketchError for an inconsistent `sketch` and InputError for an unknown release or goal.
    """
    drawing = kept or Drawing()
    name = "" if cluster or sketch or drawing.cluster or drawing.sketch.requests else EXAMPLE
    if examples and sketch is None and cluster and isinstance(cluster, str):
        own = (sample.examples[:1] for sample in samples() if cluster == f"{PREFIX}{sample.name}")
        name = EXAMPLE if cluster == EXAMPLE_CLUSTER else next((f"{cluster}/{first}" for (first,) in own), "")
    example = bool(name)
    if example:
        drawing = read_claim(name, drawing_of)
    if sketch is not None:
        check_sketch(sketch)
        drawing = replace(drawing, sketch=sketch)
    goal_order(goals)
    given = {"release": release and KubernetesRelease(release).version, "node": node, "goals": named_goals(goals)}
    return replace(drawing, **{name: value for name, value in given.items() if value}), example


def first_cluster(given: Given, drawing: Drawing, node: str) -> tuple[Cluster, Drawing, str]:
    """Return the cluster, the drawing with its name and a node that it has, and what is wrong with a drawing's own.

    A cluster that the drawing names leaves an empty one if it is a running one, or cannot be read. Raises like
    `load_cluster` for one that is given, and InputError for a given `node` that it lacks.
    """
    problem = ""
    if isinstance(given, Cluster):
        cluster = given
    elif given:
        cluster = load_cluster(given)
        drawing = replace(drawing, cluster=cluster.name)
    elif is_live(drawing.cluster):
        cluster = Cluster(name=drawing.cluster)
    else:
        try:
            cluster = load_cluster(drawing.cluster or EXAMPLE_CLUSTER)
        except DraLabError as error:
            problem = f"The drawing was made for {drawing.cluster}, which cannot be read: {error}"
            cluster = Cluster(name=drawing.cluster)
    layered = with_possible_layers(cluster, drawing.layers).cluster
    check_node(layered, node)
    return cluster, drawing, problem or pinned_problem(layered, drawing.node)


def first_question(drawing: Drawing) -> dict[str, object]:
    """Return the question whether the running cluster that a drawing names is read, {} if it names none."""
    if not is_live(drawing.cluster):
        return {}
    text = f"This drawing was planned on {drawing.cluster}, a running cluster. It is not read until you ask."
    return {"text": text, "options": [[READ, f"Read {drawing.cluster}"]]}


def pinned_problem(cluster: Cluster, node: str) -> str:
    """Return what is wrong with the node that a plan file pins, "" if the cluster has it.

    The node stays in the drawing, so that no answer is given for other nodes.
    """
    try:
        if node:
            check_node(cluster, node)
    except InputError as error:
        return f"The plan file pins a node: {error.message}. Choose a node, or all nodes"
    return ""


LEARN = "learn"
MODES: Mapping[str, str] = {"plan": "Plan", "fleet": "Fleet", "compare": "Compare", "trace": "Trace", LEARN: "Learn"}
"""What the planner screen shows at a time, by the name of the mode, with its label."""

FIRST = next(iter(MODES))


def mode_of(drawing: Drawing) -> str:
    """Return the mode in which a drawing was left."""
    mode = drawing.view.get("mode", FIRST)
    return mode if mode in MODES else FIRST


def view_of(mode: str) -> dict[str, str]:
    """Return what a plan file says of a mode: nothing of the first one."""
    return {} if mode == FIRST else {"mode": mode}
