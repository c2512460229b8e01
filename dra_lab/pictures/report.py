"""A plan as one self-contained HTML page to send to a colleague: no script, no request, light and dark, printable."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from dra_lab.authoring.free_words import unread_words
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import GOALS, FirstFit, Plan
from dra_lab.model.sketch import asks
from dra_lab.pictures.captions import clean
from dra_lab.pictures.fleet import fleet_svg
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.letters import colours, letters
from dra_lab.pictures.report_reasons import (
    STYLE,
    counts,
    html_list,
    html_table,
    in_the_way,
    regrets,
    relaxations,
    said,
)
from dra_lab.pictures.states import over_each_other
from dra_lab.pictures.words import first_fit_words, proof_words

_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --dim: #57606a; --line: #d0d7de; --soft: #f6f8fa;
  --error: #b42318; --warning: #8a5a00; --note: #57606a; }
@media (prefers-color-scheme: dark) { :root { --paper: #16191d; --ink: #e8eaed; --dim: #a5adb6; --line: #3a414a;
  --soft: #1e2227; --error: #ff8a80; --warning: #e3b341; --note: #a5adb6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 24px 48px; }
h1 { font-size: 22px; line-height: 1.35; margin: 4px 0 8px; text-wrap: balance; }
h2 { font-size: 13px; letter-spacing: .06em; text-transform: uppercase; color: var(--dim); margin: 32px 0 10px; }
p { margin: 0 0 8px; } .facts { color: var(--dim); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 12px 32px; }
@media (max-width: 860px) { .columns { grid-template-columns: minmax(0, 1fr); } }
figure { margin: 0 0 12px; } figcaption { color: var(--dim); font-size: 13px; margin-bottom: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
th { font-weight: 600; } thead th { color: var(--dim); font-size: 13px; } .worse { font-weight: 700; }
ul { list-style: none; margin: 0; padding: 0; } li { padding: 8px 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
.amount { white-space: nowrap; }
.advice { color: var(--dim); } .error { color: var(--error); } .warning { color: var(--warning); }
.note { color: var(--note); } .severity { font-weight: 700; }
.letter { display: inline-block; min-width: 22px; padding: 0 6px; border-radius: 5px; text-align: center;
  font-weight: 700; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; overflow-x: auto;
  font: 13px/1.55 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
@media print { main { padding: 0; max-width: none; } pre { white-space: pre-wrap; } }
"""
_COMPARED = """<p class="facts">Which node kube-scheduler picks is decided by other plugins as well; compared is what it
takes on this one.</p>"""
_END = """<p class="facts">Made with dra-lab.</p></main></body></html>
"""


def report_page(cluster: Cluster, plan: Plan | None, yaml_text: str = "", *, node: str = "", sentence: str = "") -> str:
    """Return the page: answer, pictures, goals beside kube-scheduler's, regret, reasons, findings, YAML.

    `node` is the one to draw, "" for the plan's, the nearest of a misfit, or the first; `sentence` is the answer in
    words (`exports.text.answer_sentence`), the page's heading. Without a plan the page shows the node's hardware. All
    text is escaped, the page's own policy forbids scripts and requests, and the same plan gives the same page. Raises
    NodeError for a node that the cluster does not have.
    """
    drawn = node or node_to_draw(plan) or next(iter(cluster.node_names), "")
    if plan is None:
        return _bare_page(cluster, drawn)
    title = f"{clean(plan.sketch.name)} on {clean(plan.cluster or cluster.name)}"
    parts = [
        _head(title),
        f'<p class="facts">{escape(title)}</p>' if sentence else "",
        f"<h1>{escape(clean(sentence or title))}</h1>",
        f'<p class="facts">{escape(_facts(cluster, plan))}</p>',
        _requests(plan),
        _pictures(cluster, plan, drawn),
        _goals(plan),
        regrets(plan),
        _reasons(plan),
        in_the_way(plan),
        relaxations(plan),
        _suggestions(plan),
        counts(plan),
        _findings(plan.findings),
        f"<h2>Manifests</h2><pre>{escape(_lines(yaml_text))}</pre>" if yaml_text else "",
        _COMPARED if plan.goals else "",
        _END,
    ]
    return "\n".join(part for part in parts if part)


def node_to_draw(plan: Plan | None) -> str:
    """Return the node that a plan is about: its own, or for a claim that fits nowhere the nearest; else ""."""
    if plan is None:
        return ""
    return plan.node or (plan.reasons.nearest if plan.reasons is not None else "")


def _bare_page(cluster: Cluster, node: str) -> str:
    title = f"{clean(node)} on {clean(cluster.name)}" if node else clean(cluster.name)
    picture = _figure("", hardware_svg(cluster, node, prefix="node")) if node else "<p>No node was read.</p>"
    return "\n".join((_head(title), f"<h1>{escape(title)}</h1>", picture, _findings(cluster.findings), _END))


def _head(title: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CSP}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{_STYLE}{STYLE}</style></head>\n<body><main>"
    )


def _lines(text: str) -> str:
    return "\n".join(clean(line) for line in text.split("\n"))


def _facts(cluster: Cluster, plan: Plan) -> str:
    read = f"read {cluster.read_at}" if cluster.read_at else ""
    release = f"Kubernetes {plan.release}" if plan.release else ""
    proof = proof_words(plan) if plan.fits or plan.shortfalls else ""
    return clean(" · ".join(part for part in (release, proof, read, unread_words(cluster)) if part))


