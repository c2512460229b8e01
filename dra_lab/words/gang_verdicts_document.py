"""Quota, topology counts and devices of a gang in words: what stops it, the amounts, and the numbers of each domain."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.model.gang_verdicts import COUNTS, DEVICES, QUOTA, STOPS, GangVerdicts, QuotaAmount, Says
from dra_lab.scheduler.kueue.quota_verdict import amount_words
from dra_lab.words.document import Column, Lines, Part, Sentence, Table, Words, printable

MOST = 12
"""Domains that are shown one by one."""

_NAMES = {QUOTA: "quota", COUNTS: "Kueue's counts", DEVICES: "devices"}


def verdict_sentence(found: GangVerdicts) -> str:
    """Return the answer in one or two sentences."""
    stops = [row for row in found.rows if row.says in STOPS]
    unknown = [_NAMES[row.question] for row in found.rows if row.says is Says.UNKNOWN]
    if len(stops) > 1:
        names = " and ".join(_NAMES[row.question] for row in stops)
        return printable(f"{names[:1].upper()}{names[1:]} stop {found.gang}.")
    if stops:
        [row] = stops
        name = _NAMES[row.question]
        heads = {
            Says.WAITS: f"{found.gang} waits for {name}.",
            Says.INADMISSIBLE: f"Kueue refuses {found.gang}.",
        }
        stop = f"{name[:1].upper()}{name[1:]} {'stops' if name == QUOTA else 'stop'} {found.gang}."
        return printable(f"{heads.get(row.says, stop)} {row.sentence}")
    if found.advice:
        return printable(f"{found.gang} has devices, but Kueue may choose another domain. {found.advice}")
    if unknown:
        return printable(f"Nothing that is known stops {found.gang}. Not known: {', '.join(unknown)}.")
    caution = "Kueue chooses nodes without counting devices, so pin the planned domain."
    return printable(f"Neither quota nor devices stop {found.gang} now. {caution}")


def verdict_parts(found: GangVerdicts) -> Iterator[Part]:
    """Yield the answer, the three questions, the amounts of the quota, and the domains."""
    yield Sentence(verdict_sentence(found))
    if found.advice and any(row.says in STOPS for row in found.rows):
        yield Words(printable(found.advice))
    yield questions_table(found)
    if found.quota.amounts:
        yield _amounts(found)
    yield _domains(found)
    notes = dict.fromkeys(note for row in found.rows for note in row.notes)
    yield Lines("Assumed, or not known", [printable(note) for note in notes])


def questions_table(found: GangVerdicts) -> Table:
    """Return what stops a gang in Kueue: a row for each question, with its answer and reason."""
    heads = (Column("question", "question"), Column("answer", "answer"), Column("reason", "reason"))
    return Table(heads, [(row.question, row.says.value, row.sentence) for row in found.rows])


def _amounts(found: GangVerdicts) -> Table:
    heads = ("resource", "flavor", "needed", "may use now", "of it borrowed", "at most", "own quota", "in use")
    local = f", LocalQueue {found.quota.queue}" if found.quota.queue not in ("", found.quota.cluster_queue) else ""
    title = f"Quota of ClusterQueue {found.quota.cluster_queue}{local}"
    return Table(heads, [_amount(one) for one in found.quota.amounts], printable(title))


def _amount(one: QuotaAmount) -> tuple[str, ...]:
    amounts = (one.wanted, one.available, one.borrowable, one.most, one.nominal, one.used)
    return (one.resource, one.flavor, *(amount_words(one.resource, amount) for amount in amounts))


def _domains(found: GangVerdicts) -> Table:
    order = sorted(found.domains, key=lambda one: (-(one.devices or 0), -(one.counted or 0)))
    rows = []
    for one in order[:MOST]:
        chosen = " (Kueue's choice)" if one.domain == found.chosen else ""
        devices = one.devices if one.devices == one.bound else f"{one.devices} to {one.bound}"
        rows.append((f"{'/'.join(one.domain)}{chosen}", one.counted, devices, "; ".join(one.lacking)))
    more = [f"{len(order) - MOST:,} more domains have fewer."] if len(order) > MOST else []
    pods = found.domains[0].wanted if found.domains else 0
    heads = ("domain", "pods by Kueue's counts", "pods by devices", "lacks")
    return Table(heads, rows, f"Pods of {pods:,} that each domain has", more)
