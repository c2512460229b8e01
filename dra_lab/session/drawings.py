"""What files ask for: drawings, claims, examples of samples; workloads of a fleet, and the cluster of their pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.errors import DraLabError, InputError, ManifestError, SourceError
from dra_lab.findings import Origin, Severity
from dra_lab.index.documented_classes import with_given_classes
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import goal_order, named_goals
from dra_lab.model.layers import Layer, read_layer
from dra_lab.model.release import NEWEST_FINAL, KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Drawing, PodDrawing, claims_of
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.session.preparing import check_node
from dra_lab.sources import load_cluster
from dra_lab.sources.drawing_files import read_claim, read_drawing, write_drawing
from dra_lab.sources.files import is_live
from dra_lab.sources.samples import PREFIX, samples
from dra_lab.topology.layered import with_possible_layers

if TYPE_CHECKING:
    from dra_lab.gitops.claims_of_file import WrittenWorkload


PLAN_FILE = ".dralab.yaml"
"""How the name of a plan file ends."""


def read_sketch(source: str | Path) -> ClaimSketch:
    """Return what a file requests, as a drawing.

    Args:
        source: A drawing's file, a ResourceClaim, a ResourceClaimTemplate, or `sample:NAME/EXAMPLE`. A file or folder
            with a pod or workload is one drawing with all claims of the pod.

    Returns:
        The drawing.

    Raises:
        SourceError: The file cannot be read.
        ManifestError: A document is broken, with file, line and path.
        SketchError: The drawing is inconsistent.

    Example:
        >>> from dra_lab import read_sketch
        >>> [link.name for link in read_sketch("sample:two-sockets/lesson").links]
        ['one-numa']
    """
    pod = _pod_at(source)
    return pod if pod is not None else read_claim(source, drawing_of, refuse_claims).sketch


def _pod_at(source: str | Path) -> ClaimSketch | None:
    """Return the drawing of the only pod of a file or folder, None if there is no pod with its claims."""
    from dra_lab.session.drawables import drawables, has_pod, texts_at

    texts = {} if str(source).startswith(PREFIX) else texts_at(str(source))
    if not has_pod(texts):
        return None
    for name, text in texts.items():
        refuse_claims(text, name)
    found = drawables(texts)
    pods = [one for one in found.found if one.is_pod] if found is not None else []
    if len(pods) > 1:
        message = f"it holds {len(pods)} pods ({', '.join(one.label for one in pods)}); give a file with one"
        raise SourceError(message, origin=Origin(str(source)))
    return pods[0].drawing.sketch if pods else None


def read_plan_file(source: str | Path) -> Drawing | None:
    """Return the drawing of a plan file with its node, release and goals; None for any other file.

    Raises SourceError or SketchError with file, line and path.
    """
    if not str(source).startswith(PREFIX) and not str(source).endswith(PLAN_FILE):
        return None
    return read_claim(source, drawing_of, refuse_claims)


def refuse_claims(text: str, source: str, document: int | None = None) -> None:
    """Raise ManifestError, with file, line and path, for what the API server of no release would take of a text."""
    from dra_lab.checks.document_checks import check_text

    for finding in check_text(text, source, KubernetesRelease(NEWEST_FINAL)):
        if finding.severity is not Severity.ERROR or finding.origin is None:
            continue
        if document is None or finding.origin.document == document:
            raise ManifestError(finding.message, origin=finding.origin)


def drawing_of(spec: Any, name: str) -> Drawing:
    """Return the drawing of a claim's spec."""
    from dra_lab.sketch.read_back import sketch_of

    return Drawing(sketch=sketch_of(spec, name))


class DrawingFile:
    """A file that holds one drawing, and what it held when we last read or wrote it."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is read yet."""
        self.path = path
        self._seen = self._content()

    def read(self) -> Drawing | None:
        """Return the file's drawing, None when there is no file. Raises SourceError or SketchError."""
        self._seen = self._content()
        return read_drawing(self.path) if self._seen is not None else None

    def write(self, drawing: Drawing) -> bool:
        """Write the drawing; returns False, and writes nothing, when the file changed since. Raises ExportError."""
        text = encode_drawing(drawing).encode()
        if text == self._content():
            self._seen = text
            return True
        if self.changed_on_disk():
            return False
        self.overwrite(drawing)
        return True

    def overwrite(self, drawing: Drawing) -> None:
        """Write the drawing whatever the file holds. Raises ExportError."""
        write_drawing(self.path, drawing)
        self._seen = self._content()

    def changed_on_disk(self) -> bool:
        """Say whether the file holds something else than when we last read or wrote it."""
        return self._content() != self._seen

    def _content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except OSError:
            return None


