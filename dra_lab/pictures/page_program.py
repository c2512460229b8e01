"""What a plan's page carries beside its words: the policy, the program and the plan as data, which dra-lab can read."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import json_value
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import Drawing
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.plan_json import plain_value

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
