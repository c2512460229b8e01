"""Why a claim does not fit and what would help, and what kube-scheduler's first fit costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dra_lab.findings import Finding, shortened, sort_findings
from dra_lab.model.goals import FLEET_GOALS, GOALS
from dra_lab.model.placement import YOURS, PathShare, Regret
from dra_lab.model.reasons import Conflict, Element, Funnel, Reasons, Relaxation, Shortfall, Suggestion
from dra_lab.words.document import Item, Lines, Part, Picture, Table, escaped
from dra_lab.words.facts import FIRST_FITS, counted, sentence

_TITLE = "Bandwidth from GPUs to NICs (large transfers), as a ratio to that on one PCIe root"
_KINDS = {"measured": "published measurements", "derived": "derived, not measured", "yours": "measured by you"}
_HEADS = {
    "published": "published",
    "gate": "not hidden",
    "taint": "untainted",
    "in-use": "free",
    "capacity": "capacity",
}


def finding_lines(findings: Iterable[Finding]) -> Lines:
    """Return findings as a list: severity, place, subject, message and advice of each, errors first."""
    items = []
    for finding in sort_findings(findings):
        origin = finding.origin
        named = origin is not None and finding.subject in (origin.source, origin.object)
        where = [str(origin or ""), "" if named else finding.subject, finding.message]
        text = ": ".join(filter(None, where))
        items.append(Item(sentence(text), sentence(finding.advice), finding.severity.value))
    return Lines("Findings", items)


def shortfall_item(shortfall: Shortfall) -> Item:
    """Return a reason, with the node that it is about, and what to do about it."""
    where = f" ({shortfall.node})" if shortfall.node and shortfall.node not in shortfall.message else ""
    return Item(sentence(shortfall.message + where), sentence(shortfall.advice))


def suggestion_item(suggestion: Suggestion) -> Item:
    """Return what would help, what it brings, its source, and the selectors that it adds."""
    source = f" Source: {suggestion.source}" if suggestion.source else ""
    code = [f"{request}: {text}" for request, texts in suggestion.selectors.items() for text in texts]
    return Item(sentence(suggestion.title), f"{sentence(suggestion.detail)}{source}".lstrip(), code=code)


def reasons_parts(reasons: Reasons | None) -> Iterator[Part]:
    """Yield why a claim fits nowhere: what fails, what is in the way, the counts after each test, what was tried."""
    if reasons is None:
        return
    failing = [f"{failure.request}: {failure.expression}: {failure.message}" for failure in reasons.failures]
    yield Lines("Selectors that fail", [shortened(line) for line in failing])
    yield Lines("What is in the way", [sentence(line) for line in blocking_lines(reasons)])
    yield from funnel_tables(reasons)
    yield Lines("Changes, each tried alone", [sentence(line) for line in relaxation_lines(reasons)])


def funnel_tables(reasons: Reasons) -> Iterator[Table]:
    """Yield the counts of every request, in the order of the drawing: a column for each test, a row for each node."""
    tables: dict[tuple[object, ...], list[Funnel]] = {}
    for funnel in reasons.funnels:
        tests = tuple((step.test, step.text) for step in funnel.steps)
        tables.setdefault((funnel.request, funnel.needed, tests), []).append(funnel)
    for rows in tables.values():
        heads, notes = _heads(rows[0])
        needed = f"{rows[0].needed} needed" if rows[0].needed else "all that match"
        counts = [
            (row.node if row.nodes == 1 else f"{row.nodes} nodes like {row.node}", *(step.count for step in row.steps))
            for row in rows
        ]
        yield Table(("nodes", *heads), counts, f"Devices left for {rows[0].request} ({needed})", notes)


def _heads(funnel: Funnel) -> tuple[list[str], list[str]]:
    """Return the heads of a request's tests, and what they stand for."""
    numbers: dict[str, int] = {}
    heads, notes = [], []
    for step in funnel.steps:
        head = _HEADS.get(step.test, "")
        if not head:
            word = {"class-selector": "class"}.get(step.test, step.test)
            numbers[word] = numbers.get(word, 0) + 1
            head = f"{word} {numbers[word]}"
        heads.append(head)
        if step.text:
            notes.append(f"{head}: {shortened(step.text)}")
    return heads, notes


def blocking_lines(reasons: Reasons) -> Iterator[str]:
    """Yield whether devices are short or scattered, and what is impossible together, on the nearest node and on any."""
    for scarce in reasons.scarcity:
        word = {"shortage": "Shortage", "fragmentation": "Fragmentation"}.get(scarce.kind)
        if word:
            yield f"{word}: {scarce.message}"
    conflicts = reasons.conflicts
    if len(conflicts) == 2 and conflicts[0].elements == conflicts[1].elements:
        conflicts = conflicts[1:]
    yield from map(_conflict, conflicts)


def _conflict(conflict: Conflict) -> str:
    where = f"on node {conflict.node}" if conflict.node else "on every node"
    names = [_element(element) for element in conflict.elements]
    if len(names) == 1:
        return f"Impossible {where}: {names[0]}"
    impossible = f"Impossible together {where}: {', '.join(names[:-1])} and {names[-1]}"
    if not conflict.minimal:
        return f"{impossible}. Perhaps fewer of them are impossible too; that is not known"
    least = ". No smaller set is impossible" if conflict.smallest else ""
    return f"{impossible}. Without any one of them the rest fits{least}"


def _element(element: Element) -> str:
    if element.kind == "selector":
        return f"the selector {element.text} of {element.subject}"
    return element.text if element.kind == "link" and element.text else f"the {element.kind} {element.subject}"


