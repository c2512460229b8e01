"""What IPython shows of each answer and its parts: HTML without scripts, plain text for a terminal."""

from __future__ import annotations

import dataclasses

import pytest

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.headroom import Bounded, Fit, Headroom, LargestJob, NodeFit, Stranded, StrandedKind, node_fit
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.placement import GoalRegret, PlacedPod, Placement, Regret
from dra_lab.model.plan import Plan, PlanStatus, plan_of_pod
from dra_lab.model.reasons import Conflict, Element, Funnel, FunnelStep, Reasons, Relaxation, Shortfall, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Question, Workload
from dra_lab.session import Session
from dra_lab.sources import load_cluster
from dra_lab.widgets.answer_rows import why_row
from dra_lab.widgets.stored_output import show_answer_with_picture
from dra_lab.words.document import as_text
from dra_lab.words.plan_document import plan_parts
from dra_lab.words.shown import in_html, in_words

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_a_plan_of_a_session_is_shown_with_its_picture(shell):
    session = Session()
    show_answer_with_picture(session)
    plan = session.plan()
    shown, _ = shell.display_formatter.format(plan)
    session.close()
    assert "Fits on 3 of 4 nodes" in shown["text/html"]
    assert shown["text/html"].count('data-request="gpu"') == 2
    assert "NUMA nodes spanned" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert shown["text/plain"].startswith("Fits on 3 of 4 nodes")


def test_a_cluster_is_shown_with_its_fabric():
    shown = in_html(load_cluster("sample:oke-gb200"))
    assert "2 racks of 2 nodes" in shown
    assert "oci.oraclecloud.com/host.rack_id" in shown
    labels = {"topology.kubernetes.io/zone": HOSTILE, "topology.kubernetes.io/rack": HOSTILE}
    hostile = Cluster(
        nodes=tuple(Node(metadata=ObjectMeta(name=f"n{n}", labels=labels if n else {})) for n in range(2))
    )
    assert "<img" not in in_html(hostile)


def test_plans_with_other_fields_differ_although_their_texts_are_identical():
    plan = plan_of_pod(PlanStatus.INFEASIBLE, ClaimSketch(), seconds=1.0)
    assert plan == dataclasses.replace(plan)
    assert plan != dataclasses.replace(plan, admitted=frozenset(("n1",)))


def test_a_plan_on_very_many_nodes_names_some_of_each_sort():
    names = tuple(f"n{number:04}" for number in range(5000))
    plan = plan_of_pod(PlanStatus.OPTIMAL, ClaimSketch(), where=(node_fit("", names, NodeFit.BEST),))
    cluster = load_cluster("sample:eks-p4d")
    text = as_text(plan_parts(plan, cluster, names=8))
    assert "as well as the best: n0000, n0001, n0002, n0003, n0004, n0005, n0006, n0007 and 4,992 more" in text
    assert "n4999" in as_text(plan_parts(plan, cluster))


def test_print_tells_a_fleet_plan_and_its_repr_is_one_line():
    plan = Plan(PlanStatus.INFEASIBLE, Question((Workload("train", (ClaimSketch(),), replicas=3),)))
    assert str(plan) == in_words(plan)
    assert "0 of 3 replicas" in repr(plan)


SCRIPT = "<script>alert(1)</script>"
FLEET = Plan(
    PlanStatus.FEASIBLE,
    Question((Workload(SCRIPT, (), replicas=3),)),
    pods=tuple(PlacedPod(SCRIPT, at, f"n{at // 2}", ()) for at in range(3)),
    goals=(GoalValue("unplaced", 0, 0, proven=True), GoalValue("nodes", 2, 1)),
    shortfalls=(Shortfall(SCRIPT, SCRIPT, SCRIPT, advice=SCRIPT),),
)
ANSWERS = [
    (FLEET, "3 of 3 replicas placed on 2 nodes"),
    (Headroom(SCRIPT, Bounded(2, 5), (Fit("w", "node", (SCRIPT, "b"), Bounded(1, 2)),)), "at least 2 more"),
    (LargestJob(SCRIPT, 2, 4, Bounded(3, 9), SCRIPT), "at most 4 times"),
    (Stranded((SCRIPT,), (StrandedKind("gpu", 8, 5, 7),)), "3 of 8 free GPUs"),
]


