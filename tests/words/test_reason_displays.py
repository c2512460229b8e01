"""What IPython shows of findings, reasons and regret: sentences, escaped, with nothing of Python around them."""

from __future__ import annotations

import pytest

from dra_lab.findings import Finding, Severity
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import GoalRegret, Placement, Regret
from dra_lab.model.plan import PlanStatus, plan_of_pod
from dra_lab.model.reasons import Conflict, Element, Funnel, FunnelStep, Reasons, Relaxation, Shortfall, Suggestion
from dra_lab.model.sketch import ClaimSketch
from dra_lab.widgets.answer_rows import why_row

HOSTILE = "<script>alert(1)</script>\x1b[2J"
UNTRIED = Relaxation("link", "pairs", "Prefer 'pairs'", None, 4)
REASONS = Reasons(
    nearest=HOSTILE,
    funnels=(Funnel(HOSTILE, 5, HOSTILE, 1, (FunnelStep("published", 9), FunnelStep("class", 4, HOSTILE))),),
    conflicts=(Conflict((Element("request", HOSTILE),)),),
    relaxations=(Relaxation("link", HOSTILE, HOSTILE, 3, 4), UNTRIED),
)
RESULTS = [
    (Finding("rule", Severity.WARNING, HOSTILE, "is stale", "Read it again."), "is stale. Read it again."),
    (Shortfall("count", HOSTILE, f"{HOSTILE} needs 9, has 8", advice="Ask for 8."), "needs 9, has 8. Ask for 8."),
    (Suggestion("Ask for 8", HOSTILE, selectors={"gpu": (HOSTILE,)}), "Ask for 8"),
    (Relaxation("link", HOSTILE, HOSTILE, 3, 4), "fits on 3 of 4 nodes"),
    (UNTRIED, "not known, the time limit was reached"),
    (REASONS, "Impossible on every node"),
    (Regret("plain", (GoalRegret("numa", 1, 2),)), "NUMA nodes spanned"),
]


@pytest.mark.parametrize(("value", "words"), RESULTS)
def test_a_part_of_an_answer_is_shown_in_words_and_escaped(shell, value, words):
    """The sentence in both forms; text of a cluster is neither markup nor a terminal's command."""
    shown, _ = shell.display_formatter.format(value)
    assert words in shown["text/html"]
    assert words in shown["text/plain"]
    assert "<script" not in shown["text/html"]
    assert "\x1b" not in shown["text/plain"]


def test_several_findings_are_a_line_each(shell):
    """A tuple of values is printed with the words of each."""
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
    """Relaxations that time did not reach are not silently left out."""
    plan = plan_of_pod(PlanStatus.INFEASIBLE, ClaimSketch(), reasons=Reasons(relaxations=(UNTRIED,)))
    assert why_row(plan).tried == ("Not known, the time limit was reached: Prefer 'pairs'",)
