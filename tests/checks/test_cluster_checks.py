"""A cluster's file may hold objects that no API server takes: plans say so, once, in the notebook and the terminal."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from checked_plans import checked_fleet, checked_plan

from dra_lab import KubernetesRelease, Session, Workload, check, load_cluster
from dra_lab.cli import main
from dra_lab.errors import DraLabError, NodeError
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.picture import graph_page
from dra_lab.session import read_sketch

SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: %s}
spec:
  driver: gpu.nvidia.com
  nodeName: n1
  pool: {name: %s, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {a: %s}}
  - {name: gpu-1, attributes: {a: %s}}
---
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: a}
spec: {devices: {requests: [{name: gpu%s, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {}
---
"""
REFUSED = ["{int: 12345678901234567890123}", "{string: a, bool: true}", "{}", "{ints: [1, 12345678901234567890123]}"]


def findings_of(tmp_path, *texts):
    """What is found to be refused in a cluster of texts, beside a claim that is right."""
    (tmp_path / "cluster.yaml").write_text(CLASS + "".join(texts))
    found = check(load_cluster(tmp_path / "cluster.yaml"))
    return [finding for finding in found if finding.rule in ("api-undecodable", "api-refused")]


@pytest.mark.parametrize("value", REFUSED)
def test_an_attribute_that_the_api_server_refuses_is_reported(value, tmp_path):
    """A number beyond 64 bits, and a union with none or two members, name object and field."""
    (finding,) = findings_of(tmp_path, SLICE % ("s", "n1", "{int: 1}", value), CLAIM % "")
    assert finding.subject == "ResourceSlice/s"
    assert "spec.devices[1].attributes" in finding.origin.path


@pytest.mark.parametrize("value", ["{int: 9223372036854775807}", "{int: -9223372036854775808}", "{string: ''}"])
def test_an_attribute_that_the_api_server_takes_is_not_reported(value, tmp_path):
    """The limits themselves are numbers of 64 bits."""
    assert findings_of(tmp_path, SLICE % ("s", "n1", "{bool: false}", value), CLAIM % "") == []


def test_the_same_of_many_objects_is_reported_once(tmp_path):
    slices = [SLICE % (f"s{at}", f"p{at}", REFUSED[1], REFUSED[1]) for at in range(3)]
    (finding,) = findings_of(tmp_path, *slices, CLAIM % "")
    assert "(5 more like it)" in finding.message


def test_a_claim_with_both_ways_to_ask_is_reported(tmp_path):
    """`exactly` and `firstAvailable` exclude each other."""
    both = ", firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]"
    (finding,) = findings_of(tmp_path, SLICE % ("s", "n1", "{int: 1}", "{int: 2}"), CLAIM % both)
    assert finding.subject == "ResourceClaim/one"


ODD = {
    "long-text": ("{a: {int: 1}}", "{a: {string: %s}}" % ("x" * 65), "too long"),
    "no-version": ("{a: {int: 1}}", "{a: {version: one}}", "no version"),
    "wrong-key": ("{a: {int: 1}}", "{a-b: {int: 1}}", "attributes"),
}


def sliced(node, attributes, *, name="gpu-0"):
    return (
        (SLICE % (f"s-{node}", node, "{int: 1}", "{int: 1}"))
        .replace("attributes: {a: {int: 1}}", f"attributes: {attributes}")
        .replace("gpu-0", name)
    )


@pytest.mark.parametrize(("right", "wrong"), [case[:2] for case in ODD.values()], ids=ODD)
def test_every_rule_of_admission_is_reported_with_its_number_of_objects(right, wrong, tmp_path):
    """Three slices with one mistake are one finding that counts them; a slice that is right adds none."""
    (finding,) = findings_of(tmp_path, sliced("n0", right), *(sliced(f"n{at}", wrong) for at in (1, 2, 3)))
    assert ("refuses these 3 objects" in finding.advice, "spec.devices[0].attributes" in finding.origin.path) == (
        True,
        True,
    )


