"""A plan as one self-contained HTML page to send to a colleague: no request, light and dark, printable."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import json_value
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import Drawing, asks
from dra_lab.pictures.device_states import over_each_other
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.letters import colours, letters
from dra_lab.sketch.kind_counts import unread_words
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import Part, Picture, Sentence, Table, as_html, escaped
from dra_lab.words.facts import FIRST_FITS, first_fits, proof_words, search_end
from dra_lab.words.plan_document import NAMES, plan_parts
from dra_lab.words.plan_json import plain_value
from dra_lab.words.reason_words import finding_lines
from dra_lab.words.scheduler_sentences import does

_PROGRAM = Path(__file__).parent / "static" / "plan_page.js"
_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_KIND = "PlanPage"
_OPEN, _CLOSE = '<script type="application/json" id="dra-lab-plan">', "</script>"


def program() -> str:
    """Return the program of the page, "" in a checkout whose front end was never built."""
    return _PROGRAM.read_text(encoding="utf-8").rstrip() if _PROGRAM.is_file() else ""


def policy(script: str) -> str:
    """Return the page's policy: no request, and no script but this one."""
    if not script:
        return _CSP
    return f"{_CSP}; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def plan_data(cluster: Cluster, plan: Plan, drawn: Drawing | None = None, snapshot: bytes = b"") -> str:
    """Return the element that carries the drawing as a plan file, the cluster's name and the answer in short.

    `drawn` has the places of the boxes and the settings; its kept plans, and the view, are not for others. `snapshot`
    is the cluster itself.
    """
    drawing = replace(drawn or Drawing(), sketch=plan.sketch, kept=(), view={})
    named = drawing.cluster or plan.cluster or cluster.name
    drawing = replace(drawing, cluster=named, release=drawing.release or plan.release)
    value = {
        "kind": _KIND,
        "cluster": drawing.cluster,
        **({"snapshot": b64encode(snapshot).decode()} if snapshot else {}),
        "release": plan.release,
        "drawing": encode_drawing(drawing),
        "answer": {
            "sentence": answer_sentence(plan, cluster),
            "node": plan.node,
            "proven": plan.proven,
            "placements": [plain_value(placement) for placement in plan.placements],
        },
    }
    # As text of JSON these signs are the same; none of them can end the element.
    text = re.sub(r"[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(value, sort_keys=True))
    return f"{_OPEN}{text}{_CLOSE}"


class PagePlan(NamedTuple):
    """The content of a plan's page: the plan file, and the packed cluster, b"" if it is not there."""

    drawing: str
    snapshot: bytes = b""


def plan_in(page: str) -> PagePlan | None:
    """Return what the text of a plan's page carries, None where the text is no such page."""
    start = page.find(_OPEN)
    if start < 0:
        return None
    try:
        value: Any = json_value(page[start + len(_OPEN) : page.find(_CLOSE, start)])
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("kind") != _KIND or not isinstance(value.get("drawing"), str):
        return None
    packed = value.get("snapshot", "")
    try:
        snapshot = b64decode(packed, validate=True) if isinstance(packed, str) else b""
    except ValueError:
        snapshot = b""
    return PagePlan(value["drawing"], snapshot)


_STYLE = "\n" + (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_YAML_HEADING = """<div class="heading"><h2>Manifests</h2><button type="button" id="copy" hidden>Copy</button></div>"""
_WIDTH = 500.0
"""The width of a picture that stands beside another."""

_MADE = """<p class="facts">Made with dra-lab. Drop this page on the planner to open its drawing.</p></main>"""
_PACKED = """<p class="facts">This page contains a snapshot of the cluster: its nodes, devices, claims and pods.</p>"""
_END = """</body></html>
"""


class SearchStep(NamedTuple):
    """A step of kube-scheduler's search in words, with the devices that it tries or allocates."""

    words: str
    devices: Sequence[DeviceID] = ()


def report_page(
    cluster: Cluster,
    plan: Plan | None,
    yaml_text: str = "",
    *,
    node: str = "",
    steps: Sequence[SearchStep] = (),
    lines: Mapping[str, Sequence[int]] | None = None,
    drawing: Drawing | None = None,
    snapshot: bytes = b"",
) -> str:
    """Return the page: answer, pictures, goals beside kube-scheduler's, bandwidth, reasons, findings, YAML.

    `node` is the one to draw, "" for the plan's, the nearest of a misfit, or the first. Without a plan the page shows
    the node's hardware. `steps` are those of kube-scheduler's search on the node, folded. `lines` are the lines of
    the YAML for each request. `drawing` has what the plan file in the page says besides the drawn requests, and
    `snapshot` is the cluster, packed, for one that cannot be loaded by its name. All text is escaped, the
    page's own policy forbids requests and every script but its own, and the same plan gives the same page. The drawing
    is in the page as data, which `plan_in` reads. Raises NodeError for a node that the cluster does not have.
    """
    drawn = node or node_to_draw(plan) or next(iter(cluster.node_names), "")
    if plan is None:
        title = f"{drawn} on {cluster.name}" if drawn else cluster.name
        picture = _figure("", hardware_svg(cluster, drawn, prefix="node")) if drawn else "<p>No node was read.</p>"
        parts = (Sentence(title), Picture(picture), finding_lines(cluster.findings))
        return "\n".join((_head(title), as_html(parts, page=True), _MADE, _END))
    title = f"{plan.sketch.name} on {plan.cluster or cluster.name}"
    code = _code(yaml_text, lines or {})
    manifests = f'{_YAML_HEADING}<pre id="yaml" tabindex="0">{code}</pre>' if yaml_text else ""
    script = program()
    run = f"<script>{script}</script>" if script else ""
    answer = as_html(_answer(cluster, plan, title, drawn), page=True)
    return "\n".join(
        (
            _head(title, script),
            answer,
            _search(steps),
            manifests,
            _PACKED if snapshot else "",
            _MADE,
            plan_data(cluster, plan, drawing, snapshot),
            run,
            _END,
        )
    )


def printed_page(cluster: Cluster, plan: Plan) -> str:
    """Return the page that prints an answer: that of `report_page` without manifests, search and program."""
    named = ", ".join(workload.name for workload in plan.workloads[:_MOST_NAMED])
    more = len(plan.workloads) - _MOST_NAMED
    title = f"{named}{f' and {more} more' if more > 0 else ''} on {plan.cluster or cluster.name}"
    shown = as_html(_answer(cluster, plan, title, node_to_draw(plan)), page=True)
    return "\n".join((_head(title), shown, '<p class="facts">Made with dra-lab.</p></main>', _END))


_MOST_NAMED = 3
"""Workloads that the title of a page names."""


def _answer(cluster: Cluster, plan: Plan, title: str, node: str) -> Iterator[Part]:
    """Yield the document of a plan, with the facts, the requests and the pictures of the page below its sentence."""
    yield Picture(f'<p class="facts">{escaped(title)}</p>')
    for part in plan_parts(plan, cluster, names=NAMES):
        yield part
        if isinstance(part, Sentence):
            read = f"read {cluster.read_at}" if cluster.read_at else ""
            release = f"Kubernetes {plan.release}" if plan.release else ""
            proof = proof_words(plan) if plan.fits or plan.shortfalls else ""
            facts = " · ".join(filter(None, (release, proof, read, unread_words(cluster))))
            yield Picture(f'<p class="facts">{escaped(facts)}</p>')
            if sum(len(workload.pods) for workload in plan.workloads) == 1:
                yield _requests(plan)
            if len(plan.with_devices) < 2:
                yield Picture(_pictures(cluster, plan, node))
    yield from _about_kube_scheduler(plan)


def _about_kube_scheduler(plan: Plan) -> Iterator[Part]:
    """Yield what the columns of kube-scheduler cannot show."""
    for name, found in first_fits(plan):
        if search_end(found) or not found.recorded:
            source = "" if found.recorded else " (from documentation, not recorded)"
            yield Picture(f'<p class="facts">{escaped(f"{name} {does(plan, found)}{source}.")}</p>')
    if plan.goals and len(plan.nodes) == 1:
        words = "Other plugins of kube-scheduler help to choose the node. This compares what it allocates on this node."
        yield Picture(f'<p class="facts">{words}</p>')


def node_to_draw(plan: Plan | None) -> str:
    """Return the node that a plan is about: its own, or for a claim that fits nowhere the nearest; else ""."""
    if plan is None:
        return ""
    return plan.node or (plan.reasons.nearest if plan.reasons is not None else "")


def _head(title: str, script: str = "") -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escaped(title)}</title><style>{_STYLE}</style></head>\n<body><main>"
    )


