"""Rich displays of results, registered with IPython by type; the values themselves know nothing of screens."""

from __future__ import annotations

import html
from typing import Any

from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease

_CELL = ' style="text-align:left;padding:2px 14px 2px 0"'


def register_displays() -> None:
    """Teach the running IPython, if there is one, to show a Plan and a Cluster; doing it again changes nothing."""
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(Plan, plan_html)
    formatter.for_type(Cluster, cluster_html)


def plan_html(plan: Plan) -> str:
    """Return a plan as HTML without scripts: sentence, goals beside kube-scheduler's, reasons, suggestions."""
    from dra_lab.exports.text import answer_sentence
    from dra_lab.widgets.answer_rows import goal_rows, reason_rows, suggestion_rows

    parts = [f"<p><strong>{html.escape(answer_sentence(plan))}</strong></p>"]
    goals = [
        (row.label, str(row.best), "proven" if row.proven else f"bound {row.bound}", row.manifest, row.plain)
        for row in goal_rows(plan)
    ]
    if goals:
        head = ("goal", "best", "", "kube-scheduler with this manifest", "without links")
        parts.append(_table(head, goals))
    parts += [_list("Reasons", [_joined(row.message, row.advice) for row in reason_rows(plan)])]
    parts += [_list("What would help", [_joined(row.title, row.detail) for row in suggestion_rows(plan)])]
    parts += [_list("Findings", [str(finding) for finding in plan.findings])]
    return f'<div class="dra-result">{"".join(parts)}</div>'


def cluster_html(cluster: Cluster) -> str:
    """Return what is in a cluster as HTML: one line, a row for each kind of device, how many findings."""
    from dra_lab.checks.cluster import check_cluster
    from dra_lab.widgets.cluster_rows import counts, summary

    release = KubernetesRelease(cluster.default_release)
    found = counts((*cluster.findings, *check_cluster(cluster)))
    words = f"{found.error} errors, {found.warning} warnings, {found.note} notes"
    line = html.escape(summary(cluster, release))
    parts = [f"<p><strong>{html.escape(cluster.name or 'cluster')}</strong>: {line}</p>"]
    parts.append(_table(("driver", "kind", "model", "devices", "free"), _driver_rows(cluster, release)))
    parts.append(f"<p>Kubernetes {release.version}; findings: {words}</p>")
    return f'<div class="dra-result">{"".join(parts)}</div>'


def _driver_rows(cluster: Cluster, release: KubernetesRelease) -> list[tuple[str, ...]]:
    from dra_lab.authoring.candidates import all_devices, is_free, kind_of, lookup_of
    from dra_lab.drivers import device_label

    found: dict[tuple[str, str, str], list[bool]] = {}
    for item in all_devices(cluster):
        label = device_label(item.driver, lookup_of(item.driver, item.device))
        found.setdefault((item.driver, kind_of(item), label), []).append(is_free(cluster, item, release))
    return [(*key, str(len(free)), str(sum(free))) for key, free in sorted(found.items())]


def _joined(*sentences: str) -> str:
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    top = "".join(f"<th{_CELL}>{html.escape(words)}</th>" for words in head)
    body = "".join(f"<tr>{''.join(f'<td{_CELL}>{html.escape(str(words))}</td>' for words in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _list(heading: str, lines: list[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<p>{heading}:</p><ul>{items}</ul>"
