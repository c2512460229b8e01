"""The values of which all pods of a gang use the same, such as rails, on the nodes of a domain."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.workload import Workload
from dra_lab.session.answers import Answer
from dra_lab.session.gang_domains import NodePods
from dra_lab.session.same_values import ValueRow, value_rows
from dra_lab.widgets.messages import Row
from dra_lab.words.document import printable
from dra_lab.words.facts import counted
from dra_lab.words.workload_words import is_rail


class RailRow(Row, frozen=True):
    """One value, such as a rail: whether it is chosen, and its devices on each node, in `boxes` if they are few."""

    value: str
    chosen: bool = False
    words: str = ""
    boxes: tuple[NodePods, ...] = ()


class RailTable(Row, frozen=True):
    """The values of an attribute of which all pods of a gang use the same; `note` says what is left out."""

    title: str
    rows: tuple[RailRow, ...] = ()
    note: str = ""


MOST_RAILS = 16
"""Values that are shown."""

MOST_NODES = 40
"""Nodes up to which one row shows each of them."""


def rail_tables(answer: Answer, gang: Workload, nodes: Sequence[str]) -> list[RailTable]:
    """Return the values that all pods of a gang use, beside the others that some nodes have."""
    tables = []
    for same in {one.attribute: one for one in answer.plan.same if one.workload == gang.name}.values():
        noun = "Rails" if same.inferred or is_rail(same.attribute) else "Values"
        every = value_rows(answer, gang, same, nodes)
        rows = sorted(every, key=lambda row: not row.is_chosen)[:MOST_RAILS]
        tables.append(
            RailTable(
                title=f"{noun} of {gang.name}: {printable(same.attribute)}{' (inferred)' if same.inferred else ''}",
                rows=tuple(_rail_row(row) for row in every if row in rows),
                note=f"{len(every) - MOST_RAILS:,} more are not shown." if len(every) > MOST_RAILS else "",
            )
        )
    return tables


def _rail_row(row: ValueRow) -> RailRow:
    words = f"free on {row.free:,} of {counted(len(row.nodes), 'node')}"
    boxes = row.nodes if len(row.nodes) <= MOST_NODES else ()
    return RailRow(value=printable(row.value), chosen=row.is_chosen, words=words, boxes=boxes)
