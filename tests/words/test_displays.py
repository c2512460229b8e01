"""What IPython shows of a Plan and a Cluster: HTML without scripts, plain text for a terminal."""

from __future__ import annotations

import dataclasses

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import NodeClass, NodeFit
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus, plan_of_pod
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.session import Session
from dra_lab.sources import load_cluster
from dra_lab.widgets.stored_output import show_answer_with_picture
from dra_lab.words.document import as_text
from dra_lab.words.plan_document import plan_parts
from dra_lab.words.shown import in_html, in_words

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_a_plan_of_a_session_is_shown_with_its_picture(shell):
    """Sentence, picture and goals as HTML without scripts; the same as text."""
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
    """Racks and what is above them stand under the devices, with the words of who wrote the labels; escaped as well."""
    shown = in_html(load_cluster("sample:oke-gb200"))
    assert "2 racks of 2 nodes" in shown
    assert "oci.oraclecloud.com/host.rack_id" in shown
    labels = {"topology.kubernetes.io/zone": HOSTILE, "topology.kubernetes.io/rack": HOSTILE}
    hostile = Cluster(
        nodes=tuple(Node(metadata=ObjectMeta(name=f"n{n}", labels=labels if n else {})) for n in range(2))
    )
    assert "<img" not in in_html(hostile)


def test_text_from_a_cluster_is_escaped():
    """Names, messages and reasons stay text in the HTML."""
    finding = Finding(HOSTILE, Severity.ERROR, HOSTILE, HOSTILE, HOSTILE)
    shortfall = Shortfall(rule=HOSTILE, subject=HOSTILE, message=HOSTILE, advice=HOSTILE)
    plan = plan_of_pod(PlanStatus.INFEASIBLE, ClaimSketch(), shortfalls=(shortfall,), findings=(finding,))
    cluster = dataclasses.replace(load_cluster("sample:two-sockets"), name=HOSTILE)
    for text in (in_html(plan), in_html(cluster)):
        assert "<script" not in text
        assert "<img" not in text


def test_plans_with_other_fields_differ_although_their_texts_are_identical():
    """Equality is that of the fields, as before."""
    plan = plan_of_pod(PlanStatus.INFEASIBLE, ClaimSketch(), seconds=1.0)
    assert plan == dataclasses.replace(plan)
    assert plan != dataclasses.replace(plan, admitted=frozenset(("n1",)))


def test_a_plan_on_very_many_nodes_names_some_of_each_sort():
    """The text of a plan beside its session fits on a screen: eight names, and how many more."""
    names = tuple(f"n{number:04}" for number in range(5000))
    plan = plan_of_pod(PlanStatus.OPTIMAL, ClaimSketch(), node_classes=(NodeClass(names, NodeFit.BEST),))
    cluster = load_cluster("sample:eks-p4d")
    text = as_text(plan_parts(plan, cluster, names=8))
    assert "as well as the best: n0000, n0001, n0002, n0003, n0004, n0005, n0006, n0007 and 4,992 more" in text
    assert "n4999" in as_text(plan_parts(plan, cluster))


def test_print_tells_a_fleet_plan_and_its_repr_is_one_line():
    plan = Plan(PlanStatus.INFEASIBLE, (Workload("train", (ClaimSketch(),), replicas=3),))
    assert str(plan) == in_words(plan)
    assert "0 of 3 replicas" in repr(plan)
