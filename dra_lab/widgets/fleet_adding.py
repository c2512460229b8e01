"""Which nodes to add, in the Fleet mode: what may be added, the cheapest answer with its proof, and its uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import traitlets
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.layers import Addable, AddableNode
from dra_lab.model.plan import PlanStatus
from dra_lab.model.quantity import whole_number
from dra_lab.session import Session
from dra_lab.session.fleet import Adding, largest, level_of, tree_of
from dra_lab.session.question import SessionQuestion
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.widgets.cluster_rows import FindingRow, finding_rows, hardware_types
from dra_lab.widgets.gang_rows import LevelRow, level_rows
from dra_lab.widgets.session_view import Pane, Row, calls, on
from dra_lab.words.document import number_words
from dra_lab.words.facts import sentence
from dra_lab.words.workload_words import domain_name, level_word

if TYPE_CHECKING:
    from dra_lab.model.node_type import AddedNodes

FILE = "provisioning-request.yaml"
"""The file in which a person saves the ProvisioningRequests."""

_ANY = "any"
_FINDINGS = ("not-placed-yet", "hyper-nodes-of-new-nodes")
"""Rules of the findings that are shown beside the answer."""
_MOST_NAME = 20


class AddableRow(Row, frozen=True):
    """Nodes that may be added: the node that is copied, its hardware, the cost and the places of `set_node_type`."""

    node: str
    hardware: str
    cost: str
    places: str


AddedRow = tuple[str, str, bool, str, str]
"""The node that is copied, the domain, whether it is new, how many nodes, their cost."""


class AddingRow(Row, frozen=True):
    """What may be added, and the answer.

    `needed` says that pods have no place. `word` is what people call a domain of the level, `words` several of them,
    and `nodes` how many nodes a new one has places for. `example` has places by domain. `found` is "none" if no node
    helps. `stale` says that the answer is for other workloads. `lines` are the reasons;
    `request` is the text of the ProvisioningRequests with its `limits` and `findings`.
    """

    needed: bool = False
    types: tuple[AddableRow, ...] = ()
    levels: tuple[LevelRow, ...] = ()
    hierarchy: str = ""
    level: str = ""
    word: str = ""
    words: str = ""
    example: str = ""
    domains: int = 0
    nodes: int = 1
    working: bool = False
    found: Literal["", "nodes", "none", "open", "error"] = ""
    verdict: str = ""
    rows: tuple[AddedRow, ...] = ()
    total: tuple[str, str] = ("", "")
    lines: tuple[str, ...] = ()
    stale: bool = False
    request: str = ""
    file: str = FILE
    limits: tuple[str, ...] = ()
    findings: tuple[FindingRow, ...] = ()


class FleetAdding(Pane):
    """The part of the Fleet mode about nodes to add."""

    fleet_adding = traitlets.Dict().tag(sync=True, value=AddingRow)

    only_in = "fleet"

    def _begin(self) -> None:
        self.shows("fleet", "mode", "fleet-added", "history", fleet_adding=adding_row)

    find_nodes = calls(Adding.find, "adding", tag="find-nodes")
    stop_finding = calls(Adding.cancel, "adding", tag="stop-finding")
    add_found_nodes = calls(Adding.add_found, "adding", tag="add-found-nodes")

    @on
    def set_node_type(self, node: str, cost: str = "1", places: str = _ANY) -> None:
        """Let copies of a node be added: what one costs, and how many each domain has places for.

        `places` is `any`, a number for each domain, or numbers by domain: `rack-1=2, rack-2=0`.
        """
        try:
            number = float(cost.replace(",", "").strip())
        except ValueError:
            raise InputError(f"cost {cost!r}: enter a number above 0") from None
        made = AddableNode(node=node.strip(), cost=number, places=_places(places))
        types = {one.node: one for one in self._addable.types} | {made.node: made}
        self._change(types=tuple(types.values()))

    @on
    def remove_node_type(self, node: str) -> None:
        """Let no copies of a node be added."""
        self._change(types=tuple(one for one in self._addable.types if one.node != node))

    @on
    def set_new_domains(self, hierarchy: str, level: str, domains: int, nodes: int) -> None:
        """Choose the level whose domains get nodes, and how many new domains there may be for `nodes` nodes each."""
        if domains < 0 or nodes < 1:
            raise InputError("enter 0 or more new domains, with places for 1 node or more each")
        self._change(domains=domains, nodes=nodes, hierarchy=hierarchy, level=level)

    @property
    def _addable(self) -> Addable:
        return self.session.adding.addable

    def _change(self, **changes: Any) -> None:
        self.session.adding.choose(replace(self._addable, **changes))


def adding_row(session: Session) -> AddingRow:
    """Return what may be added to the cluster of a session, and the answer so far."""
    adding = session.adding
    question = adding.present
    if question is None:
        return AddingRow()
    kinds, tree, level = hardware_types(session.cluster), tree_of(question), level_of(question)
    addable, answer = question.addable, session.fleet.answer
    is_planned = answer is not None and session.fleet.is_current and answer.plan.status is not PlanStatus.EMPTY
    figures = answer.figures if answer is not None and is_planned else {}
    row = AddingRow(
        needed=bool(figures) and figures["placed"].value < figures["wanted"].value,
        types=tuple(
            AddableRow(node=one.node, hardware=kinds.get(one.node, ""), cost=f"{one.cost:g}", places=_places_words(one))
            for one in addable.types
        ),
        levels=tuple(one for one in level_rows(session.cluster) if one.hierarchy),
        hierarchy="" if tree is None else tree.name,
        level=level,
        word=level_word(level),
        words=plural(level_word(level)),
        example="" if tree is None else _example(tree, level),
        domains=addable.domains,
        nodes=addable.nodes or (1 if tree is None else largest(tree, level)),
    )
    return _with_answer(row, adding, question)


def _example(tree: Hierarchy, level: str) -> str:
    names = [domain.path[-1] for domain in tree.at(level)][:2]
    names = names if all(len(name) <= _MOST_NAME for name in names) else ["NAME"]
    return ", ".join(f"{name}={number}" for name, number in zip(names, (2, 4), strict=False))


def _with_answer(row: AddingRow, adding: Adding, question: SessionQuestion) -> AddingRow:
    from dra_lab.words.capacity_document import added_sentence  # only those who ask wait for it

    if adding.stale:
        return replace(row, working=True)
    row = replace(row, stale=adding.question is not None and question != adding.question)
    if adding.refusal is not None:
        return replace(row, found="error", verdict=sentence(str(adding.refusal)))
    if (added := adding.answer) is None:
        return row
    reasons = (" ".join(filter(None, (sentence(one.message), one.advice))) for one in added.shortfalls)
    row = replace(
        row,
        found="nodes" if added.added else "none" if added.status is PlanStatus.INFEASIBLE else "open",
        verdict=added_sentence(added),
        rows=tuple(
            (
                one.type,
                " / ".join(domain_name((v,)) for v in one.domain) or "the cluster",
                one.new,
                f"{one.count:,}",
                number_words(one.cost),
            )
            for one in added.added
        ),
        total=(f"{added.count:,}", number_words(added.cost)),
        lines=(*reasons, *(sentence(one.message) for one in added.findings if one.rule in _FINDINGS)),
    )
    return _with_request(row, added) if added.added else row


def _with_request(row: AddingRow, added: AddedNodes) -> AddingRow:
    from dra_lab.exports.gangs.provisioning_request import provisioning_request

    try:
        files = provisioning_request(added)
    except InputError as error:
        return replace(row, limits=(sentence(error.message),))
    text = "---\n".join(files.texts.values())
    return replace(row, request=text, limits=files.not_expressed, findings=finding_rows(files.findings))


def _places(text: str) -> dict[str, int] | int | None:
    """Return how many nodes each domain has places for, None for any number. Raises InputError."""
    if text.strip().casefold() in ("", _ANY):
        return None
    if (every := whole_number(text.strip())) is not None and every >= 0:
        return every
    found: dict[str, int] = {}
    for name, _, count in (part.rpartition("=") for part in text.split(",")):
        number = whole_number(count.strip())
        if not name.strip() or number is None or number < 0:
            raise InputError(f"places {text!r}: enter any, a number, or numbers by domain such as rack-1=2, rack-2=0")
        found[name.strip()] = number
    return found


def _places_words(one: AddableNode) -> str:
    if one.places is None:
        return _ANY
    if isinstance(one.places, int):
        return str(one.places)
    return ", ".join(f"{name}={count}" for name, count in one.places.items())