def _requests(plan: Plan) -> str:
    signs, inks = letters(plan.sketch), colours(plan.sketch)
    taken: dict[str, list[str]] = {}
    for placement in plan.placements:
        taken.setdefault(placement.reference.split("/", 1)[0], []).append(str(placement.device))
    rows = []
    for request in plan.sketch.requests:
        colour = inks[request.name]
        sign = f'<span class="letter" style="background:{colour.fill};color:{colour.text}">{signs[request.name]}</span>'
        ways = " or ".join(f"{'all' if a.all_devices else a.count} × {a.device_class_name}" for a in asks(request))
        devices = "<br>".join(escape(clean(device)) for device in taken.get(request.name, ()))
        rows.append([f"{sign} {escape(clean(request.name))}", escape(clean(ways)), devices or "none"])
    return "<h2>Requests</h2>" + html_table(("request", "asks for", "best devices"), rows) if rows else ""


def _pictures(cluster: Cluster, plan: Plan, node: str) -> str:
    parts = []
    if node:
        best = "best" if plan.fits and node == plan.node else "hardware"
        parts.append(_figure(best, hardware_svg(cluster, node, plan=plan, prefix="best")))
        if node == plan.node and (other := _compared_picture(cluster, plan)):
            parts.append(other)
    strip = ""
    if plan.node_classes:
        words = "solid: as well as the best; hatched: worse; outline: does not fit; dotted: not decided"
        strip = _figure(words, fleet_svg(plan, width=960, prefix="fleet"))
    return f'<h2>Where it fits</h2>{strip}<div class="columns">{"".join(parts)}</div>' if parts or strip else ""


def _compared_picture(cluster: Cluster, plan: Plan) -> str:
    """Return the picture of what kube-scheduler takes: with the manifest where that differs, else without links."""
    show, told = over_each_other(plan), plan.first_fit
    if show == "both":
        svg = hardware_svg(cluster, plan.node, plan=plan, show="both", prefix="both")
        return _figure("best and kube-scheduler with this manifest", svg)
    if show == "both-plain":
        svg = hardware_svg(cluster, plan.node, plan=plan, show="plain", prefix="plain")
        same = "; with this manifest it takes the best" if told is not None and told.placements else ""
        return _figure(f"kube-scheduler with counts and selectors only{same}", svg)
    return ""


def _figure(caption: str, svg: str) -> str:
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{told}{svg}</figure>"


def _goals(plan: Plan) -> str:
    if not plan.goals:
        return ""
    rows = []
    for goal in plan.goals:
        proof = "proven" if goal.proven else f"bound {goal.bound}" if goal.bound is not None else "not proven"
        unknown = f", {goal.unknown} of unknown place" if goal.unknown else ""
        words = escape(GOALS.get(goal.goal, goal.goal))
        columns = [_compared(goal.value, first_fit, goal.goal) for first_fit in (plan.first_fit, plan.first_fit_plain)]
        rows.append(
            [words, f'<span class="amount">{goal.words} <span class="facts">{proof}{unknown}</span></span>', *columns]
        )
    head = ("goal", "best", "kube-scheduler, this manifest", "kube-scheduler, counts and selectors only")
    told = "".join(
        f'<p class="facts">kube-scheduler with {name}: {escape(clean(first_fit_words(first_fit)))}.</p>'
        for name, first_fit in (
            ("this manifest", plan.first_fit),
            ("counts and selectors only", plan.first_fit_plain),
        )
        if first_fit is not None and (first_fit.message or not first_fit.recorded or not first_fit.placements)
    )
    return "<h2>Goals</h2>" + html_table(head, rows) + told


def _compared(best: int, first_fit: FirstFit | None, goal: str) -> str:
    value = first_fit.goal(goal) if first_fit is not None else None
    if value is None:
        return "–"
    return f'<span class="worse">{value} (+{value - best})</span>' if value > best else str(value)


def _reasons(plan: Plan) -> str:
    rows = []
    for shortfall in plan.shortfalls:
        counts = f" ({shortfall.available} of {shortfall.needed})" if shortfall.needed else ""
        where = f"{shortfall.node}: " if shortfall.node and shortfall.node not in shortfall.message else ""
        rows.append(_item(f"{where}{shortfall.message}{counts}", shortfall.advice))
    return html_list("Reasons", rows)


def _suggestions(plan: Plan) -> str:
    rows = []
    for suggestion in plan.suggestions:
        source = f" ({suggestion.source})" if suggestion.source else ""
        texts = [f"{name}: {text}" for name, selectors in suggestion.selectors.items() for text in selectors]
        code = f"<pre>{escape(_lines(chr(10).join(texts)))}</pre>" if texts else ""
        rows.append(_item(suggestion.title, suggestion.detail + source) + code)
    return html_list("What would help", rows)


def _findings(findings: Iterable[Finding]) -> str:
    rows = [
        f'<span class="severity {finding.severity}">{finding.severity}</span> '
        + _item(f"{finding.subject}: {finding.message}" if finding.subject else finding.message, finding.advice)
        for finding in sort_findings(findings)
    ]
    return html_list("Findings", rows)


def _item(words: str, advice: str) -> str:
    more = f' <span class="advice">{said(advice)}</span>' if advice else ""
    return said(words) + more