_CHOOSES = ("nodeName", "nodeSelector", "tolerations")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read_workload(source: str, cluster: Cluster, release: KubernetesRelease) -> PodDrawing:
    """Return the workload of a file (drawing, claim, template, Pod, Deployment) or `sample:NAME/EXAMPLE`.

    It has the replicas, the DeviceClasses and the nodes of the file, as in `dra-lab plan`. Raises SourceError,
    ManifestError or SketchError for what cannot be read, InputError for what pods of a fleet cannot have.
    """
    from dra_lab.gitops.claims_of_file import read_pod
    from dra_lab.gitops.folder import with_own_classes
    from dra_lab.index.not_read import refuse_not_read

    pod = read_pod(source, cluster, release)
    if pod is None:
        sketch = read_sketch(source)
        own = _own_classes(with_own_classes(source, cluster), cluster)
        return PodDrawing(pod=sketch.name, claims=claims_of(sketch), classes=own)
    if pod.allocated:
        names = ", ".join(claim.metadata.name for claim in pod.allocated)
        raise InputError(f"{source}: {names} is already allocated, and replicas cannot share it; plan one pod")
    if pod.without:
        count = f"{len(pod.without):,} of {len(cluster.node_names):,} nodes"
        raise InputError(f"{source}: a device plugin serves its pods on {count}; use dra-lab plan")
    if pod.admitted is not None:
        refuse_not_read(cluster, (), selects_nodes=True)
    return PodDrawing(
        pod=pod.subject.partition(":")[0].rpartition("/")[2] or "-".join(pod.claims),
        claims=tuple(pod.claims.values()),
        replicas=1 if pod.named else pod.replicas,
        nodes=_nodes(pod),
        classes=_own_classes(pod.cluster, cluster),
    )


def fleet_cluster(cluster: Cluster, pods: Sequence[PodDrawing]) -> Cluster:
    """Return the cluster that workloads are planned on: with their DeviceClasses, on the nodes that admit their pods.

    Nodes without devices are left out of the comparison, because no pod with a claim is placed there. Raises InputError
    if the workloads admit different nodes.
    """
    from dra_lab.planner.node_tests import only_nodes

    for pod in pods:
        cluster = with_given_classes(cluster, pod.classes)
    places = {pod.pod: admitted(cluster, pod) for pod in pods}
    if all(nodes == cluster.open_nodes for nodes in places.values()):
        return cluster
    equipped = frozenset(cluster.node_names if cluster.network_slices else cluster.slices_by_node)
    first, *others = places
    for other in others:
        if places[other] & equipped != places[first] & equipped:
            raise InputError(
                f"{first} may run on {_count(places[first], cluster)} and {other} on {_count(places[other], cluster)}, "
                "and Fleet plans workloads for the same nodes; remove one, or plan them one by one with dra-lab plan"
            )
    return only_nodes(cluster, sorted(frozenset.intersection(*places.values())))


def admitted(cluster: Cluster, pod: PodDrawing) -> frozenset[str]:
    """Return the nodes that the spec of a workload's pods admits; for claims without a pod, those not cordoned."""
    from dra_lab.planner.node_tests import admitted_nodes

    return cluster.open_nodes if pod.nodes is None else frozenset(admitted_nodes(cluster, pod.nodes))


def _count(nodes: frozenset[str], cluster: Cluster) -> str:
    return f"{len(nodes):,} of {len(cluster.node_names):,} nodes"


def _own_classes(given: Cluster, cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Return the DeviceClasses of a file, which the cluster has not, or not like that."""
    own, known = given.class_by_name, cluster.class_by_name
    return tuple(own[name] for name in sorted(given.given_classes) if own[name] is not known.get(name))


def _nodes(pod: WrittenWorkload) -> dict[str, Any] | None:
    """Return the fields of a pod's spec that choose its nodes, None for claims without a pod."""
    if not pod.subject:
        return None
    found = {name: pod.spec[name] for name in _CHOOSES if pod.spec.get(name)}
    affinity = pod.spec.get("affinity")
    of_nodes = affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None
    required = of_nodes.get(_REQUIRED) if isinstance(of_nodes, Mapping) else None
    return found | ({"affinity": {"nodeAffinity": {_REQUIRED: required}}} if required else {})


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name as Kubernetes allows it, numbered if it is taken."""
    from dra_lab.sketch.object_names import object_name

    base = object_name(name)[:50].strip("-.").replace(".", "-") or "pod"
    return next(made for made in numbered(base, "-") if made not in taken)


def numbered(base: str, mark: str = " ") -> Iterable[str]:
    """Yield a name, then the name with numbers from 2."""
    yield base
    number = 2
    while True:
        yield f"{base}{mark}{number}"
        number += 1


def fitting_pins(pins: Mapping[str, int], most: int, first: str = "") -> dict[str, int]:
    """Return pins for at most `most` pods, those of one node first."""
    found: dict[str, int] = {}
    for node in sorted(pins, key=lambda name: name != first):
        if count := min(pins[node], most - sum(found.values())):
            found[node] = count
    return found


def layer_of(text: str) -> Layer:
    """Return the layer of a text such as `drain node-1`, or with dashes as on the command line. Raises InputError."""
    change, _, value = text.strip().removeprefix("--").partition(" ")
    return read_layer(change, value.strip())


# --------------------------------------------------------------------- The beginning of a session

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