def relaxation_lines(reasons: Reasons) -> Iterator[str]:
    """Yield every change with what it brings, most nodes first; then what is no help, and what was not tried."""
    helping = sorted((c for c in reasons.relaxations if c.fitting), key=lambda change: -(change.fitting or 0))
    yield from map(relaxation_words, helping)
    yield from no_help_lines(reasons)


def no_help_lines(reasons: Reasons) -> Iterator[str]:
    """Yield the changes that are no help alone, and those of which it was not found out."""
    useless = [change.title for change in reasons.relaxations if change.fitting == 0 and not change.undecided]
    if useless:
        yield f"Also tried, without success: {'; '.join(useless)}"
    untried: dict[str, list[str]] = {}
    for change in reasons.relaxations:
        if change.why_open and not change.fitting:
            untried.setdefault(change.why_open, []).append(change.title)
    for why, titles in untried.items():
        yield f"Not known, {why}: {'; '.join(titles)}"


def relaxation_words(change: Relaxation) -> str:
    """Return one relaxation with what it brings: `Prefer 'pairs': fits on 3 of 4 nodes`."""
    if change.why_open and not change.fitting:
        return f"{change.title}: not known, {change.why_open}"
    more = f" ({change.undecided} more not decided)" if change.undecided else ""
    return f"{change.title}: fits on {change.fitting} of {counted(change.total, 'node')}{more}"


# ---------------------------------------------------------------- regret


def regret_parts(regrets: Sequence[Regret]) -> Iterator[Part]:
    """Yield what is left of the bandwidth between GPUs and NICs in each allocation, and where the ranges come from."""
    rows = []
    for who, shares in _allocations(regrets):
        bars = "<br>".join(_bar(share) + escaped(_share_words(share, shares)) for share in shares)
        rows.append((who, Picture(bars, path_words(shares))))
    yield Table(("allocation", "GPUs to their NICs"), rows, _TITLE)
    yield Lines("Sources", [*source_lines(regrets)])


def bandwidth_lines(regrets: Sequence[Regret]) -> Iterator[str]:
    """Yield the same as lines: a title, then one line for each allocation; nothing where no range is known."""
    lines = [f"{who}: {path_words(shares)}" for who, shares in _allocations(regrets)]
    yield from (_TITLE, *lines) if lines else ()


def _allocations(regrets: Sequence[Regret]) -> Iterator[tuple[str, tuple[PathShare, ...]]]:
    with_paths = [regret for regret in regrets if regret.best or regret.theirs]
    if with_paths:
        yield "best", with_paths[0].best
    for regret in with_paths:
        yield FIRST_FITS[regret.against], regret.theirs


def one_regret_parts(regret: Regret) -> Iterator[Part]:
    """Yield what one first fit costs: the goals that differ, then the bandwidth."""
    rows = [({**FLEET_GOALS, **GOALS}[g.goal], g.best, g.theirs, f"{g.difference:+,}") for g in regret.goals]
    yield Table(("goal", "best", FIRST_FITS[regret.against], "worse by"), rows, "Goals that differ")
    yield from regret_parts([regret])


def source_lines(regrets: Sequence[Regret]) -> Iterator[str]:
    """Yield where the ranges come from, and the published measurements that lie outside them."""
    shares = {share.path: share for regret in regrets for share in (*regret.best, *regret.theirs)}
    for share in shares.values():
        if share.path == "root":
            continue
        source = f": {', '.join(share.sources)}" if share.sources else ""
        note = f"; {share.note}" if share.note else ""
        words = share.words[0].upper() + share.words[1:]
        yield f"{words}, {ratio_words(share)}: {_KINDS.get(share.kind, 'not known')}{source}{note}"
        if share.against:
            yield f"Outside that range: {'; '.join(share.against)}"


def path_words(shares: Sequence[PathShare]) -> str:
    """Return how the GPUs of an allocation reach their NICs: `1.0 on 1 of 2 GPUs (...), 0.45 to 0.64 on ...`."""
    return ", ".join(_share_words(share, shares) for share in shares)


def _share_words(share: PathShare, shares: Sequence[PathShare]) -> str:
    gpus = sum(share.gpus for share in shares)
    by = ", measured by you" if share.kind == YOURS else ""
    return f"{ratio_words(share)} on {share.gpus} of {counted(gpus, 'GPU')} ({share.words}{by})"


def ratio_words(share: PathShare) -> str:
    """Return what a path leaves of the bandwidth: `1.0`, `0.45 to 0.64` or `not known`."""
    if share.low is None or share.high is None:
        return "not known"
    exact = f"{share.low:.2f}" if share.kind == YOURS else f"{share.low:.1f}"
    return exact if share.low == share.high else f"{share.low:.2f} to {share.high:.2f}"


def measured_remark(share: PathShare) -> str:
    """Return what a person must know of the ratio that they measured, as a sentence; "" for nothing."""
    return share.note[:1].upper() + share.note[1:] if share.kind == YOURS else ""


def _bar(share: PathShare) -> str:
    """Return a bar from the lower to the upper end of a path's range between 0 and 1."""
    known = share.low is not None and share.high is not None
    low, high = 100 * min(1.0, share.low or 0.0), 100 * min(1.0, share.high or 0.0)
    start = min(low, 97.0)
    inner = (
        f'<i style="position:absolute;top:0;bottom:0;min-width:3px;background:currentColor;'
        f'left:{start:.0f}%;width:{max(high - start, 0):.0f}%"></i>'
    )
    box = "display:inline-block;position:relative;width:150px;height:12px;margin-right:10px;vertical-align:-1px"
    border = "1px solid" if known else "1px dashed"
    return f'<span aria-hidden="true" style="{box};border:{border}">{inner if known else ""}</span>'