def _code(text: str, lines: Mapping[str, Sequence[int]]) -> str:
    request_of = {line: request for request, own in lines.items() for line in own}
    rows = [escaped(row) for row in text.split("\n")]
    for line, request in request_of.items():
        if 0 < line <= len(rows):
            rows[line - 1] = f'<span data-request="{escaped(request)}">{rows[line - 1]}</span>'
    return "\n".join(rows)


def _search(steps: Sequence[SearchStep]) -> str:
    if not steps:
        return ""
    items = "".join(
        f'<li data-devices="{escaped(" ".join(map(str, step.devices)))}">{escaped(step.words)}</li>' for step in steps
    )
    slider = f'<input type="range" id="step" min="1" max="{len(steps)}" value="1" aria-label="Step of the search">'
    return (
        "<h2>kube-scheduler&#x27;s search, step by step</h2>"
        f'<div class="stepper" hidden>{slider}</div><ol class="steps" tabindex="0">{items}</ol>'
    )


def _requests(plan: Plan) -> Table:
    signs, inks = letters(plan.sketch), colours(plan.sketch)
    rows = []
    for request in plan.sketch.requests:
        colour, name = inks[request.name], escaped(request.name)
        style = f'style="background:{colour.fill};color:{colour.text}"'
        sign = f'<span class="letter" data-request="{name}" {style}>{signs[request.name]}</span>'
        ways = " or ".join(f"{'all' if a.all_devices else a.count} × {a.device_class_name}" for a in asks(request))
        rows.append((Picture(f"{sign} {name}", request.name), ways))
    return Table(("request", "asks for"), rows, "Requests")


