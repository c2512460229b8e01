"""Fleet: the workloads of a session and its what-if layers, and what the session's job answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.layers import Addable, AddableNode, Layer
from dra_lab.model.sketch import ClaimSketch, GangDrawing, PodDrawing, claims_of, pod_drawing
from dra_lab.model.sketch_rules import MOST_PODS, check_pods
from dra_lab.session.answering import Answering, FleetAnswer
from dra_lab.session.answers import Answer, pods_of, stranded_devices
from dra_lab.session.drawings import fitting_pins, free_name, layer_of, read_workload
from dra_lab.session.gang_answers import hierarchy_of
from dra_lab.session.history import Content
from dra_lab.session.job import Job, Run
from dra_lab.session.question import SessionQuestion
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.layered import with_layers

if TYPE_CHECKING:
    from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType
    from dra_lab.planner.fleet.why_stranded import WhyStranded


class SessionFleet(FleetAnswer):
    """The workloads of a session with their answer. Each change is one undo step and is stored in the plan file."""

    def __init__(self, session: Answering) -> None:
        """Begin without a question."""
        super().__init__(session)
        self.stranding = Job["WhyStranded"](lambda: session.events.emit("fleet-why"))
        self._stranded: tuple[Answer, str] | None = None

    @property
    def editing(self) -> str:
        """Return the workload whose claim is the drawing, "" if the drawing is none of them."""
        return self._content.editing

    # -- workloads

    def add(self, claims: ClaimSketch | Iterable[ClaimSketch], replicas: int = 1, name: str = "") -> str:
        """Add a workload and return its name. Raises SketchError if it cannot be planned."""
        made = claims_of(claims) if isinstance(claims, ClaimSketch) else tuple(claims)
        drawn = claims.name if isinstance(claims, ClaimSketch) else made[0].name if made else "pod"
        return self._add(PodDrawing(pod=name or drawn, claims=made, replicas=replicas))

    def _add(self, pod: PodDrawing) -> str:
        content = self._content
        own = free_name(pod.pod, [other.pod for other in content.workloads])
        self._change(replace(content, workloads=(*content.workloads, replace(pod, pod=own))))
        return own

    def add_drawing(self) -> str:
        """Add the drawing as another workload and return its name. Raises SketchError if nothing is drawn."""
        if not self._session.history.present.sketch.requests:
            raise InputError("nothing is drawn; draw a request in Plan, then add the drawing")
        return self.add(self._session.history.present.sketch)

    def add_file(self, source: str) -> str:
        """Add the workload of a file (drawing, claim, template, Pod, Deployment) or `sample:NAME/EXAMPLE`.

        Returns its name. Raises SourceError, ManifestError or SketchError for what cannot be read, and InputError for
        what pods of a fleet cannot have.
        """
        return self._add(read_workload(source, self._session.cluster, self._session.release))

    def remove(self, name: str) -> None:
        """Remove a workload; the drawing on the canvas stays. Raises InputError for an unknown one."""
        self.workload(name)
        content = self._content
        editing = "" if content.editing == name else content.editing
        rest = tuple(pod for pod in content.workloads if pod.pod != name)
        self._change(replace(content, workloads=rest, editing=editing))

    def rename(self, name: str, to: str) -> None:
        """Give a workload another name. Raises InputError for an unknown one, SketchError for a wrong or taken name."""
        self.workload(name)
        content = self._content
        workloads = tuple(replace(pod, pod=to) if pod.pod == name else pod for pod in content.workloads)
        editing = to if content.editing == name else content.editing
        self._change(replace(content, workloads=workloads, editing=editing))

    def set_replicas(self, name: str, replicas: int) -> None:
        """Ask for another number of pods; pins that are too many are removed. Raises InputError."""
        if not 0 <= replicas <= MOST_PODS:
            raise InputError(f"{replicas:,} pods: enter 0 to {MOST_PODS:,}")
        pod = self.workload(name)
        self._replace(replace(pod, replicas=replicas, pins=fitting_pins(pod.pins, replicas)))

    def set_gang(self, name: str, gang: GangDrawing | None) -> None:
        """Make a workload one gang, change its gang, or with None make it ordinary pods again.

        A new gang has no pins: the planner chooses its nodes. A minimum of all pods is none of its own. Raises
        InputError or SketchError.
        """
        pod = self.workload(name)
        if gang is None:
            self._replace(replace(pod, gang=None, replicas=min(MOST_PODS, pods_of(pod))))
        else:
            least = gang.min if gang.min and gang.min < gang.size else None
            gang = replace(gang, min=least, queue=gang.queue.strip())
            self._replace(replace(pod, gang=gang, pins={}, replicas=1 if pod.gang is None else pod.replicas))

    @property
    def drawn_gang(self) -> GangDrawing | None:
        """Return the gang of the workload that is drawn, None if it is none."""
        content = self._session.history.present
        return next((pod.gang for pod in content.workloads if pod.pod == content.editing), None)

    def set_drawn_gang(self, gang: GangDrawing | None) -> None:
        """Make the drawn pod one gang, change it, or with None make it ordinary pods again; one undo step.

        A drawing that is no workload becomes one. Raises InputError if nothing is drawn, SketchError for a wrong size.
        """
        content = self._session.history.present
        if self.editing:
            self.set_gang(self.editing, gang)
        elif not content.sketch.requests:
            raise InputError("nothing is drawn; draw a request first, then keep its pods together")
        elif gang is not None:
            name = free_name(content.sketch.name, [other.pod for other in content.workloads])
            pod = PodDrawing(pod=name, claims=claims_of(content.sketch), gang=gang)
            self._change(replace(content, workloads=(*content.workloads, pod), editing=name))

    def pin(self, name: str, node: str, pods: int = 1) -> None:
        """Run some pods of a workload on a node, 0 for none that must. Raises InputError."""
        self._session.cluster.node_named(node)
        pod = self.workload(name)
        pins = {**pod.pins, node: pods}
        pins = {other: count for other, count in pins.items() if count > 0}
        if sum(pins.values()) > pod.replicas:
            raise InputError(f"{name} has {pod.replicas:,} pods, and {sum(pins.values()):,} would be pinned")
        self._replace(replace(pod, pins=pins))

    def move(self, name: str, from_node: str, to_node: str) -> None:
        """Pin one more pod of a workload to a node than the plan has there, taken from a pin of `from_node` first."""
        self._session.cluster.node_named(to_node)
        pod = self.workload(name)
        replicas = self.answer.plan.on_node if self.answer is not None else {}
        here = {node: sum(one.workload == name for one in replicas.get(node, ())) for node in (from_node, to_node)}
        pins = {**pod.pins, to_node: min(pod.replicas, max(here[to_node], pod.pins.get(to_node, 0)) + 1)}
        if here[from_node] <= pins.get(from_node, 0):
            pins[from_node] = max(0, pins.get(from_node, 0) - 1)
        pins = {node: count for node, count in pins.items() if count}
        self._replace(replace(pod, pins=fitting_pins(pins, pod.replicas, first=to_node)))

    def open(self, name: str) -> None:
        """Make the claims of a workload the drawing: what is drawn then changes them. Raises InputError."""
        pod = self.workload(name)
        self._change(replace(self._content, sketch=pod_drawing(name, pod.claims), editing=name))

    def workload(self, name: str) -> PodDrawing:
        """Return a workload. Raises InputError with the most similar name if there is none of that name."""
        names = [pod.pod for pod in self.workloads]
        if name not in names:
            raise InputError(f"there is no workload {name!r}{did_you_mean(name, names)}")
        return self.workloads[names.index(name)]

    # -- what if

    def what_if(self, *changes: Layer | str) -> None:
        """Add what-if changes, as layers or as text (`drain node-1`). Raises InputError, keeping the present ones."""
        added = [change if isinstance(change, Layer) else layer_of(change) for change in changes]
        with_layers(self._session.cluster, added)
        self._change(replace(self._session.history.present, layers=(*self.layers, *added)))

    def remove_layer(self, number: int, count: int = 1) -> None:
        """Remove a change, or some in a row, by its position, from 0. Raises InputError if there is none."""
        if not 0 <= number < len(self.layers):
            raise InputError(f"there is no change {number}; there are {len(self.layers)}")
        rest = (*self.layers[:number], *self.layers[number + count :])
        self._change(replace(self._session.history.present, layers=rest))

    # -- the answer

    def why_stranded(self, node: str) -> WhyStranded | None:
        """Return why devices of a node are stranded after the answer, None while that is worked out."""
        known = self._stranded
        if self.answer is None:
            return None
        if known is None or known[0] is not self.answer or known[1] != node:
            self._stranded, question, plan = (self.answer, node), self.answer.question, self.answer.plan
            self.stranding.drop()
            self.stranding.start(lambda _run: stranded_devices(question, plan, node))
        return self.stranding.answer

    def _replace(self, by: PodDrawing) -> None:
        content = self._content
        self._change(replace(content, workloads=tuple(by if one.pod == by.pod else one for one in content.workloads)))

    def _change(self, content: Content) -> None:
        check_pods(content.workloads)
        self._session.change(content)


# --------------------------------------------------------------------- Nodes that a fleet needs in addition

MOST_TYPES = 4
"""Node types that are offered at first."""

SECONDS = 60.0
"""Seconds after which the best answer so far is shown."""


class Adding(Job["AddedNodes"]):
    """Which nodes a fleet needs in addition; the event "fleet-added" reports each change. `question` is the latest."""

    def __init__(self, session: Answering, fleet: SessionFleet) -> None:
        """Begin without a question; no thread is begun."""
        super().__init__(lambda: session.events.emit("fleet-added"))
        self._session, self._fleet = session, fleet
        self.question: SessionQuestion | None = None

    @property
    def addable(self) -> Addable:
        """Return what may be added: what the person chose, else a copy of each kind of node."""
        chosen = self._session.history.present.addable
        return chosen if chosen.types else first_addable(self._session.cluster)

    def choose(self, addable: Addable) -> None:
        """Choose what may be added. Raises NodeError for a node that the cluster does not have."""
        for one in addable.types:
            self._session.cluster.node_named(one.node)
        self._session.change(replace(self._session.history.present, addable=addable))

    @property
    def present(self) -> SessionQuestion | None:
        """Return which nodes to add for the present workloads, None while these cannot be planned."""
        return None if self._fleet.question is None else replace(self._fleet.question, addable=self.addable)

    def find(self) -> None:
        """Find the nodes that have to be added at least cost; `answer` has them later."""
        self._session.ask_fleet()
        if (question := self.present) is not None:
            self.drop()
            self.question = question
            self.start(lambda run: self._solve(run, question))
            self._session.events.emit("fleet-added")

    def add_found(self) -> None:
        """Add the nodes that were found, as what-if changes. Raises InputError if there are none."""
        added, question = self.answer, self.question
        if added is None or question is None or replace(question, addable=Addable()) != self._fleet.question:
            raise InputError("no nodes are found for the present workloads and cluster; find them again")
        self._fleet.what_if(*layers_with(added, question.cluster))

    def _solve(self, run: Run[AddedNodes], question: SessionQuestion) -> AddedNodes:
        from dra_lab.planner.questions import nodes_to_add

        limit = self._session.time_limit
        if names := [gang.name for gang in question.workloads if gang.same]:
            raise InputError(
                f"which nodes to add is not answered for pods that use the same values ({', '.join(names)}); remove "
                "Same in all pods, add the nodes that are found, and undo the removal"
            )
        return nodes_to_add(
            question.cluster,
            question.workloads,
            node_types(question),
            release=question.release,
            time_limit=SECONDS if limit is None else limit,
            progress=run.report,
            cancel=run.stop,
        )


def first_addable(cluster: Cluster) -> Addable:
    """Return copies of a node of each kind of hardware, in any number in every domain."""
    kinds: dict[object, str] = {}
    for node, slices in cluster.slices_by_node.items():
        kinds.setdefault(tuple(sorted((one.spec.driver, len(one.spec.devices or ())) for one in slices)), node)
    return Addable(types=tuple(map(AddableNode, [*kinds.values()][:MOST_TYPES])))


def tree_of(question: SessionQuestion) -> Hierarchy | None:
    """Return the hierarchy in whose domains nodes are added: the chosen one, else that of the first gang."""
    known = [tree for tree in hierarchies(question.cluster) if tree.domains]
    chosen = next((tree for tree in known if tree.name == question.addable.hierarchy), None)
    of_gangs = (hierarchy_of(question.cluster, gang) for gang in question.workloads if gang.is_gang)
    return chosen or next((tree for tree in of_gangs if tree in known), next(iter(known), None))


def level_of(question: SessionQuestion) -> str:
    """Return the level in whose domains nodes are added: the chosen one, else the innermost; "" without a hierarchy."""
    tree, level = tree_of(question), question.addable.level
    if tree is None:
        return ""
    return level if any(level == one.name for one in tree.levels) else tree.levels[-1].name


def node_types(question: SessionQuestion) -> list[NodeType]:
    """Return the node types of a question. Raises InputError for what makes no sense."""
    from dra_lab.model.node_type import NewDomains, NodeType

    addable, tree, level = question.addable, tree_of(question), level_of(question)
    if not addable.types:
        raise InputError("choose at least one node to copy")
    if question.pins:
        names = " and ".join(question.pins)
        raise InputError(f"{names}: nodes to add are found for pods that are not pinned. Unpin them first")
    new = None
    if addable.domains and tree is not None:
        new = NewDomains(nodes=addable.nodes or largest(tree, level), most=addable.domains, level=level)
    where = "" if tree is None else tree.name
    return [
        NodeType.like(one.node, cost=one.cost, places=one.places, level=level, hierarchy=where, new_domains=new)
        for one in addable.types
    ]


def largest(tree: Hierarchy, level: str) -> int:
    """Return how many nodes the largest domain of a level has, 1 at least."""
    return max((len(domain.nodes) for domain in tree.at(level)), default=1)


def layers_with(added: AddedNodes, cluster: Cluster) -> tuple[Layer, ...]:
    """Return the what-if changes that add the nodes of an answer to its cluster."""
    trees = added.hierarchies
    beside: dict[tuple[tuple[str, ...], ...], str] = {}

    def place(node: str) -> tuple[tuple[str, ...], ...]:
        return tuple(tree.path_of(node) for tree in trees)

    for node in cluster.node_names:
        beside.setdefault(place(node), node)
    found = []
    like = {one.name: one.node for one in added.types}
    for count in added.added:
        for where, nodes in groupby(count.nodes, key=place):
            names = tuple(nodes)
            layer = Layer(change="add", subject=like[count.type], count=len(names))
            if where in beside:
                layer = replace(layer, beside=beside[where] if trees else "")
            else:
                layer = replace(layer, **_new_domain(trees, cluster.node_names, count, layer.subject))
                beside[where] = names[0]
            found.append(layer)
    return tuple(found)


def _new_domain(trees: Sequence[Hierarchy], old: Sequence[str], count: AddedCount, like: str) -> dict[str, str]:
    """Return the fields of a layer that makes a new domain: next to that of the copied node, if it can be."""
    path = count.domain
    tree = next(tree for tree in trees if any(domain.path == path for domain in tree.domains))
    level = tree.levels[len(path) - 1].name
    known = [node for node in old if len(tree.path_of(node)) >= len(path)]
    depth = max(at for at in range(len(path)) if any(tree.path_of(node)[:at] == path[:at] for node in known))
    nearest = [node for node in known if tree.path_of(node)[:depth] == path[:depth]]
    return {"beside": like if like in nearest else nearest[0], "hierarchy": tree.name, "level": level}
