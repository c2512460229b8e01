"""No screen calls more devices free than what was read of claims tells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_plans import checked_plan

from dra_lab import load_cluster
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question
from dra_lab.pictures.charts import chart
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.report import report_page
from dra_lab.session import read_sketch
from dra_lab.sketch.kind_counts import free_words, unread_words
from dra_lab.widgets.canvas_rows import palette_rows
from dra_lab.widgets.device_rows import device_table
from dra_lab.words.cluster_document import summary
from dra_lab.words.document import as_text
from dra_lab.words.plan_document import AfterPlan, plan_parts
from dra_lab.words.shown import in_words

PARTLY = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")
READ = load_cluster("sample:eks-p4d")
PART = replace(READ, findings=(PARTLY,))
UNREAD = replace(READ, claims=(), claims_known=False)


def _palette(cluster: Cluster) -> str:
    return "\n".join(row.use for row in palette_rows(cluster))


def _fleet(cluster: Cluster) -> str:
    return as_text(plan_parts(Plan(PlanStatus.STOPPED, Question(())), after=AfterPlan(unread=unread_words(cluster))))


def _report(cluster: Cluster) -> str:
    plan = checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    return report_page(cluster, plan)


COUNTS = {
    "line": (lambda c: summary(c, KubernetesRelease("1.36")), "32 GPUs, {}18 free", "32 GPUs, use unknown"),
    "palette": (_palette, "{}18 of 32 free", "32, use unknown"),
    "table": (lambda c: " ".join(in_words(c).split()), "A100-SXM4-40GB 32 {}18 ", "A100-SXM4-40GB 32 unknown"),
}
PICTURES = {
    "hardware": lambda c: hardware_svg(c, c.node_names[0]),
    "utilisation": lambda c: str(chart(c)),
    "report": _report,
    "fleet": _fleet,
}


@pytest.mark.parametrize("place", COUNTS)
def test_a_number_of_free_devices_is_what_was_read_of_claims(place):
    words_of, words, unknown = COUNTS[place]
    assert words.format("") in words_of(READ)
    assert words.format("at most ") in words_of(PART)
    assert unknown in words_of(UNREAD)


def test_a_class_that_is_only_documented_has_a_number_of_free_devices_too():
    assert "18 of 32 free; class not read" in _palette(replace(READ, classes=()))


@pytest.mark.parametrize(
    ("cluster", "said"), [(READ, "free"), (PART, "free as far as claims were read"), (UNREAD, "use unknown")]
)
def test_no_device_is_called_free_by_itself_that_a_claim_may_hold(cluster, said):
    table = device_table(cluster)
    state = table.columns.index("state")
    free = {row[state] for row in table.rows if not row[state].startswith(("in use", "tainted"))}
    assert free == {said}
    assert f": {said}. NUMA" in hardware_svg(cluster, cluster.node_names[0])


def test_where_nothing_looks_free_nothing_is_free():
    assert free_words(PART, 0, 32) == "0 of 32 free"


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_of_devices_in_use_says_what_was_not_read_of_claims(picture):
    whole, part, unread = (PICTURES[picture](cluster).lower() for cluster in (READ, PART, UNREAD))
    assert "not all claims were read, so devices that look free may be in use" in part
    assert "no claims were read, so it is not known which devices are in use" in unread
    assert "claims were read" not in whole
