"""Which nodes a fleet needs in addition: what may be added, the answer of `nodes_to_add`, and the layers it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.layers import Addable, AddableNode, Layer
from dra_lab.model.question import Question
from dra_lab.session.answering import Answering
from dra_lab.session.gang_answers import hierarchy_of
from dra_lab.session.job import Job, Run
from dra_lab.topology.hierarchies import hierarchies

if TYPE_CHECKING:
    from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType

MOST_TYPES = 4
"""Node types that are offered at first."""

SECONDS = 60.0
"""Seconds after which the best answer so far is shown."""


class Adding(Job["AddedNodes"]):
    """Which nodes a fleet needs in addition; the event "fleet-added" reports each change. `question` is the latest."""

    def __init__(self, session: Answering) -> None:
        """Begin without a question; no thread is begun."""
        super().__init__(lambda: session.events.emit("fleet-added"))
        self._session, self._fleet = session, session.fleet
        self.question: Question | None = None

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
    def present(self) -> Question | None:
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

    def _solve(self, run: Run[AddedNodes], question: Question) -> AddedNodes:
        from dra_lab.planner.gangs.nodes_to_add import nodes_to_add

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


def tree_of(question: Question) -> Hierarchy | None:
    """Return the hierarchy in whose domains nodes are added: the chosen one, else that of the first gang."""
    known = [tree for tree in hierarchies(question.cluster) if tree.domains]
    chosen = next((tree for tree in known if tree.name == question.addable.hierarchy), None)
    of_gangs = (hierarchy_of(question.cluster, gang) for gang in question.workloads if gang.is_gang)
    return chosen or next((tree for tree in of_gangs if tree in known), next(iter(known), None))


def level_of(question: Question) -> str:
    """Return the level in whose domains nodes are added: the chosen one, else the innermost; "" without a hierarchy."""
    tree, level = tree_of(question), question.addable.level
    if tree is None:
        return ""
    return level if any(level == one.name for one in tree.levels) else tree.levels[-1].name


def node_types(question: Question) -> list[NodeType]:
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
