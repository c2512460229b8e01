"""Nodes to add in words: how many and why, by type and domain, as text, HTML, JSON and DataFrame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dra_lab.model.node_type import AddedNodes
from dra_lab.model.plan import PlanStatus
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, number_words, printable
from dra_lab.words.facts import counted, sentence

MOST = 20
"""Rows that a terminal shows."""


def added_sentence(found: AddedNodes) -> str:
    """Return the answer in one or two short sentences, with what is proven of it."""
    wanted, fit = _wanted(found)
    match found.status:
        case PlanStatus.NOT_CHECKED:
            return printable(f"Not checked: {sentence(found.shortfalls[0].message)}")
        case PlanStatus.INFEASIBLE:
            return f"No number of these nodes helps, proven. They cannot make {wanted} fit."
        case PlanStatus.STOPPED:
            least = f" They cost at least {number_words(found.bound)}." if found.bound else ""
            return f"Not answered: there was not enough time to find nodes with which {wanted} {fit}.{least}"
    if not found.count:
        return f"No nodes have to be added: {wanted} {fit}{'' if found.proven else ', as far as is known'}."
    types = Counter[str]()
    for one in found.added:
        types[one.type] += one.count
    each = ", ".join(f"{count:,} × {name}" for name, count in types.items())
    domains = len({one.domain for one in found.added if one.new})
    where = f", {counted(domains, 'new domain')}" if domains else ""
    text = f"Add {counted(found.count, 'node')} ({each}{where}) at a cost of {number_words(found.cost)}"
    return printable(f"{text} so that {wanted} {fit}. {_proof(found)}")


def _proof(found: AddedNodes) -> str:
    if found.proven:
        return "Nothing cheaper exists, proven."
    if found.bound is None:
        return "Something cheaper may exist."
    return f"Best so far: no answer costs less than {number_words(found.bound)}, proven."


def _wanted(found: AddedNodes) -> tuple[str, str]:
    """Return what must fit, with its verb."""
    gangs = sum(gang.replicas for gang in found.wanted)
    pods = sum(workload.replicas for workload in found.workloads)
    parts = ["the gang" if gangs == 1 else f"all {gangs:,} gangs"] if gangs or not pods else []
    parts += [counted(pods, "ordinary pod")] if pods else []
    return " and ".join(parts), "fits" if gangs + pods == 1 else "fit"


def added_parts(found: AddedNodes) -> Iterator[Part]:
    """Yield the answer, the nodes by type and domain, and why no number of nodes helps."""
    yield Sentence(added_sentence(found))
    if found.added:
        table = added_table(found)
        more = [f"{len(table.rows) - MOST:,} more rows."] if len(table.rows) > MOST else []
        yield Table(table.columns, table.rows[:MOST], "Nodes to add", more)
    if found.shortfalls and found.status is PlanStatus.INFEASIBLE:
        yield Lines(
            "Why", [printable(" ".join(filter(None, (sentence(one.message), one.advice)))) for one in found.shortfalls]
        )
    for finding in found.findings:
        if finding.rule in ("not-placed-yet", "hyper-nodes-of-new-nodes"):
            yield Words(printable(sentence(finding.message)))


def added_table(found: AddedNodes) -> Table:
    """Return a row for each node type and domain."""
    heads = (
        Column("node type", "type"),
        Column("domain", "domain"),
        Column("new", "new"),
        Column("nodes", "nodes"),
        Column("cost", "cost"),
    )
    rows = [
        (one.type, "/".join(one.domain) or "cluster", "new" if one.new else "", one.count, one.cost)
        for one in found.added
    ]
    return Table(heads, rows, "Nodes to add")
