"""Pods and the claims that they name."""

import pytest
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import Cluster, read_manifests
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.gitops.references import HeldClaims, check_references, written_claims


def _rules(folder, deployment, template=TEMPLATE):
    manifests = read_manifests([write(folder, work=deployment, claim=template)])
    claims = written_claims(manifests)
    pods = [pod for document in manifests.documents for pod in pod_templates(document)]
    return [(f.rule, f.origin.line) for pod in pods for f in check_references(pod, claims, HeldClaims(Cluster()))]


def _line(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_sound_pod_is_not_reported(tmp_path):
    """A pod whose claims exist and are used has no finding."""
    assert _rules(tmp_path, DEPLOYMENT) == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "at"),
    [
        ("resourceClaimTemplateName: pair", "resourceClaimTemplateName: pairs", "claim-not-given", "- name: devices\n"),
        ("          - name: devices", "          - name: device", "container-claim-unknown", "- name: device"),
        (
            "          - name: devices",
            "          - {name: devices, request: cpu}",
            "container-request-unknown",
            "- {name",
        ),
        (
            "        resourceClaimTemplateName: pair",
            "        resourceClaimTemplateName: pair\n        resourceClaimName: x",
            "pod-claim-source",
            "",
        ),
        (
            "      - name: devices\n        resource",
            "      - {name: devices, resourceClaimTemplateName: pair}\n      - name: devices\n        resource",
            "pod-claim-twice",
            "",
        ),
    ],
)
def test_what_does_not_hold_together_is_reported(tmp_path, old, new, rule, at):
    """Each break of the references has its rule, at a line of the workload's file."""
    broken = DEPLOYMENT.replace(old, new)
    assert broken != DEPLOYMENT
    found = _rules(tmp_path, broken)
    assert rule in {name for name, _ in found}
    assert all(0 < line <= len(broken.splitlines()) for _, line in found)


def test_an_unused_claim_is_reported_at_its_line(tmp_path):
    """Devices that no container uses are allocated for nothing."""
    text = DEPLOYMENT.replace("          claims:\n          - name: devices\n", "          limits: {cpu: 1}\n")
    assert _rules(tmp_path, text) == [("pod-claim-unused", _line(text, "      - name: devices"))]


def test_a_claim_of_another_namespace_is_not_the_pods(tmp_path):
    """A pod finds claims and templates of its own namespace only."""
    other = TEMPLATE.replace("name: pair", "name: pair\n  namespace: other")
    assert [rule for rule, _ in _rules(tmp_path, DEPLOYMENT, other)] == ["claim-not-given"]