def _pictures(cluster: Cluster, plan: Plan, node: str) -> str:
    pictures = [*_of_node(cluster, plan, node)] if node else []
    if not pictures:
        return ""
    choice = ""
    if len(pictures) > 1:
        rows = "".join(_CHOICE.format(show=show, label=escaped(_SHOWN[show]), on=on) for show, _, on in pictures)
        choice = f'<fieldset class="choice" hidden><legend>Show</legend>{rows}</fieldset>'
    figures = "".join(figure for _, figure, _ in pictures)
    card = '<p class="card" aria-live="polite" hidden>Point at a device to see all about it.</p>' if pictures else ""
    return f'<h2>Where it fits</h2>{choice}<div class="columns">{figures}{card}</div>'


_SHOWN = {
    "best": "Best",
    "scheduler": "Scheduler",
    "plain": "Scheduler, no links",
    "both": "Difference",
}
_CHOICE = '<label><input type="radio" name="show" value="{show}"{on}> {label}</label>'


def _of_node(cluster: Cluster, plan: Plan, node: str) -> Iterator[tuple[str, str, str]]:
    """Yield the pictures of a node: what each shows, its figure, and what marks the one that is shown first.

    Without the program the best and the difference are shown. The difference is to what kube-scheduler takes with the
    manifest, or without links where the manifest makes it take the best.
    """
    own = plan.fits and node == plan.node
    first = "best" if own else "hardware"
    yield (
        "best",
        _figure(first, hardware_svg(cluster, node, plan=plan, prefix="best", width=_WIDTH), "best"),
        " checked",
    )
    if not own:
        return
    for show, found in (("scheduler", plan.first_fit), ("plain", plan.first_fit_plain)):
        if found is not None and found.placements:
            svg = hardware_svg(cluster, node, plan=plan, show=show, prefix=show, width=_WIDTH)
            yield show, _figure(_SHOWN[show], svg, show, hidden=True), ""
    if difference := over_each_other(plan):
        words = FIRST_FITS["manifest" if difference == "both" else "plain"]
        svg = hardware_svg(cluster, node, plan=plan, show=difference, prefix="both", width=_WIDTH)
        yield "both", _figure(f"best and {words}", svg, "both"), ""


def _figure(caption: str, svg: str, show: str = "", *, hidden: bool = False) -> str:
    text = f"<figcaption>{escaped(caption)}</figcaption>" if caption else ""
    named = f' data-show="{show}"' if show else ""
    return f"<figure{named}{' hidden' if hidden else ''}>{text}{svg}</figure>"
