"""Requests to device plugins with amounts that are variables or not whole numbers, and pods that request nothing."""

from __future__ import annotations

import pytest
from gitops.manifests_written import TEMPLATE, write
from small_manifests import pod

from dra_lab import load_cluster, read_manifests
from dra_lab.cli import main
from dra_lab.gitops.check_manifests import check_manifests

CLUSTER = load_cluster("sample:dgx-h100")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec: {containers: [{name: c, resources: {PART: {nvidia.com/gpu: AMOUNT}}}]}
"""
WITH_CLAIM = pod("train", "pair").replace("claims: [", "limits: {nvidia.com/gpu: AMOUNT}, claims: [")
NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpus}
spec: {limits: {nvidia.com/gpu: 16}}
"""
LINES = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: c
    resources:
      limits:
        nvidia.com/gpu: 1
${MORE_LIMITS}
"""


def of_objects(folder, **texts):
    """Return the outcome and the reason of each object."""
    review = check_manifests(CLUSTER, read_manifests([write(folder, **texts)]))
    return [(item.object, item.outcome.value, item.reason) for item in review.objects]


@pytest.mark.parametrize("part", ["limits", "requests"])
@pytest.mark.parametrize("amount", ["$GPUS", "'${GPUS}'", "'{{ .Values.gpus }}'"])
def test_a_variable_is_not_checked(tmp_path, part, amount):
    """How many devices the pod asks for is not known before the variable has its value."""
    [(name, outcome, reason)] = of_objects(tmp_path, a=POD.replace("AMOUNT", amount).replace("PART", part))
    assert (name, outcome, "a template with variables" in reason) == ("Pod/train", "not-checked", True)


@pytest.mark.parametrize("amount", ["0.5", "1500m", "-1", "NUMBER_OF_GPUS", "true", "[2]", "{a: 1}"])
def test_an_amount_that_is_no_whole_number_does_not_fit(tmp_path, amount):
    """The API server refuses the pod."""
    [(_, outcome, reason)] = of_objects(tmp_path, a=POD.replace("AMOUNT", amount).replace("PART", "limits"))
    assert (outcome, "a whole number of devices only" in reason) == ("does-not-fit", True)


@pytest.mark.parametrize(("amount", "outcome"), [("$GPUS", "not-checked"), ("0.5", "does-not-fit")])
def test_a_claim_beside_the_amount_does_not_hide_it(tmp_path, amount, outcome):
    """The pod does not fit by its claims alone."""
    found = of_objects(
        tmp_path, a=TEMPLATE.replace("efa.networking.k8s.aws", "dranet"), b=WITH_CLAIM.replace("AMOUNT", amount)
    )
    assert {name: outcome for name, outcome, _ in found}["Pod/train"] == outcome


@pytest.mark.parametrize(("amount", "said"), [("$GPUS", "$GPUS"), ("0.5", "a whole number of devices only")])
def test_plan_names_the_amount(tmp_path, capsys, amount, said):
    """`plan` refuses the file with the amount as the reason, and not because it has no claim."""
    write(tmp_path, a=POD.replace("AMOUNT", amount).replace("PART", "limits"))
    assert main(["plan", "sample:dgx-h100", "--claim", str(tmp_path / "a.yaml")]) == 2
    assert said in capsys.readouterr().err


def test_what_a_node_pool_may_have_is_no_request(tmp_path):
    """`spec.limits` of Karpenter's NodePool limits its nodes; no pod asks for these devices."""
    assert of_objects(tmp_path, a=NODE_POOL) == []


@pytest.mark.parametrize("command", ["plan", "check", "export"])
def test_a_variable_that_is_a_whole_line_is_the_reason(tmp_path, capsys, command):
    """Such a line keeps the text from being YAML; each command says that it is a template."""
    path = write(tmp_path, a=LINES) / "a.yaml"
    claim = write(tmp_path / "claim", c=TEMPLATE) / "c.yaml"
    arguments = {
        "plan": ["--claim", str(path)],
        "check": [str(path)],
        "export": ["--claim", str(claim), "--workload", str(path), "--dir", str(tmp_path / "out")],
    }
    assert main([command, "sample:dgx-h100", *arguments[command]]) == 2
    printed = capsys.readouterr()
    assert "a template with variables" in printed.out + printed.err
