"""Why a node or device does not serve, the nodes, and what is exported, as the values that `PlanView` shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import NodeFit, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.why.why_not import why_not
from dra_lab.widgets.answer_rows import node_labels
from dra_lab.widgets.device_rows import fleet
from dra_lab.widgets.plan_values import BarRow, BarsRow, NodeRow, OutgoingRow, PinOffer, Tone, WhyNotRow
from dra_lab.words.drawing_words import nouns
from dra_lab.words.verdict import scheduler_sentences
from dra_lab.words.why_not_document import (
    Bar,
    bars,
    device_lines,
    link_bars,
    node_sentence,
    reason_lines,
    why_not_title,
)

if TYPE_CHECKING:
    from dra_lab.exports.simulation import Simulation
    from dra_lab.session.exporting import Exporting

MOST_NODES = 500
"""Nodes or classes of identical nodes that travel to the browser."""


def explained_node(plan: Plan | None, cluster: Cluster, looked_at: str, shown: str) -> str:
    """Return the node of the question: the one that a person looks at, else the first that does not serve the claim."""
    if looked_at in cluster.node_by_name:
        return looked_at
    not_serving = (name for c in plan.node_classes if c.fit is NodeFit.NO for name in c.nodes) if plan else iter(())
    if plan is not None and plan.fits:
        return min(not_serving, default=plan.node)
    return shown or next(iter(cluster.node_names), "")


def why_not_row(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, plan: Plan | None, node: str, device: str = ""
) -> WhyNotRow:
    """Return why a node, and one of its devices, does not serve a drawing. Raises what planning the drawing raises."""
    label = node_labels(cluster)[node]
    if not sketch.requests:
        return WhyNotRow(title=f"Why not {label}?", sentence="Draw a request first.", node=node)
    found = why_not(cluster, sketch, node, release)
    names = nouns(sketch, cluster, release)
    rows = [BarsRow(title=b.title, bars=bar_rows(b.bars), request=b.request) for b in bars(found, names)]
    if links := link_bars(found, sketch):
        rows.append(BarsRow(title="Links", bars=bar_rows(links)))
    about = _device(found.devices, device)
    lines = tuple(device_lines(found, about, plan)) if about is not None else ()
    return WhyNotRow(
        title=f"Why not {about.device}?" if about is not None else why_not_title(label, fits=found.fits),
        sentence=node_sentence(found, plan, label),
        node=node,
        device=device if about is not None else "",
        device_lines=lines,
        requests=tuple(rows),
        lines=tuple(reason_lines(found)),
    )


def _device(known: Iterable[DeviceID], device: str) -> DeviceID | None:
    return next((one for one in known if str(one) == device), None) if device else None


def bar_rows(found: Sequence[Bar]) -> tuple[BarRow, ...]:
    """Return the tests of one request as they travel to the browser."""
    return tuple(BarRow(label=b.label, count=b.count, of=b.of, note=b.note, short=b.short) for b in found)


def node_rows(cluster: Cluster, plan: Plan | None, pinned: str = "") -> tuple[NodeRow, ...]:
    """Return the nodes with how they serve the drawing, or classes of identical nodes of a large cluster."""
    return tuple(
        NodeRow(id=item.id, label=item.label, fit=item.fit, detail=item.detail, nodes=item.nodes)
        for item in fleet(cluster, plan, pinned).items[:MOST_NODES]
    )


def outgoing_rows(
    plan: Plan | None,
    text: str,
    release: KubernetesRelease,
    findings: Sequence[Finding],
    *,
    searching: bool,
    simulation: Simulation | None = None,
) -> tuple[OutgoingRow, ...]:
    """Return what is exported: kind and lines, for which release it is valid, what kube-scheduler does with it.

    Args:
        plan: The answer to the drawing, None where there is none.
        text: The manifests.
        release: The target release.
        findings: What was found of the manifests.
        searching: Whether the manifest is still being tried.
        simulation: What the Export sheet knows of the nodes that kube-scheduler may choose, None if it does not.
    """
    kinds = [line.removeprefix("kind: ") for line in text.splitlines() if line.startswith("kind: ")]
    if not kinds:
        return (OutgoingRow(text="There is nothing to export yet.", tone="plain"),)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    valid = not errors
    head = f"{', '.join(dict.fromkeys(kinds))}, {len(text.splitlines())} lines"
    head += f", valid for Kubernetes {release.version}" if valid else f", not valid for Kubernetes {release.version}"
    rows = [OutgoingRow(text=head, tone="ok" if valid else "error")]
    if plan is not None and plan.fits:
        rows.append(_outcome(simulation) if simulation is not None else _simulated(plan, searching=searching))
    elif plan is not None and plan.status is PlanStatus.INFEASIBLE:
        rows.append(OutgoingRow(text="No node can serve this claim now, so its pods would wait.", tone="warn"))
    rows += [
        OutgoingRow(text=f.message, tone="error" if f.severity is Severity.ERROR else "warn") for f in findings[:2]
    ]
    return tuple(rows)


def pin_offer(exporting: Exporting) -> PinOffer:
    """Return the pins of an export, if they change what kube-scheduler allocates."""
    made = exporting.pinned if exporting.is_present else None
    if made is None or made.pinned_plan is None or not made.pinned_plan.pins:
        return PinOffer()
    price = f" Price: {made.pinned_plan.price}." if made.pinned_plan.price else ""
    found = _outcome(made.simulation)
    return PinOffer(text=f"{found.text}{price}", on=exporting.pins, tone=found.tone)


def _outcome(simulation: Simulation) -> OutgoingRow:
    tones: dict[bool | None, Tone] = {True: "ok", False: "warn", None: "plain"}
    return OutgoingRow(text=simulation.sentence, tone=tones[simulation.achieves])


def _simulated(plan: Plan, *, searching: bool) -> OutgoingRow:
    """Return what kube-scheduler does with the manifest on the node of the plan."""
    if searching:
        return OutgoingRow(text="Trying the manifest on every kind of node, as kube-scheduler would ...", tone="plain")
    if plan.first_fit is None:
        return OutgoingRow(text="The effect on kube-scheduler is not known.", tone="plain")
    same = next(iter(scheduler_sentences(plan)), "")
    if same.startswith(("With this YAML", "kube-scheduler")) and "equally good" not in same:
        return OutgoingRow(text=same, tone="warn")
    return OutgoingRow(text="Simulated: kube-scheduler picks an equally good set on the best node.")
