"""Reasons and regret in words: counts by test as tables, conflicts, relaxations, ranges of bandwidth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dra_lab.findings import shortened
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Conflict, Element, Funnel, FunnelStep, Relaxation
from dra_lab.model.regret import PathShare, Regret
from dra_lab.pictures.words import counted

FIRST_FITS = {"manifest": "kube-scheduler with this manifest", "plain": "kube-scheduler without links"}
_HEADS = {
    "published": "published",
    "gate": "not hidden",
    "taint": "untainted",
    "in-use": "free",
    "capacity": "capacity",
}


class FunnelTable(Struct, frozen=True):
    """The counts of one request: a column for each test, a row for each kind of node; `legend` explains columns."""

    request: str
    needed: int
    columns: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]


def funnel_tables(plan: Plan) -> tuple[FunnelTable, ...]:
    """Return the counts of every request, in the order of the drawing; rows begin with the nodes they are of."""
    if plan.reasons is None:
        return ()
    tables: dict[tuple[object, ...], list[Funnel]] = {}
    for funnel in plan.reasons.funnels:
        tests = tuple((step.test, step.text) for step in funnel.steps)
        tables.setdefault((funnel.request, funnel.needed, tests), []).append(funnel)
    return tuple(_table(rows) for rows in tables.values())


def _table(rows: list[Funnel]) -> FunnelTable:
    numbers: dict[str, int] = {}
    heads, legend = [], []
    for step in rows[0].steps:
        head = _head(step, numbers)
        heads.append(head)
        if step.text:
            legend.append((head, shortened(step.text)))
    told = tuple((_nodes(row), *(str(step.count) for step in row.steps)) for row in rows)
    return FunnelTable(rows[0].request, rows[0].needed, ("nodes", *heads), tuple(legend), told)


def _head(step: FunnelStep, numbers: dict[str, int]) -> str:
    if step.test in _HEADS:
        return _HEADS[step.test]
    word = {"class": "class", "class-selector": "class", "selector": "selector", "link": "link"}[step.test]
    numbers[word] = numbers.get(word, 0) + 1
    return f"{word} {numbers[word]}"


def _nodes(row: Funnel) -> str:
    return row.node if row.nodes == 1 else f"{row.nodes} nodes like {row.node}"


def scarcity_lines(plan: Plan) -> Iterator[str]:
    """Yield of each request whether its devices are short or scattered; nothing where a node has enough of them."""
    for scarce in plan.reasons.scarcity if plan.reasons else ():
        word = {"shortage": "Shortage", "fragmentation": "Fragmentation"}.get(scarce.kind)
        if word:
            yield f"{word}: {scarce.message}"


def conflict_lines(plan: Plan) -> Iterator[str]:
    """Yield what cannot hold together, for the nearest node and for the cluster; one line where they are the same."""
    conflicts = plan.reasons.conflicts if plan.reasons else ()
    if len(conflicts) == 2 and conflicts[0].elements == conflicts[1].elements:
        conflicts = conflicts[1:]
    for conflict in conflicts:
        yield _conflict(conflict)


def _conflict(conflict: Conflict) -> str:
    where = f"on node {conflict.node}" if conflict.node else "on any node"
    names = [_element(element) for element in conflict.elements]
    if len(names) == 1:
        return f"{_upper(names[0])} alone cannot be had {where}"
    told = f"{', '.join(names[:-1])} and {names[-1]}"
    if not conflict.minimal:
        return f"{_upper(told)} cannot hold together {where}; perhaps fewer of them cannot: that was not found out"
    least = "; no smaller set does" if conflict.smallest else ""
    return f"{_upper(told)} cannot hold together {where}; without any one of them the others can{least}"


def _element(element: Element) -> str:
    if element.kind == "selector":
        return f"the selector {element.text} of {element.subject}"
    return f"the {element.kind} {element.subject}"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def relaxation_lines(plan: Plan) -> Iterator[str]:
    """Yield every relaxation with what it brings, most nodes first; then what is no help, and what was not tried."""
    changes = plan.reasons.relaxations if plan.reasons else ()
    helping = sorted((c for c in changes if c.fitting), key=lambda change: -(change.fitting or 0))
    yield from map(relaxation_words, helping)
    yield from no_help_lines(plan)


def no_help_lines(plan: Plan) -> Iterator[str]:
    """Yield the relaxations that are no help alone, and those of which it was not found out."""
    changes = plan.reasons.relaxations if plan.reasons else ()
    useless = [change.title for change in changes if change.fitting == 0 and not change.undecided]
    if useless:
        yield f"Tried, and alone not enough: {'; '.join(useless)}"
    untried: dict[str, list[str]] = {}
    for change in changes:
        if change.why_open and not change.fitting:
            untried.setdefault(change.why_open, []).append(change.title)
    for why, titles in untried.items():
        yield f"Not found out, {why}: {'; '.join(titles)}"


def relaxation_words(change: Relaxation) -> str:
    """Return one relaxation with what it brings: `Prefer 'pairs': fits on 3 of 4 nodes`."""
    if change.why_open and not change.fitting:
        return f"{change.title}: not found out, {change.why_open}"
    return f"{change.title}: fits on {change.fitting} of {_total(change)}"


def _total(change: Relaxation) -> str:
    more = f" ({change.undecided} more not decided)" if change.undecided else ""
    return f"{counted(change.total, 'node')}{more}"


def ratio(share: PathShare) -> str:
    """Return what a path leaves of the bandwidth: `1.0`, `0.45 to 0.64` or `not known`."""
    if share.low is None or share.high is None:
        return "not known"
    return f"{share.low:.1f}" if share.low == share.high else f"{share.low:.2f} to {share.high:.2f}"


def path_words(shares: tuple[PathShare, ...]) -> str:
    """Return how the GPUs of an allocation reach their NICs: `1.0 on 1 of 2 GPUs, 0.45 to 0.64 on 1 of 2 GPUs`."""
    gpus = sum(share.gpus for share in shares)
    return ", ".join(share_words(share, gpus) for share in shares)


def share_words(share: PathShare, gpus: int) -> str:
    """Return one path of those by which an allocation's GPUs reach their NICs: `1.0 on 1 of 2 GPUs (...)`."""
    return f"{ratio(share)} on {share.gpus} of {counted(gpus, 'GPU')} ({share.words})"


