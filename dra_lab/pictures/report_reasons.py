"""The parts of the report that say why: what is in the way, counts by test, what was tried, what first fit costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dra_lab.model.plan import GOALS, Plan
from dra_lab.model.reasons import Relaxation
from dra_lab.model.regret import PathShare, Regret
from dra_lab.pictures.captions import clean
from dra_lab.pictures.reason_words import (
    FIRST_FITS,
    FunnelTable,
    conflict_lines,
    funnel_tables,
    scarcity_lines,
    share_words,
    source_lines,
)
from dra_lab.pictures.words import counted

STYLE = """
details { margin: 8px 0; } summary { cursor: pointer; font-weight: 600; }
.range { display: inline-block; position: relative; width: 150px; height: 12px; margin-right: 10px;
  border: 1px solid var(--line); border-radius: 3px; background: var(--soft); vertical-align: -1px; }
.range i { position: absolute; top: 0; bottom: 0; min-width: 3px; background: var(--ink); border-radius: 2px; }
.range.unknown { border-style: dashed; }
td.number, th.number { text-align: right; }
"""
"""Styles of these parts; the colours are the page's."""


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are already escaped; the first of each row is its heading."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def html_list(heading: str, rows: Iterable[str]) -> str:
    """Return a heading and a list of rows that are already escaped, "" without rows."""
    items = "".join(f"<li>{row}</li>" for row in rows)
    return f"<h2>{escape(heading)}</h2><ul>{items}</ul>" if items else ""


def in_the_way(plan: Plan) -> str:
    """Return whether devices are short or scattered, and which parts of the drawing cannot hold together."""
    return html_list("What is in the way", (said(line) for line in (*scarcity_lines(plan), *conflict_lines(plan))))


def counts(plan: Plan) -> str:
    """Return for each request how many devices are left after each test, a row for each kind of node."""
    tables = "".join(_counted(table) for table in funnel_tables(plan))
    return f"<h2>Devices left after each test</h2>{tables}" if tables else ""


def _counted(table: FunnelTable) -> str:
    needed = f"{table.needed} needed" if table.needed else "all that match"
    legend = "".join(f"<li>{said(f'{head}: {text}', stop='')}</li>" for head, text in table.legend)
    rows = ([escape(clean(cell)) for cell in row] for row in table.rows)
    head = f"<summary>{escape(clean(table.request))} ({needed})</summary>"
    return f"<details open>{head}<ul>{legend}</ul>{html_table(table.columns, rows)}</details>"


def relaxations(plan: Plan) -> str:
    """Return every change that was tried, each alone, with the nodes on which the claim then fits; most first."""
    changes = plan.reasons.relaxations if plan.reasons else ()
    if not changes:
        return ""
    ordered = sorted(changes, key=lambda change: -(change.fitting or 0))
    rows = ([escape(clean(change.title)), escape(_gain(change))] for change in ordered)
    return "<h2>Changes, each tried alone</h2>" + html_table(("change", "the claim then fits on"), rows)


def _gain(change: Relaxation) -> str:
    if change.fitting is None:
        return f"not known, {change.why_open}"
    more = f", {change.undecided} more not decided" if change.undecided else ""
    return f"{change.fitting or 'none'} of {counted(change.total, 'node')}{more}"


def regrets(plan: Plan) -> str:
    """Return what the first fits cost: the goals that are worse, and what is left of the bandwidth, as a range."""
    if not plan.regrets:
        return ""
    rows = [["best", "", _paths(plan.regrets[0].best)]]
    rows += [[escape(FIRST_FITS[r.against]), _goals(r), _paths(r.theirs)] for r in plan.regrets]
    with_paths = [regret for regret in plan.regrets if regret.best or regret.theirs]
    told = (
        "What is left of the bandwidth that a GPU and its NIC reach at one PCIe root, for large transfers, as a range."
    )
    facts = f'<p class="facts">{told}</p>' if with_paths else ""
    sources = "".join(f'<p class="facts">{said(line)}</p>' for line in source_lines(with_paths))
    head = ("allocation", "goals that differ", "GPUs to their NICs" if with_paths else "")
    cut = 3 if with_paths else 2
    return f"<h2>Regret</h2>{facts}{html_table(head[:cut], [row[:cut] for row in rows])}{sources}"


def _goals(regret: Regret) -> str:
    told = [f"{GOALS.get(g.goal, g.goal)} {g.theirs} ({g.difference:+d})" for g in regret.goals]
    return "<br>".join(escape(text) for text in told) or "none"


def _paths(shares: Sequence[PathShare]) -> str:
    gpus = sum(share.gpus for share in shares)
    return "<br>".join(f"{_range(share)}{escape(share_words(share, gpus))}" for share in shares)


def _range(share: PathShare) -> str:
    """Return a bar from the lower to the upper end between 0 and 1, an empty dashed one where nothing is known."""
    if share.low is None or share.high is None:
        return '<span class="range unknown" aria-hidden="true"></span>'
    low, high = 100 * min(1.0, share.low), 100 * min(1.0, share.high)
    start = min(low, 97.0)
    style = f"left:{start:.0f}%;width:{max(high - start, 0):.0f}%"
    return f'<span class="range" aria-hidden="true"><i style="{style}"></i></span>'


def said(text: str, stop: str = ".") -> str:
    """Return a text escaped, with a full stop where it has no end."""
    whole = clean(text)
    return escape(whole if whole.endswith((".", "!", "?")) else f"{whole}{stop}")
