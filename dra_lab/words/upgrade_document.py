"""What an upgrade of Kubernetes changes, as a document, as JSON, and as findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from dra_lab.findings import Finding, Rule, Severity
from dra_lab.model.release import shown_release, shown_since
from dra_lab.model.upgrade import ChangedAnswer, Turn, Upgrade
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import Column, Detail, Item, Lines, Part, Sentence, Table, Words
from dra_lab.words.facts import counted
from dra_lab.words.plan_json import answer_json

HEADINGS = {Turn.STOPS: "Stops working", Turn.CHANGES: "Changes", Turn.STARTS: "Starts working"}
RULE = "upgrade-changes"
"""The rule of an answer that changes where no finding has one."""

_IDLE = " Claims and running pods are planned as for their next start, with nothing in use."
_MOST = 5
"""Changes by one rule that the short form shows of each kind."""


def upgrade_sentence(upgrade: Upgrade) -> str:
    """Return how many answers change, and how."""
    way = f"from Kubernetes {_shown(upgrade.start)} to {_shown(upgrade.target)}"
    turns = Counter(change.turn for change in upgrade.changes)
    more = f" {counted(len(upgrade.undecided), 'answer')} not decided." if upgrade.undecided else ""
    if not upgrade.changes:
        return f"No answer changes {way}.{more}"
    words = " ".join(f"{heading}: {turns[turn]:,}." for turn, heading in HEADINGS.items() if turns[turn])
    verb = "answer changes" if len(upgrade.changes) == 1 else "answers change"
    return f"{len(upgrade.changes):,} {verb} {way}. {words}{more}"


def _shown(release: str) -> str:
    """Return a release with its gates as people read it: `1.38 (alpha)`."""
    version, *gates = release.split(" ", 1)
    return " ".join((shown_release(version), *gates))


def compared_words(upgrade: Upgrade) -> str:
    """Return what was compared."""
    numbers = ", ".join(counted(number, noun) for noun, number in upgrade.compared.items() if number)
    planned = any(upgrade.compared.get(noun) for noun in ("claim", "pod"))
    return f"Compared in {upgrade.cluster or 'the cluster'}: {numbers or 'nothing'}.{_IDLE if planned else ''}"


def upgrade_parts(upgrade: Upgrade, detail: Detail = "all") -> Iterator[Part]:
    """Yield the sentence, what was compared, and the changes under what becomes of them."""
    yield Sentence(upgrade_sentence(upgrade))
    if detail == "answer":
        return
    yield Words(compared_words(upgrade))
    left = 0
    for turn, heading in HEADINGS.items():
        changes = [change for change in upgrade.changes if change.turn is turn]
        shown = changes if detail == "all" else _first(changes)
        left += len(changes) - len(shown)
        yield Lines(heading, [*map(_item, shown)])
    if upgrade.undecided:
        yield Words(f"Not decided in the time: {some(upgrade.undecided)}. --time-limit gives more time.")
    if left:
        yield Words(f"-v shows {counted(left, 'more change')} by the same rules.")


def _first(changes: Sequence[ChangedAnswer]) -> list[ChangedAnswer]:
    """Return the first changes of each kind by each rule."""
    seen: Counter[tuple[str, str]] = Counter()
    shown = []
    for change in changes:
        seen[change.kind, change.rule] += 1
        if seen[change.kind, change.rule] <= _MOST:
            shown.append(change)
    return shown


def _item(change: ChangedAnswer) -> Item:
    origin = change.origin
    place = f" ({origin.source}:{origin.line})" if origin is not None and origin.line else ""
    text = f"{change.kind} {change.subject}{place}: {change.before} → {change.after}."
    return Item(f"{text} Rule: {rule_words(change)}.", change.advice)


def rule_words(change: ChangedAnswer) -> str:
    """Return the rule of a change with the place where it is documented, and the release from which it holds."""
    source, since = change.source.replace("`", ""), f", from {shown_since(change.since)}" if change.since else ""
    named = ", ".join((*filter(None, [change.rule]), *(f"feature gate {gate}" for gate in change.gates)))
    return f"{named} ({source}){since}" if named else f"{source}{since}"


def upgrade_table(upgrade: Upgrade) -> Table:
    """Return a row for each change."""
    heads = ("turn", "kind", "subject", "before", "after", "rule", "since", "gates", "source", "advice")
    rows = [
        (c.turn.value, c.kind, c.subject, c.before, c.after, c.rule, c.since, ", ".join(c.gates), c.source, c.advice)
        for c in upgrade.changes
    ]
    return Table([Column(head, head) for head in heads], rows)


def upgrade_markdown(upgrade: Upgrade) -> Iterator[Part]:
    """Yield the sentence, what was compared, and a table of the changes."""
    yield Sentence(upgrade_sentence(upgrade))
    yield Words(compared_words(upgrade))
    rows = [
        (HEADINGS[c.turn].lower(), f"{c.kind} {c.subject}", c.before, c.after, rule_words(c), c.advice)
        for c in upgrade.changes
    ]
    yield Table(("change", "object", _shown(upgrade.start), _shown(upgrade.target), "rule", "what to do"), rows)


def upgrade_json(upgrade: Upgrade) -> dict[str, Any]:
    """Return the changes as plain values with fixed names and order."""
    changes = [
        {
            "change": change.turn.value,
            "kind": change.kind,
            "object": change.subject,
            "before": change.before,
            "after": change.after,
            "rule": change.rule,
            "since": change.since,
            "gates": list(change.gates),
            "source": change.source,
            "advice": change.advice,
            "file": change.origin.source if change.origin else "",
            "line": change.origin.line if change.origin else 0,
        }
        for change in upgrade.changes
    ]
    return answer_json(
        "UpgradeCheck",
        upgrade.outcome,
        sentence=upgrade_sentence(upgrade),
        cluster=upgrade.cluster,
        release=upgrade.start,
        upgrade=upgrade.target,
        changes=changes,
        compared=dict(upgrade.compared),
        undecided=list(upgrade.undecided),
    )


def upgrade_findings(upgrade: Upgrade) -> list[Finding]:
    """Return a finding for each change: an error for what stops working, else a warning or a note."""
    severities = {Turn.STOPS: Severity.ERROR, Turn.CHANGES: Severity.WARNING, Turn.STARTS: Severity.NOTE}
    return [
        Finding(
            cast("Rule", change.rule or RULE),
            severities[change.turn],
            f"{change.kind} {change.subject}",
            f"{change.before} → {change.after}",
            f"{change.advice} Rule: {rule_words(change)}.".lstrip(),
            change.origin,
        )
        for change in upgrade.changes
    ]
