"""What is left: how many more pods fit, the largest job, stranded devices, scenarios, and nodes to add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dra_lab.model.headroom import NODES_TOGETHER, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.plan import PlanStatus
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, number_words, printable
from dra_lab.words.facts import COUNTING_ENDS, KINDS, counted, sentence
from dra_lab.words.workload_words import levels_table

MANY = 40
"""Nodes up to which each has a row of its own."""

MOST = 12
"""Domains that are shown one by one."""


def headroom_parts(headroom: Headroom) -> Iterator[Part]:
    """Yield how many more replicas of a workload fit: the sentence, a row for each class of nodes or each domain."""
    if headroom.levels:
        yield Sentence(printable(f"{headroom.workload}: {headroom.count} more."))
        yield levels_table(headroom)
        domains = sorted(headroom.where, key=lambda fit: -fit.replicas.value)[:MOST]
        each = [("/".join(fit.members), str(fit.replicas), str(fit)) for fit in domains]
        yield Table(("domain", "gangs", "pods of one gang"), each)
        return
    yield Sentence(f"{headroom_sentence(headroom)}.")
    ordered = sorted(headroom.where, key=lambda fit: (-fit.replicas.value, -len(fit.members), fit.members))
    rows = [
        (
            f"{len(fit.members):,}" + (" together" if fit.kind == NODES_TOGETHER else ""),
            str(fit.replicas),
            fit.members[0] if fit.members else "",
        )
        for fit in ordered
    ]
    yield Table(("nodes", "more on each", "first of them"), rows)


def headroom_sentence(headroom: Headroom) -> str:
    """Return how many more replicas of a workload fit, in words."""
    count = headroom.count
    if count.exact:
        return printable(f"{headroom.workload}: {count.value:,} more, proven")
    if count.bound is None:
        return printable(f"{headroom.workload}: at least {count.value:,} more; {COUNTING_ENDS}")
    return printable(f"{headroom.workload}: at least {count.value:,} more, at most {count.bound:,}; not proven")


def job_sentence(job: LargestJob) -> str:
    """Return the largest job of a claim, in words."""
    if not job.scale_bound:
        return printable(f"{job.claim}: not even once, proven")
    times = "the claim once" if job.scale == 1 else f"{job.scale} times the claim"
    scale = f"{times} on {job.node}" if job.scale else "not known whether it fits"
    open_scale = "" if job.scale >= job.scale_bound else f" (at most {job.scale_bound} times; not proven)"
    count = job.replicas
    pods = f"{'at least ' if count.bound is None else ''}{counted(count.value, 'pod')} of it can start together"
    open_pods = "" if count.exact else f" (at most {count.bound:,}; not proven)"
    open_pods = f" ({COUNTING_ENDS})" if count.bound is None else open_pods
    return printable(f"{job.claim}: {scale}{open_scale}; {pods}{open_pods}")


def stranded_sentence(lost: Stranded) -> str:
    """Return what is stranded in all, in words."""
    words = [_stranded_words(kind) for kind in lost.kinds if kind.free]
    stranded = f"Stranded: {'; '.join(words)}." if words else "Nothing is free, so nothing is stranded."
    known = "" if lost.not_examined and not lost.nodes else stranded
    return printable(" ".join(filter(None, (known, not_examined_words(lost)))))


def not_examined_words(lost: Stranded) -> str:
    """Return the sentence on the nodes that are not in what is stranded, "" if all are."""
    return f"{counted(lost.not_examined, 'node')} not examined before the time limit." if lost.not_examined else ""


def _stranded_words(kind: StrandedKind) -> str:
    words = f"{kind.stranded:,} of {kind.free:,} free {KINDS.get(kind.kind, kind.kind)}"
    if kind.proven:
        return words
    why = ["not proven"] if kind.usable < kind.bound else []
    if kind.partitions:
        why.append(
            f"{kind.partitions:,} of these are partitions of different sizes, of which large ones leave less free"
        )
    return f"{f'at most {words}' if kind.partitions else words} (at least {kind.least:,}; {'; '.join(why)})"


def stranded_table(lost: Stranded) -> Table:
    """Return what is stranded of each kind of device, in all and on each node."""
    named = (([" + ".join(c.nodes)] if c.together else c.nodes, c.kinds) for c in lost.nodes)
    nodes = sorted((name, _kind_rows(kinds)) for names, kinds in named for name in names)
    every = "all examined" if lost.not_examined else "in all"
    rows = [[every, *row] for row in _kind_rows(lost.kinds)] + [*identical_together(nodes)]
    title = "Stranded after this: free, and no aligned claim of these can use it"
    return Table(("node", "kind", "free", "usable", "stranded", "proof"), rows, title)


def _kind_rows(kinds: Sequence[StrandedKind]) -> list[list[object]]:
    return [
        [
            KINDS.get(kind.kind, kind.kind),
            kind.free,
            kind.usable,
            f"at most {kind.stranded:,}" if kind.partitions and not kind.proven else kind.stranded,
            "proven" if kind.proven else f"at least {kind.least:,}",
        ]
        for kind in kinds
        if kind.free
    ]


def identical_together(nodes: Sequence[tuple[str, list[list[object]]]]) -> Iterator[list[object]]:
    """Yield the rows of the nodes; of many nodes, those with identical rows as one."""
    by_rows: dict[str, list[tuple[str, list[list[object]]]]] = {}
    for node in nodes:
        by_rows.setdefault(repr(node[1]) if len(nodes) > MANY else node[0], []).append(node)
    for members in sorted(by_rows.values(), key=lambda members: -len(members)):
        first = ", ".join(name for name, _ in members[:2])
        rest = f" and {len(members) - 2:,} more" if len(members) > 2 else ""
        yield from ([first + rest, *row] for row in members[0][1])


MOST_ADDED = 20
"""Rows that a terminal shows."""


def added_sentence(found: AddedNodes) -> str:
    """Return the answer in one or two short sentences, with what is proven of it."""
    gangs = sum(gang.replicas for gang in found.wanted)
    pods = sum(workload.replicas for workload in found.workloads)
    parts = ["the gang" if gangs == 1 else f"all {gangs:,} gangs"] if gangs or not pods else []
    parts += [counted(pods, "ordinary pod")] if pods else []
    wanted, fit = " and ".join(parts), "fits" if gangs + pods == 1 else "fit"
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
    proof = "Nothing cheaper exists, proven." if found.proven else "Something cheaper may exist."
    if not found.proven and found.bound is not None:
        proof = f"Best so far: no answer costs less than {number_words(found.bound)}, proven."
    return printable(f"{text} so that {wanted} {fit}. {proof}")


def added_parts(found: AddedNodes) -> Iterator[Part]:
    """Yield the answer, the nodes by type and domain, and why no number of nodes helps."""
    yield Sentence(added_sentence(found))
    if found.added:
        table = added_table(found)
        more = [f"{len(table.rows) - MOST_ADDED:,} more rows."] if len(table.rows) > MOST_ADDED else []
        yield Table(table.columns, table.rows[:MOST_ADDED], "Nodes to add", more)
    if found.shortfalls and found.status is PlanStatus.INFEASIBLE:
        yield Lines(
            "Why", [printable(" ".join(filter(None, (sentence(one.message), one.advice)))) for one in found.shortfalls]
        )
    for finding in found.findings:
        if finding.rule in ("not-placed-yet", "hyper-nodes-of-new-nodes"):
            yield Words(printable(sentence(finding.message)))


def added_table(found: AddedNodes) -> Table:
    """Return a row for each node type and domain."""
    rows = [
        (one.type, "/".join(one.domain) or "cluster", "new" if one.new else "", one.count, one.cost)
        for one in found.added
    ]
    return Table((Column("node type", "type"), "domain", "new", "nodes", "cost"), rows, "Nodes to add")
