"""Reasons and regret as pandas DataFrames: every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_lab.exports.tables import frame_of
from dra_lab.model.plan import Plan

if TYPE_CHECKING:
    import pandas as pd


def funnel_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request, kind of node and test: how many devices are left after the test.

    Columns `request`, `needed`, `nodes` (how many have these figures), `node` (the first of them), `test`, `text` (the
    selector or link as written), `left`. Empty for a claim that fits.
    """
    rows = [
        [funnel.request, funnel.needed, funnel.nodes, funnel.node, step.test, step.text, step.count]
        for funnel in (plan.reasons.funnels if plan.reasons else ())
        for step in funnel.steps
    ]
    return frame_of(rows, ("request", "needed", "nodes", "node", "test", "text", "left"))


def relaxations_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each change that was tried, those with the most fitting nodes first.

    Columns `kind`, `subject`, `title`, `fitting` (nodes, None: not tried), `total`, `undecided`, `example`.
    """
    changes = sorted(plan.reasons.relaxations if plan.reasons else (), key=lambda change: -(change.fitting or 0))
    rows = [[c.kind, c.subject, c.title, c.fitting, c.total, c.undecided, c.example] for c in changes]
    return frame_of(rows, ("kind", "subject", "title", "fitting", "total", "undecided", "example"))


def conflicts_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each part of each set that cannot hold together.

    Columns `set` (its number), `node` ("": any node), `kind`, `subject`, `text` (of a selector).
    """
    rows = [
        [number, conflict.node, element.kind, element.subject, element.text]
        for number, conflict in enumerate(plan.reasons.conflicts if plan.reasons else ())
        for element in conflict.elements
    ]
    return frame_of(rows, ("set", "node", "kind", "subject", "text"))


def scarcity_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request: is it short of devices, or are they scattered?

    Columns `request`, `kind` (shortage, fragmentation, enough), `needed`, `free` in the cluster, `most` on `node`.
    """
    rows = [
        [s.request, s.kind, s.needed, s.free, s.most, s.node] for s in (plan.reasons.scarcity if plan.reasons else ())
    ]
    return frame_of(rows, ("request", "kind", "needed", "free", "most", "node"))


def regret_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each kind of path between GPUs and NICs, in the best and in both first fits.

    Columns `allocation` (best, manifest, plain), `path`, `gpus`, `low`, `high` (ratios to the bandwidth at one PCIe
    root, None: not known), `kind` (reference, measured, derived, unknown), `sources`, `outside` (published measurements
    that lie outside the range).
    """
    allocations = [("best", plan.regrets[0].best)] if plan.regrets else []
    allocations += [(regret.against, regret.theirs) for regret in plan.regrets]
    rows = [
        [
            name,
            share.words,
            share.gpus,
            share.low,
            share.high,
            share.kind,
            "; ".join(share.sources),
            "; ".join(share.against),
        ]
        for name, shares in allocations
        for share in shares
    ]
    return frame_of(rows, ("allocation", "path", "gpus", "low", "high", "kind", "sources", "outside"))