@pytest.mark.parametrize(("answer", "words"), ANSWERS)
def test_an_answer_about_a_fleet_is_shown_in_words_and_escaped(shell, answer, words):
    shown, _ = shell.display_formatter.format(answer)
    assert words in shown["text/html"]
    assert words in shown["text/plain"]
    assert "<script" not in shown["text/html"]


def test_nodes_that_hold_the_same_are_one_row(shell):
    many = Plan(
        PlanStatus.FEASIBLE,
        Question((Workload("w", (), replicas=600),)),
        pods=tuple(PlacedPod("w", n, f"n{n % 300}", ()) for n in range(600)),
    )
    shown, _ = shell.display_formatter.format(many)
    assert shown["text/html"].count("<tr>") < 8
    assert "2 × w" in shown["text/html"]


HOSTILE_ESCAPE = "<script>alert(1)</script>\x1b[2J"
UNTRIED = Relaxation("link", "pairs", "Prefer 'pairs'", None, 4)
REASONS = Reasons(
    nearest=HOSTILE_ESCAPE,
    funnels=(
        Funnel(
            HOSTILE_ESCAPE, 5, HOSTILE_ESCAPE, 1, (FunnelStep("published", 9), FunnelStep("class", 4, HOSTILE_ESCAPE))
        ),
    ),
    conflicts=(Conflict((Element("request", HOSTILE_ESCAPE),)),),
    relaxations=(Relaxation("link", HOSTILE_ESCAPE, HOSTILE_ESCAPE, 3, 4), UNTRIED),
)
RESULTS = [
    (Finding("rule", Severity.WARNING, HOSTILE_ESCAPE, "is stale", "Read it again."), "is stale. Read it again."),
    (
        Shortfall("count", HOSTILE_ESCAPE, f"{HOSTILE_ESCAPE} needs 9, has 8", advice="Ask for 8."),
        "needs 9, has 8. Ask for 8.",
    ),
    (Suggestion("Ask for 8", HOSTILE_ESCAPE, selectors={"gpu": (HOSTILE_ESCAPE,)}), "Ask for 8"),
    (Relaxation("link", HOSTILE_ESCAPE, HOSTILE_ESCAPE, 3, 4), "fits on 3 of 4 nodes"),
    (UNTRIED, "not known, the time limit was reached"),
    (REASONS, "Impossible on every node"),
    (Regret("plain", (GoalRegret("numa", 1, 2),)), "NUMA nodes spanned"),
]


@pytest.mark.parametrize(("value", "words"), RESULTS)
def test_a_part_of_an_answer_is_shown_in_words_and_escaped(shell, value, words):
    shown, _ = shell.display_formatter.format(value)
    assert words in shown["text/html"]
    assert words in shown["text/plain"]
    assert "<script" not in shown["text/html"]
    assert "\x1b" not in shown["text/plain"]


def test_several_findings_are_a_line_each(shell):
    said = "says what no attribute of its kind has said before in any cluster"
    shown, _ = shell.display_formatter.format(tuple(Finding("r", Severity.NOTE, f"n{at}", said) for at in range(3)))
    lines = [line.strip(" (),") for line in shown["text/plain"].splitlines()]
    assert lines == [f"note: n{at}: {said}" for at in range(3)]


def test_a_plan_without_its_cluster_tells_devices_and_goals_in_a_terminal(shell):
    """`make_plan` gives no cluster along: what is taken and how good it is stand there all the same."""
    taken = Placement(request="gpu", device=DeviceID("gpu.example.com", "n1", "gpu-7"))
    goals = (GoalValue("numa", 1, 1, proven=True), GoalValue("roots", 3, None))
    plan = plan_of_pod(PlanStatus.FEASIBLE, ClaimSketch(), "n1", (taken,), goals=goals)
    text = shell.display_formatter.format(plan)[0]["text/plain"]
    assert "gpu.example.com/n1/gpu-7" in text
    assert [line.split()[-2:] for line in text.splitlines() if "spanned" in line] == [
        ["1", "proven"],
        ["not", "proven"],
    ]


def test_what_was_not_found_out_is_reported_in_the_planner():
    plan = plan_of_pod(PlanStatus.INFEASIBLE, ClaimSketch(), reasons=Reasons(relaxations=(UNTRIED,)))
    assert why_row(plan).tried == ("Not known, the time limit was reached: Prefer 'pairs'",)