@pytest.mark.parametrize("name", ["GPU-0", "g" * 64, "gpu-1"])
def test_a_device_name_that_the_api_server_refuses_is_reported(name, tmp_path):
    """Not in lower case, too long, or there twice."""
    assert len(findings_of(tmp_path, sliced("n1", "{a: {int: 1}}", name=name))) == 1


def test_a_class_that_the_api_server_refuses_is_reported(tmp_path):
    bad = CLASS.replace("spec: {}", "spec: {selectors: [{cel: {expression: 'device.'}}]}").replace("gpu.", "other.")
    (finding,) = findings_of(tmp_path, bad, SLICE % ("s", "n1", "{int: 1}", "{int: 2}"))
    assert finding.subject.startswith("DeviceClass/")


def test_what_an_api_server_admitted_is_not_looked_at(tmp_path):
    """A cluster that was read live has passed admission there, by its own release and gates."""
    (tmp_path / "cluster.yaml").write_text(CLASS + SLICE % ("s", "n1", "{int: 1}", REFUSED[0]))
    live = replace(load_cluster(tmp_path / "cluster.yaml"), resource_versions={"resourceslices": "7"})
    assert [finding for finding in check(live) if finding.rule.startswith("api-")] == []


def test_the_terminal_and_the_notebook_tell_it_once(tmp_path, capsys):
    """Both show the same finding, one time."""
    (once,) = findings_of(tmp_path, SLICE % ("s", "n1", "{int: 1}", REFUSED[0]), CLAIM % "")
    (tmp_path / "claim.yaml").write_text(CLAIM % "")
    main(["plan", str(tmp_path / "cluster.yaml"), "--claim", str(tmp_path / "claim.yaml")])
    session = Session(load_cluster(tmp_path / "cluster.yaml"))
    session.wait()
    assert (capsys.readouterr().err.count(str(once)), session.findings.count(once)) == (1, 1)


def rules(plan):
    return [finding.rule for finding in plan.findings]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (KubernetesRelease("1.36"), True),
        (KubernetesRelease("1.37"), False),
        (KubernetesRelease("1.36", gates={"DRADeviceTaintRules": True}), False),
    ],
)
def test_rules_that_are_left_out_are_reported(release, expected):
    """The plan of a claim and of a fleet has the finding; with the gate on, the rules count and it has none."""
    taint = DeviceTaint(key="broken", effect="NoSchedule")
    spec = DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector(driver="gpu.nvidia.com"))
    rule = DeviceTaintRule(metadata=ObjectMeta(name="r"), spec=spec)
    cluster = dataclasses.replace(load_cluster("sample:two-sockets"), taint_rules=(rule,))
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = checked_plan(cluster, sketch, release=release)
    fleet = checked_fleet(cluster, [Workload("w", (sketch,), replicas=1)], release=release, first_fit=False)
    assert ("taint-rules-ignored" in rules(plan), "taint-rules-ignored" in rules(fleet)) == (expected, expected)
    assert "taint-rules-ignored" not in rules(checked_plan(load_cluster("sample:two-sockets"), sketch, release=release))


EKS = load_cluster("sample:eks-p4d")


QUESTIONS = [hardware_svg, graph_page]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_an_unknown_node_is_an_error_of_ours(ask):
    with pytest.raises(DraLabError, match="there is no node 'nope' in sample:eks-p4d; its nodes are: ip-"):
        ask(EKS, "nope")


@pytest.mark.parametrize("ask", QUESTIONS)
def test_a_mistyped_node_gets_the_name_that_was_meant(ask):
    name = EKS.node_names[0]
    with pytest.raises(DraLabError, match=f"did you mean '{name}'"):
        ask(EKS, name[:-1])


def test_of_many_nodes_eight_are_named():
    """The message stays short on a cluster of thousands."""
    cluster = Cluster(nodes=tuple(Node(metadata=ObjectMeta(name=f"n{at:04}")) for at in range(5000)))
    with pytest.raises(NodeError) as caught:
        cluster.node_named("x" * 10_000)
    assert str(caught.value).endswith("n0006, n0007 and 4,992 more")
    assert len(str(caught.value)) < 500