def regret_lines(plan: Plan) -> Iterator[str]:
    """Yield what the first fits cost in bandwidth between GPUs and NICs, with kind and sources."""
    yield from bandwidth_lines(plan.regrets)


def bandwidth_lines(regrets: Sequence[Regret]) -> Iterator[str]:
    """Yield what is left of the bandwidth between GPUs and NICs in each allocation, as ranges, with their sources."""
    with_paths = [regret for regret in regrets if regret.best or regret.theirs]
    if not with_paths:
        return
    yield (
        "What is left of the bandwidth that a GPU and its NIC reach at one PCIe root, large transfers, as a range: "
        f"best {path_words(with_paths[0].best)}"
    )
    for regret in with_paths:
        yield f"{FIRST_FITS[regret.against]}: {path_words(regret.theirs) if regret.paths_differ else 'the same'}"
    yield from source_lines(with_paths)


def source_lines(regrets: list[Regret]) -> Iterator[str]:
    """Yield where the ranges come from, and the published measurements that lie outside them."""
    shares = {share.path: share for regret in regrets for share in (*regret.best, *regret.theirs)}
    for share in shares.values():
        if share.path == "root":
            continue
        kinds = {"measured": "published measurements", "derived": "derived, not measured"}
        source = f": {', '.join(share.sources)}" if share.sources else ""
        note = f"; {share.note}" if share.note else ""
        yield f"{_upper(share.words)}, {ratio(share)}: {kinds.get(share.kind, 'not known')}{source}{note}"
        if share.against:
            yield f"Outside that range: {'; '.join(share.against)}"
